#include "workloads/onnx/views.h"

#include <algorithm>

namespace tandem::onnx {

namespace {

constexpr std::int64_t sample_value = 97;

/// Strides of a view with these sizes, if there is one: memory is a row of chunks, each of
/// dimensions that follow each other without a gap, and a new dimension must lie within a chunk
/// (PyTorch, computeStride in TensorUtils.cpp).
std::optional<Dims> view_strides(const Dims& old, const Dims& strides, const Dims& dims) {
  Dims out(dims.size(), one);
  std::size_t next = dims.size();
  Expression chunk = one;  // elements of the chunk so far
  Expression base = strides.empty() ? one : strides.back();
  for (std::size_t d = old.size(); d-- > 0;) {
    chunk = chunk * old[d];
    const bool ends = d == 0 || (old[d - 1] != one && strides[d - 1] != chunk * base);
    if (!ends) continue;
    Expression taken = one;
    while (next > 0 && (taken != chunk || dims[next - 1] == one)) {
      --next;
      out[next] = taken * base;
      taken = taken * dims[next];
    }
    if (taken != chunk) return {};
    if (d > 0) {
      base = strides[d - 1];
      chunk = one;
    }
  }
  while (next > 0 && dims[next - 1] == one) --next;
  if (next > 0) return {};
  return out;
}

}  // namespace

Expression count_of(const Dims& dims) {
  Expression out = one;
  for (const Expression& d : dims) out = out * d;
  return out;
}

Dims contiguous_strides(const Dims& dims) {
  Dims out(dims.size(), one);
  for (std::size_t d = dims.size(); d-- > 1;) out[d - 1] = out[d] * dims[d];
  return out;
}

bool is_contiguous(const Dims& dims, const Dims& strides) {
  if (strides.empty()) return true;
  const Dims wanted = contiguous_strides(dims);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != one && strides[d] != wanted[d]) return false;
  }
  return true;
}

Dims strides_of(const NetworkTensor& tensor) {
  return tensor.strides.empty() ? contiguous_strides(tensor.dims) : tensor.strides;
}

TensorId made_like(Step& step, TensorId operand, DataType type) {
  const Dims dims = step.tensor(operand).dims;
  const Dims strides = step.tensor(operand).strides;
  const TensorId out = step.make(type, dims);
  if (strides.empty()) return out;
  // Formulas are put in order where symbols have values of no special kind.
  const std::vector<std::int64_t> sample(step.network().symbols.size(), sample_value);
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (strides[d] == zero && dims[d] != one) return out;
    order.push_back(d);
  }
  const auto larger = [&](std::size_t a, std::size_t b) {
    return strides[a].at(sample).value_or(0) > strides[b].at(sample).value_or(0);
  };
  std::stable_sort(order.begin(), order.end(), larger);
  Dims dense(dims.size(), one);
  Expression next = one;
  for (std::size_t at = order.size(); at-- > 0;) {
    dense[order[at]] = next;
    next = next * dims[order[at]];
  }
  return step.view(out, dims, std::move(dense));
}

TensorId permuted(Step& step, TensorId id, const std::vector<std::size_t>& order) {
  const NetworkTensor& tensor = step.tensor(id);
  const Dims strides = strides_of(tensor);
  Dims new_dims, new_strides;
  for (const std::size_t d : order) {
    new_dims.push_back(tensor.dims[d]);
    new_strides.push_back(strides[d]);
  }
  return step.view(id, std::move(new_dims), std::move(new_strides));
}

TensorId turned(Step& step, TensorId id) {
  std::vector<std::size_t> order(step.tensor(id).dims.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permuted(step, id, order);
}

TensorId expanded(Step& step, TensorId id, const Dims& dims) {
  const NetworkTensor& tensor = step.tensor(id);
  if (tensor.dims == dims) return id;
  const Dims old = strides_of(tensor);
  Dims strides(dims.size(), zero);
  const std::size_t added = dims.size() - tensor.dims.size();
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] == dims[added + d]) strides[added + d] = old[d];
  }
  return step.view(id, dims, std::move(strides));
}

TensorId narrowed(Step& step, TensorId id, std::size_t axis, Expression size, std::int64_t every) {
  const NetworkTensor& tensor = step.tensor(id);
  if (every == 1 && tensor.dims[axis] == size) return id;
  Dims strides = strides_of(tensor);
  Dims dims = tensor.dims;
  dims[axis] = std::move(size);
  strides[axis] = strides[axis] * Expression(every);
  return step.view(id, std::move(dims), std::move(strides));
}

TensorId contiguous(Step& step, TensorId id) {
  const NetworkTensor tensor = step.tensor(id);
  if (tensor.strides.empty()) return id;
  return step.run("aten::clone", {of(id), plain("torch.contiguous_format")}, tensor.type,
                  tensor.dims);
}

TensorId reshaped(Step& step, TensorId id, const Dims& dims) {
  const NetworkTensor& tensor = step.tensor(id);
  if (tensor.dims == dims) return id;
  if (auto strides = view_strides(tensor.dims, strides_of(tensor), dims)) {
    return step.view(id, dims, *std::move(strides));
  }
  return step.view(contiguous(step, id), dims, contiguous_strides(dims));
}

TensorId unexpanded(Step& step, TensorId id, const Dims& dims) {
  const NetworkTensor tensor = step.tensor(id);
  if (tensor.dims == dims) return id;
  const std::size_t added = tensor.dims.size() - dims.size();
  std::vector<std::int64_t> axes;
  Dims summed = tensor.dims;
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    if (d >= added && tensor.dims[d] == dims[d - added]) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    summed[d] = one;
  }
  const TensorId sum =
      step.run("aten::sum", {of(id), wholes(axes), plain(true), nothing()}, tensor.type, summed);
  return reshaped(step, sum, dims);
}

}  // namespace tandem::onnx
