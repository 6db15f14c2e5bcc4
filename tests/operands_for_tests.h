// Operands for tests, written as Kineto writes them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "sim/trace/importers/kineto/operands.h"

namespace tandem::test {

inline OpTensors parse_tensors(std::string_view dims, std::string_view types = "",
                               std::string_view strides = "") {
  return kineto::parse_operands({dims, types, strides, ""}).tensors;
}

/// A tensor whose last dimension is contiguous.
inline TensorShape row_major(std::initializer_list<std::int64_t> dims,
                             DataType type = DataType::fp32) {
  TensorShape t;
  t.type = type;
  t.rank = static_cast<std::uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), t.dims.begin());
  std::int64_t stride = 1;
  for (std::size_t d = t.rank; d-- > 0; stride *= t.dims[d]) t.strides[d] = stride;
  return t;
}

}  // namespace tandem::test
