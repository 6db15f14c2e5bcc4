// What the libraries call their matrix kernels on each generation of GPUs, read from
// configs/kernels/retarget.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel/kernel.h"
#include "sim/core/provenance.h"

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

/// Relative errors of GPU time to be expected, by what is known of a kernel.
struct RetargetErrors {
  double with_shapes = 0;
  double without_shapes = 0;
  double other_work = 0;            // families and types that no validation case has
  double unknown_kernel = 0;        // names that no rule knows
  double same_generation = 0;       // share of the above if no generation is crossed
  double energy_constants = 0;      // of each constant of energy, where a chip has another one's
  std::vector<Provenance> origins;  // parallel to the fields
};

struct RetargetLaw {
  std::vector<LibraryKernel> kernels;
  RetargetErrors errors;
  /// The kernel of the newest generation that is not newer than `compute_major`, or null.
  const LibraryKernel* find(int compute_major, Engine engine, KernelFamily family,
                            DataType type) const;
};

/// Errors: InputError `file:key: found X, expected Y`.
RetargetLaw load_retarget_law(const std::string& path);

/// The name with its tile and pass filled in.
std::string kernel_name(const LibraryKernel& kernel, int tile_m, int tile_n, Pass pass);

}  // namespace tandem
