// Operands for tests, written as Kineto writes them.
#pragma once

#include <string_view>

#include "sim/trace/importers/kineto/operands.h"

namespace tandem::test {

inline OpTensors parse_tensors(std::string_view dims, std::string_view types = "",
                               std::string_view strides = "") {
  return kineto::parse_operands({dims, types, strides, ""}).tensors;
}

}  // namespace tandem::test
