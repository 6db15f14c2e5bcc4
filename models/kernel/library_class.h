// What a row of configs/kernels/libraries.json says a kernel is.
#pragma once

#include <vector>

#include "models/kernel/kernel.h"
#include "sim/core/fields/field.h"

namespace tandem {

/// The tile and the type may be those that a step asks for.
struct LibraryClass {
  KernelClass kernel;
  bool any_tile = false;
  bool any_type = false;
};

/// Reads an object of columns: kind, which must be there, type, tile and the other traits of a
/// kernel; what is not named has its default. Errors: InputError that names the columns.
LibraryClass read_library_class(const Json& json, const Place& place);

/// The kernel with the tile and type that are asked for, where the row leaves them open.
KernelClass filled_in(const LibraryClass& row, int tile_m, int tile_n, DataType type);

}  // namespace tandem
