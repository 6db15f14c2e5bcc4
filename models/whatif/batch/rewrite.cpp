#include "models/whatif/batch/rewrite.h"

#include <algorithm>
#include <string>

#include "sim/core/bounds/limits.h"
#include "sim/core/error.h"

namespace tandem {
namespace {

void resize_strides(TensorShape& shape, std::size_t axis, std::int64_t base_batch,
                    std::int64_t batch) {
  if (shape.strides[axis] <= 0) return;
  const std::int64_t extent = limits::product(shape.strides[axis], shape.dims[axis]);
  for (std::size_t i = 0; i < shape.rank; ++i) {
    std::int64_t& stride = shape.strides[i];
    if (stride >= extent) stride = limits::product(stride / base_batch, batch);
  }
}

/// Errors: InputError if the tensor would be larger than any that a trace may hold.
void check_size(const BatchOp& op, TensorShape shape, std::size_t axis, std::int64_t dim,
                std::int64_t batch) {
  shape.dims[axis] = dim;
  for (std::int64_t& d : shape.dims) d = std::max<std::int64_t>(d, 1);
  if (dim <= limits::dimension && shape.elements() <= limits::elements) return;
  throw InputError("command line", "--batch", std::to_string(batch),
                   "a batch at which no tensor of " + std::string(op.name) + " holds more than " +
                       std::to_string(limits::elements) + " elements");
}

// Elements of a dimension with stride 0 share their storage.
void resize_expansion(TensorShape& shape, std::size_t axis, std::int64_t dim) {
  const bool recorded =
      shape.expanded > 1 || std::any_of(shape.strides.begin(), shape.strides.end(),
                                        [](std::int64_t s) { return s != 0; });
  if (recorded && shape.strides[axis] == 0) {
    shape.expanded =
        limits::product(shape.expanded / std::max<std::int64_t>(1, shape.dims[axis]), dim);
  }
}

}  // namespace

OpTensors resize_layout(const BatchOp& op, std::int64_t base_batch, std::int64_t batch) {
  OpTensors out = op.tensors;
  for (std::size_t i = 0; i < out.shapes.size(); ++i) {
    if (op.axis[i] < 0) continue;
    TensorShape& shape = out.shapes[i];
    const auto axis = static_cast<std::size_t>(op.axis[i]);
    const std::int64_t dim = limits::product(shape.dims[axis] / base_batch, batch);
    check_size(op, shape, axis, dim, batch);
    resize_strides(shape, axis, base_batch, batch);
    resize_expansion(shape, axis, dim);
    shape.dims[axis] = dim;
    shape.channels_last = has_channels_last(shape);
  }
  return out;
}

}  // namespace tandem
