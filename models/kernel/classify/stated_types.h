// What the name of a kernel tells of the types of the operands of its operation.
#pragma once

#include <string_view>

#include "models/kernel/kernel.h"

namespace tandem {

/// `unknown` where the name does not tell.
struct StatedTypes {
  DataType read = DataType::unknown;
  DataType written = DataType::unknown;
  bool converts = false;  // some operand is of another type than what is written
};

/// `kernel`: the class of that name.
StatedTypes stated_types(std::string_view name, const KernelClass& kernel);

}  // namespace tandem
