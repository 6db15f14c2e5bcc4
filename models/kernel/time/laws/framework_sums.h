// Sums as PyTorch runs them: how it cuts them into threads and blocks, and how long these wait.
#pragma once

#include <cstdint>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// What of memory a result is the sum of.
enum class SumForm : std::uint8_t {
  rows,     // neighbours, which are loaded four at a time
  pieces,   // several rows apart from each other: a channel of all images
  columns,  // values each in a row of its own
};

/// The sizes of a sum as the framework's kernel sees it.
struct SumSizes {
  std::int64_t results = 1;
  std::int64_t inputs = 1;  // of a result
  SumForm form = SumForm::rows;
  bool whole = false;  // everything becomes one number
};

struct SumGrid {
  std::int64_t threads_x = 1, threads_y = 1;
  std::int64_t blocks = 1;
  std::int64_t parts = 1;   // blocks that share a result
  std::int64_t adders = 1;  // threads of a block that share a result
  std::int64_t values = 1;  // that a thread adds up
  int width = 1;            // neighbouring results of a thread
  SumForm form = SumForm::rows;
};

/// setReduceConfig of the framework (ATen/native/cuda/Reduce.cuh): threads along the contiguous
/// dimension first; a block gives its rows to one result where there are many inputs; blocks share
/// a result where they alone cannot fill the GPU.
SumGrid sum_grid(const SumSizes& sizes, const GpuArch& gpu);

/// How long the threads of a sum wait for each other. Documentation: framework_sums.cpp.
struct SumPace {
  double wave_us = 0;
  double row_value_us = 0;
  double piece_value_us = 0;
  double column_value_us = 0;
  double share_us = 0;
  double step_us = 0;
};
std::vector<Field<SumPace>> sum_pace_fields();

/// Threads wait for each of their loads, waves of blocks for each other; the block that finishes
/// last adds up what the others of a result left in memory, as many at once as it has threads for
/// the result.
double sum_waiting_us(const GpuArch& gpu, const SumPace& pace, const SumGrid& grid);

}  // namespace tandem
