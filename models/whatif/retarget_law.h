// What the libraries call their matrix kernels on each generation of GPUs, read from
// configs/kernels/retarget.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel/kernel.h"

namespace tandem {

/// A typical kernel of a library: what the models need to know of one that was never traced.
struct LibraryKernel {
  int compute_major = 0;  // first generation that it serves
  Engine engine = Engine::simt;
  std::string family;  // "gemm" or "convolution"
  std::string type;    // of the operands
  std::string name;    // with {m}, {n} for the tile and {pass} for fprop, dgrad, wgrad
  std::string source;
  int threads = 0;
  int registers_per_thread = 0;
  int shared_bytes = 0;
};

struct RetargetLaw {
  std::vector<LibraryKernel> kernels;
  /// The kernel of the newest generation that is not newer than `compute_major`, or null.
  const LibraryKernel* find(int compute_major, Engine engine, KernelFamily family,
                            DataType type) const;
};

/// Errors: InputError `file:key: found X, expected Y`.
RetargetLaw load_retarget_law(const std::string& path);

/// The name with its tile and pass filled in.
std::string kernel_name(const LibraryKernel& kernel, int tile_m, int tile_n, Pass pass);

}  // namespace tandem
