// Sections of the page of a result that take a file each.
#pragma once

#include "sim/report/html/result_page.h"

namespace tandem::html {

/// Critical path, host threads and streams over the time of one step.
Tracks step_tracks(const ResultView& view);

/// Kernels by name, operations, types of layer, families of kernels; those that the result has.
std::vector<Block> step_tables(const Result& result);

/// FLOP/s of each operation of products, convolutions and attention over FLOPs per byte of DRAM,
/// below the peaks of their arithmetic; no series where there is none.
XyChart flop_roofline(const Result& result, const GpuScale& gpu);

/// Warp instructions a second of each family over instructions per byte of DRAM, below what the GPU
/// can do; no series where the GPU is not known.
XyChart instruction_roofline(const Result& result, const GpuScale& gpu);

}  // namespace tandem::html
