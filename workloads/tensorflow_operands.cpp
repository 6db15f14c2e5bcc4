#include "workloads/tensorflow_operands.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ops/op_table.h"

namespace tandem {
namespace {

constexpr std::string_view channels_first = "NCHW", same_padding = "SAME";
using Order = std::array<std::size_t, 4>;
constexpr Order image_order = {0, 3, 1, 2};   // [batch, height, width, channels]
constexpr Order filter_order = {3, 2, 0, 1};  // [height, width, in, out]

TensorShape viewed(const TensorShape& t, const Order& order) {
  if (t.rank != order.size()) return t;
  TensorShape out = t;
  for (std::size_t d = 0; d < order.size(); ++d) {
    out.dims[d] = t.dims[order[d]];
    out.strides[d] = t.strides[order[d]];
  }
  out.channels_last = has_channels_last(out);
  return out;
}

TensorShape transposed(TensorShape t) {
  if (t.rank < 2) return t;
  std::swap(t.dims[t.rank - 1U], t.dims[t.rank - 2U]);
  std::swap(t.strides[t.rank - 1U], t.strides[t.rank - 2U]);
  return t;
}

bool is_host(const Network& network, std::uint32_t tensor) {
  return network.storages[network.tensors[tensor].storage] == StorageKind::host;
}

/// Sizes, axes and places: kernels get them with the launch. Tables of indices are copied.
void drop_host_operands(const Network& network, const NetworkOp& op, BoundOp& bound) {
  OpTensors kept;
  std::size_t next = 0;
  for (std::size_t a = 0; a < op.arguments.size(); ++a) {
    for (const std::uint32_t t : op.arguments[a].tensors) {
      const TensorShape& shape = bound.operands.tensors.shapes[next++];
      if (is_host(network, t) && shape.rank <= 1) continue;
      kept.add(a, shape);
      if (is_host(network, t)) bound.copied_bytes += shape.elements() * element_bytes(shape.type);
    }
  }
  bound.operands.tensors = std::move(kept);
}

/// What the attributes of an operation on images say.
struct Windows {
  std::vector<std::int64_t> first, second;  // lists of four: of the height and of the width
  bool is_channels_first = false, is_same = false;
};

Windows windows_of(const Operands& operands) {
  Windows out;
  std::vector<std::span<const std::int64_t>> lists;
  for (const Argument& a : operands.arguments) {
    const std::string* const text = std::get_if<std::string>(&a);
    out.is_channels_first |= text != nullptr && *text == channels_first;
    out.is_same |= text != nullptr && *text == same_padding;
    const auto list = integers_of(a);
    if (list.size() == image_order.size()) lists.push_back(list);
  }
  const std::size_t height = out.is_channels_first ? 2 : 1;
  const auto sides = [&](std::size_t i) -> std::vector<std::int64_t> {
    if (i >= lists.size()) return {1, 1};
    return {lists[i][height], lists[i][height + 1]};
  };
  out.first = sides(0);
  out.second = sides(1);
  return out;
}

/// Rows above, columns left of, rows below, columns right of the image: TensorFlow pads what
/// windows lack, one more behind than before where that is odd.
std::vector<std::int64_t> padding(const TensorShape& image, const TensorShape& result,
                                  const std::vector<std::int64_t>& window,
                                  const std::vector<std::int64_t>& stride,
                                  const std::vector<std::int64_t>& dilation, bool is_same) {
  std::vector<std::int64_t> out(4, 0);
  for (std::size_t i = 0; is_same && i < 2; ++i) {
    const std::int64_t span = dilation[i] * (window[i] - 1) + 1;
    const std::int64_t lacks = (result.dims[i + 2] - 1) * stride[i] + span - image.dims[i + 2];
    out[i] = std::max<std::int64_t>(lacks, 0) / 2;
    out[i + 2] = std::max<std::int64_t>(lacks, 0) - out[i];
  }
  return out;
}

/// Collects operands in the order of a row.
struct Ordered {
  Operands operands;
  Ordered() { operands.has_shapes = true; }
  void tensor(const TensorShape& shape) {
    operands.tensors.add(operands.arguments.size(), shape);
    operands.arguments.emplace_back();
  }
  void list(std::vector<std::int64_t> numbers) { operands.arguments.emplace_back(numbers); }
  Operands done() {
    operands.argument_count = static_cast<std::uint16_t>(operands.arguments.size());
    return std::move(operands);
  }
};

/// Row: input weight stride padding dilation; backward: grad saved saved_weight stride ...,
/// whatever of image and filter is only stated by its sizes being what the operation makes.
void order_convolution(const Windows& w, bool backward, BoundOp& bound) {
  const Operands& in = bound.operands;
  const Order images = w.is_channels_first ? Order{0, 1, 2, 3} : image_order;
  const TensorShape *image = in.tensors.at(0), *filter = in.tensors.at(1);
  const TensorShape* result = backward ? in.tensors.at(2) : &bound.outputs[0];
  const bool makes_filter = backward && filter == nullptr;
  const TensorShape made = bound.outputs[0];
  if (backward && image == nullptr) image = &made;
  if (makes_filter) filter = &made;
  if (image == nullptr || filter == nullptr || result == nullptr) return;
  const TensorShape x = viewed(*image, images), f = viewed(*filter, filter_order),
                    y = viewed(*result, images);
  Ordered out;
  if (backward) out.tensor(y);
  out.tensor(x);
  out.tensor(f);
  out.list(w.first);
  out.list(padding(x, y, {f.dims[2], f.dims[3]}, w.first, w.second, w.is_same));
  out.list(w.second);
  bound.operands = out.done();
  bound.outputs[0] = viewed(made, makes_filter ? filter_order : images);
}

/// Row: input kernel stride padding; backward: grad saved kernel stride padding. The gradient is
/// the last tensor that TensorFlow states.
void order_pooling(const Windows& w, bool backward, BoundOp& bound) {
  const auto& tensors = bound.operands.tensors.shapes;
  if (tensors.empty()) return;
  const Order images = w.is_channels_first ? Order{0, 1, 2, 3} : image_order;
  bound.outputs[0] = viewed(bound.outputs[0], images);
  const TensorShape last = viewed(tensors.back(), images);
  const TensorShape &x = backward ? bound.outputs[0] : last,
                    &y = backward ? last : bound.outputs[0];
  Ordered out;
  if (backward) out.tensor(y);
  out.tensor(x);
  out.list(w.first);
  out.list(w.second);
  out.list(padding(x, y, w.first, w.second, {1, 1}, w.is_same));
  bound.operands = out.done();
}

void order_images(const OpRow& row, BoundOp& bound) {
  if (bound.outputs.empty()) return;
  const Windows w = windows_of(bound.operands);
  switch (row.kind) {
    case OpKind::convolution:
    case OpKind::convolution_backward: order_convolution(w, row.backward, bound); return;
    case OpKind::pooling:
    case OpKind::pooling_backward: order_pooling(w, row.backward, bound); return;
    default: break;
  }
  if (w.is_channels_first) return;
  for (TensorShape& t : bound.operands.tensors.shapes) t = viewed(t, image_order);
  for (TensorShape& t : bound.outputs) t = viewed(t, image_order);
}

void order_factors(BoundOp& bound) {
  std::size_t factor = 0;
  for (const Argument& a : bound.operands.arguments) {
    const bool* const is_transposed = std::get_if<bool>(&a);
    if (is_transposed == nullptr) continue;
    if (factor == bound.operands.tensors.shapes.size()) return;
    TensorShape& t = bound.operands.tensors.shapes[factor++];
    if (*is_transposed) t = transposed(t);
  }
}

}  // namespace

bool uses_host_memory(const Network& network, const NetworkOp& op) {
  std::vector<std::uint32_t> tensors = op.outputs;
  for (const NetworkArgument& a : op.arguments) {
    if (op.outputs.empty()) tensors.insert(tensors.end(), a.tensors.begin(), a.tensors.end());
  }
  return !tensors.empty() && std::all_of(tensors.begin(), tensors.end(),
                                         [&](std::uint32_t t) { return is_host(network, t); });
}

void order_operands(const Network& network, const NetworkOp& op, BoundOp& bound) {
  if (bound.on_host) return;
  const OpRow& row = op_row(op.name);
  drop_host_operands(network, op, bound);
  if (row.is(images_last)) order_images(row, bound);
  if (row.is(transposes)) order_factors(bound);
}

}  // namespace tandem
