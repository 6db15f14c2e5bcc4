// Operations on shapes: most are views, which launch nothing.
#include <algorithm>
#include <limits>

#include "sim/core/tensors/data_type.h"
#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

/// A view whose gradient is another view of the gradient.
void viewed(Call& call, const Value& x, TensorId y, std::string node,
            std::function<TensorId(TensorId)> back) {
  Step& step = call.step;
  call.result(y, std::move(node), {x},
              [&step, x, run = std::move(back)](TensorId g) { step.give(x, run(g)); });
}

void reshape_to(Call& call, const Dims& dims) {
  const Value x = call.placed(0);
  if (count_of(dims) != count_of(x.dims))
    call.fail("sizes of another number of elements", "as many as the operand has");
  Step& step = call.step;
  viewed(call, x, reshaped(step, *x.tensor, dims), "ViewBackward0",
         [&step, x](TensorId g) { return reshaped(step, g, x.dims); });
}

void check_size(const Call& call, const Expression& size) {
  const auto number = size.number();
  if (number && *number < 0) call.fail("a size of " + std::to_string(*number), "a size");
}

/// Where a slice begins or ends: counted from the end where negative, and inside the dimension.
Expression clamped(const Call& call, const Expression& position, const Expression& size) {
  const auto number = position.number();
  const auto length = size.number();
  if (number && length) {
    const std::int64_t at = *number < 0 ? *number + *length : *number;
    return Expression(std::clamp<std::int64_t>(at, 0, *length));
  }
  if (!number) return position;
  constexpr std::int64_t beyond = std::numeric_limits<std::int32_t>::max();
  if (*number >= beyond) return size;
  if (*number <= -beyond) return zero;
  if (*number < 0) return size + position;
  if (*number > 1) {
    call.fail("position " + std::to_string(*number) + " in a dimension of unknown size",
              "0, 1, the end, or one counted from there");
  }
  return position;
}

void narrow(Call& call, const Value& x, std::size_t axis, Expression size, std::int64_t begin,
            std::int64_t every) {
  Step& step = call.step;
  const TensorId y = narrowed(step, *x.tensor, axis, size, every);
  const auto at = static_cast<std::int64_t>(axis);
  call.result(y, "SliceBackward0", {x}, [&step, x, at, begin, every](TensorId g) {
    step.give(x, step.run("aten::slice_backward",
                          {of(g), sizes(x.dims), whole(at), whole(begin),
                           whole(std::numeric_limits<std::int64_t>::max()), whole(every)},
                          x.type, x.dims));
  });
}

std::vector<std::size_t> axes_of(const Call& call, std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t a : call.numbers_of(1, "axes").value_or(std::vector<std::int64_t>())) {
    out.push_back(call.axis(a, rank));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void identity(Call& call) { call.outputs.push_back(call.input(0)); }

void constant(Call& call) { call.fail("a constant that is no tensor or number", "one of them"); }

void constant_of_shape(Call& call) {
  Step& step = call.step;
  const DataType type =
      call.node.attributes.count("value") > 0 && call.node.attributes.find("value")->second.tensor
          ? call.node.attributes.find("value")->second.tensor->type
          : DataType::fp32;
  const Dims dims = call.numbers(0);
  for (const Expression& d : dims) check_size(call, d);
  call.result(step.run("aten::full", {sizes(dims), plain(0.0)}, type, dims));
}

void random_like(Call& call) {
  Step& step = call.step;
  const Value& x = call.input(0);
  const TensorId empty = step.make(x.type, x.dims);
  const TensorId filled = step.rewritten(empty);
  step.emit("aten::uniform_", {of(empty), plain(0.0), plain(1.0)}, {filled});
  call.result(filled);
}

void range(Call& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.numbers(i).size() != 1) call.fail("a list of numbers", "one");
  }
  const Expression begin = call.numbers(0)[0], step = call.numbers(2)[0];
  const Expression length = call.numbers(1)[0] - begin;
  const auto count = length.divided_by(step);
  if (!count) call.fail("a range whose step does not divide it", "another one");
  check_size(call, *count);
  call.result(call.step.run("aten::arange", {size(*count)}, call.input(1).type, {*count}));
}

void shape(Call& call) {
  const Dims& dims = call.dims(0);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto position = [&](std::string_view name, std::int64_t otherwise) {
    return std::clamp<std::int64_t>(from_front(call.number(name, otherwise), rank), 0, rank);
  };
  const std::int64_t begin = position("start", 0), end = std::max(begin, position("end", rank));
  call.on_host(DataType::int64, {Expression(end - begin)},
               Dims(dims.begin() + begin, dims.begin() + end));
}

void size_of(Call& call) { call.on_host(DataType::int64, {}, Dims{count_of(call.dims(0))}); }

void reshape(Call& call) {
  const Dims& old = call.dims(0);
  Dims dims = call.numbers(1);
  const bool zeros_count = call.number("allowzero", 0) != 0;
  Expression known = one;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == zero && !zeros_count) {
      if (d >= old.size())
        call.fail("size 0 for dimension " + std::to_string(d) + ", which the operand lacks",
                  "a size");
      dims[d] = old[d];
    }
    if (dims[d] == Expression(-1)) {
      if (open) call.fail("two open sizes", "at most one");
      open = d;
      continue;
    }
    check_size(call, dims[d]);
    known = known * dims[d];
  }
  if (open) {
    const auto rest = count_of(old).divided_by(known);
    if (!rest) call.fail("sizes that do not divide the elements", "sizes of as many elements");
    dims[*open] = *rest;
  }
  reshape_to(call, dims);
}

void flatten(Call& call) {
  const Dims& dims = call.dims(0);
  const std::int64_t given = call.number("axis", 1);
  const std::size_t axis =
      given == static_cast<std::int64_t>(dims.size()) ? dims.size() : call.axis(given, dims.size());
  const auto middle = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  reshape_to(call, {count_of({dims.begin(), middle}), count_of({middle, dims.end()})});
}

void squeeze(Call& call) {
  const Dims& old = call.dims(0);
  const std::vector<std::size_t> axes = axes_of(call, old.size());
  Dims dims;
  for (std::size_t d = 0; d < old.size(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (named && old[d] != one) call.fail("a dimension that is not 1", "dimensions of 1");
    if (!(named || (axes.empty() && old[d] == one))) dims.push_back(old[d]);
  }
  reshape_to(call, dims);
}

void unsqueeze(Call& call) {
  const Dims& old = call.dims(0);
  const std::size_t added = call.numbers_of(1, "axes").value_or(std::vector<std::int64_t>()).size();
  const std::size_t rank = old.size() + added;
  const std::vector<std::size_t> axes = axes_of(call, rank);
  Dims dims;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!named && next >= old.size()) call.fail("an axis twice", "different axes");
    dims.push_back(named ? one : old[next++]);
  }
  if (next != old.size()) call.fail("an axis twice", "different axes");
  reshape_to(call, dims);
}

void transpose(Call& call) {
  const Value x = call.placed(0);
  const std::size_t rank = x.dims.size();
  std::vector<std::size_t> order, back(rank, rank);
  const std::vector<std::int64_t> given = call.attribute_numbers("perm");
  for (std::size_t d = 0; d < rank; ++d) {
    if (!given.empty() && given.size() != rank)
      call.fail("perm of " + std::to_string(given.size()) + " axes", std::to_string(rank));
    order.push_back(given.empty() ? rank - 1 - d : call.axis(given[d], rank));
    if (back[order[d]] != rank) call.fail("an axis twice", "every axis once");
    back[order[d]] = d;
  }
  Step& step = call.step;
  viewed(call, x, permuted(step, *x.tensor, order), rank == 2 ? "TBackward0" : "PermuteBackward0",
         [&step, back](TensorId g) { return permuted(step, g, back); });
}

void expand(Call& call) {
  const Value x = call.placed(0);
  Dims wanted = call.numbers(1);
  for (const Expression& d : wanted) check_size(call, d);
  const Dims dims = broadcast(call, x.dims, wanted);
  Step& step = call.step;
  viewed(call, x, expanded(step, *x.tensor, dims), "ExpandBackward0",
         [&step, x](TensorId g) { return unexpanded(step, g, x.dims); });
}

void concat(Call& call) {
  Step& step = call.step;
  std::vector<Value> parts;
  std::vector<TensorId> tensors;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    parts.push_back(call.placed(i));
    tensors.push_back(*parts.back().tensor);
  }
  if (parts.empty()) call.fail("no input", "at least one");
  const std::size_t rank = parts[0].dims.size();
  const std::size_t axis = call.axis(call.number("axis", 0), rank);
  Dims dims = parts[0].dims;
  dims[axis] = zero;
  for (const Value& part : parts) {
    if (part.dims.size() != rank) call.fail("operands of different dimensions", "the same number");
    dims[axis] = dims[axis] + part.dims[axis];
    for (std::size_t d = 0; d < rank; ++d) {
      if (d != axis && part.dims[d] != dims[d])
        call.fail("operands whose sizes differ in dimension " + std::to_string(d), "equal sizes");
    }
  }
  const TensorId y = step.run("aten::cat", {list(tensors), whole(static_cast<std::int64_t>(axis))},
                              parts[0].type, dims);
  if (!is_floating(parts[0].type)) return call.result(y);
  call.result(y, "CatBackward0", parts, [&step, parts, axis](TensorId g) {
    for (const Value& part : parts) step.give(part, narrowed(step, g, axis, part.dims[axis], 1));
  });
}

void split(Call& call) {
  Step& step = call.step;
  const Value x = call.placed(0);
  const std::size_t axis = call.axis(call.number("axis", 0), x.dims.size());
  Dims parts;
  if (call.has(1)) {
    parts = call.numbers(1);
  } else {
    const auto count = static_cast<std::int64_t>(call.node.outputs.size());
    const auto part = x.dims[axis].divided_by(Expression(count));
    if (!part)
      call.fail("a size that " + std::to_string(count) + " parts do not divide",
                "sizes of the parts");
    parts.assign(call.node.outputs.size(), *part);
  }
  Expression sum = zero;
  for (const Expression& part : parts) sum = sum + part;
  if (parts.size() != call.node.outputs.size() || sum != x.dims[axis]) {
    call.fail("parts that are not the whole", "one size a result, of this sum");
  }
  for (const Expression& part : parts)
    call.outputs.push_back(step.value(narrowed(step, *x.tensor, axis, part, 1)));
  std::vector<Value*> results;
  for (Value& value : call.outputs) results.push_back(&value);
  const std::vector<Value> values = call.outputs;
  step.differentiable(
      "SplitBackward0", results, {x}, [&step, x, values, axis](const Step::Gradients& g) {
        std::vector<TensorId> given;
        for (std::size_t i = 0; i < g.size(); ++i) {
          given.push_back(
              g[i] ? *g[i]
                   : step.run("aten::zeros", {sizes(values[i].dims)}, x.type, values[i].dims));
        }
        step.give(x, step.run("aten::cat", {list(given), whole(static_cast<std::int64_t>(axis))},
                              x.type, x.dims));
      });
}

void slice(Call& call) {
  Value x = call.placed(0);
  const Dims begins = call.numbers(1), ends = call.numbers(2);
  const std::size_t rank = x.dims.size();
  std::vector<std::int64_t> axes, every(begins.size(), 1);
  for (std::size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (call.has(3)) axes = call.integers(3);
  if (call.has(4)) every = call.integers(4);
  if (ends.size() != begins.size() || axes.size() != begins.size() ||
      every.size() != begins.size()) {
    call.fail("lists of different lengths", "a begin, an end and a step for every axis");
  }
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t axis = call.axis(axes[i], rank);
    if (every[i] < 1) call.fail("a step of " + std::to_string(every[i]), "a positive one");
    const Expression begin = clamped(call, begins[i], x.dims[axis]);
    Expression length = clamped(call, ends[i], x.dims[axis]) - begin;
    if (every[i] > 1) {
      const std::int64_t whole_length = call.fixed(length, "a length under a step");
      length = Expression((whole_length + every[i] - 1) / every[i]);
    }
    const auto known = length.number();
    if (known && *known < 0) length = zero;
    if (!call.outputs.empty()) x = call.outputs.back();
    call.outputs.clear();
    narrow(call, x, axis, length, begin.number().value_or(0), every[i]);
  }
  if (begins.empty()) call.outputs.push_back(x);
}

void pad(Call& call) {
  Step& step = call.step;
  const Value x = call.placed(0);
  const std::vector<std::int64_t> given = call.integers(1);
  const std::size_t rank = x.dims.size();
  if (given.size() != 2 * rank || call.has(3))
    call.fail("pads of " + std::to_string(given.size()) + " numbers", "two for every dimension");
  Dims dims = x.dims;
  std::vector<std::int64_t> pads;
  for (std::size_t d = rank; d-- > 0;) {
    pads.insert(pads.end(), {given[d], given[rank + d]});
    dims[d] = dims[d] + Expression(given[d]) + Expression(given[rank + d]);
    check_size(call, dims[d]);
  }
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t p) { return p == 0; }))
    return call.outputs.push_back(x);
  const TensorId y =
      step.run("aten::constant_pad_nd", {of(*x.tensor), wholes(pads), plain(0.0)}, x.type, dims);
  for (std::int64_t& p : pads) p = p == std::numeric_limits<std::int64_t>::min() ? 0 : -p;
  call.result(y, "ConstantPadNdBackward0", {x}, [&step, x, pads](TensorId g) {
    step.give(x,
              step.run("aten::constant_pad_nd", {of(g), wholes(pads), plain(0.0)}, x.type, x.dims));
  });
}

}  // namespace tandem::onnx
