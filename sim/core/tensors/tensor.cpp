#include "sim/core/tensors/tensor.h"

#include <algorithm>

#include "sim/core/bounds/limits.h"

namespace tandem {

int element_bytes(DataType type) {
  switch (type) {
    case DataType::unknown: return 0;
    case DataType::fp32:
    case DataType::tf32:
    case DataType::int32: return 4;
    case DataType::fp16:
    case DataType::bf16: return 2;
    case DataType::fp64:
    case DataType::complex64:
    case DataType::int64: return 8;
    case DataType::int8:
    case DataType::boolean: return 1;
  }
  return 0;
}

std::int64_t TensorShape::elements() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) count = limits::product(count, dims[i]);
  return count;
}

bool states_strides(const TensorShape& shape) {
  return std::any_of(shape.strides.begin(), shape.strides.begin() + shape.rank,
                     [](std::int64_t stride) { return stride != 0; });
}

bool is_contiguous(const TensorShape& shape) {
  std::int64_t expected = 1;
  for (std::size_t i = shape.rank; i-- > 0;) {
    if (shape.dims[i] != 1 && shape.strides[i] != expected) return false;
    expected = limits::product(expected, shape.dims[i]);
  }
  return true;
}

bool has_channels_last(const TensorShape& shape) {
  return shape.rank == image_rank && shape.dims[1] > 1 && shape.strides[1] == 1 &&
         shape.strides[3] >= shape.dims[1];
}

}  // namespace tandem
