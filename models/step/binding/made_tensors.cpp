#include "models/step/binding/made_tensors.h"

#include <algorithm>

#include "sim/core/bounds/limits.h"

namespace tandem {

std::int64_t distinct_elements(const TensorShape& shape) {
  return shape.elements() / std::max<std::int64_t>(1, shape.expanded);
}

TensorShape stored_shape(TensorShape shape) {
  if (shape.expanded <= 1) return shape;
  for (std::size_t d = 0; d < shape.rank; ++d) {
    if (shape.strides[d] == 0) shape.dims[d] = 1;
  }
  shape.expanded = 1;
  return shape;
}

bool is_slice(const TensorShape& shape) {
  double last = 0;  // place of the last element
  for (std::size_t d = 0; d < shape.rank; ++d) {
    last += (double(shape.dims[d]) - 1) * double(shape.strides[d]);
  }
  return last >= double(shape.elements());
}

std::int64_t whole_elements(const TensorShape& slice) {
  std::int64_t elements = 0;
  for (std::size_t d = 0; d < slice.rank; ++d) {
    elements = std::max(elements, limits::product(slice.dims[d], slice.strides[d]));
  }
  return elements;
}

OpTensors with_types(OpTensors tensors, MadeTensors& made, const HiddenTensors& hidden,
                     const FlowOp& op) {
  if (std::any_of(tensors.shapes.begin(), tensors.shapes.end(), is_slice)) return tensors;
  DataType widest = DataType::unknown;
  for (TensorShape& shape : tensors.shapes) {
    if (shape.type == DataType::unknown) {
      shape.type = made.latest_type(distinct_elements(shape), hidden, op);
    }
    if (element_bytes(shape.type) > element_bytes(widest)) widest = shape.type;
  }
  for (TensorShape& shape : tensors.shapes) {
    if (shape.type == DataType::unknown) shape.type = widest;
  }
  return tensors;
}

}  // namespace tandem
