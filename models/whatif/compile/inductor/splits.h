// How TorchInductor splits sums so that they fill the GPU.
#pragma once

#include "models/arch/gpu_arch.h"

namespace tandem {

/// `results` sums of `addends` each, counted in elements.
struct SumShape {
  double results = 1, addends = 1;
  double elements() const { return results * addends; }
};

/// Short sums and very many of them keep all threads busy without a split.
bool may_be_split(const GpuArch& gpu, const SumShape& sum);

/// Parts of each sum over neighbours in memory; 1: it is not split.
double inner_parts(const GpuArch& gpu, const SumShape& sum);
/// ... over elements that other results lie between.
double outer_parts(const GpuArch& gpu, const SumShape& sum);

/// Whether a block holds all elements of its sums over elements that other results lie between.
bool holds_columns(const SumShape& sum);

/// Whether a kernel that holds rows takes the sums over all rows along.
bool sums_along_rows(double rows, double columns);

}  // namespace tandem
