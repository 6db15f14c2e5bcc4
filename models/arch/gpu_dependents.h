// Numbers of a GPU that hang together.
#pragma once

#include <span>
#include <string>

#include "models/arch/gpu_arch.h"

namespace tandem {

/// `gpu` is `before` with other values for the fields `set`, which are possible (check_gpu_sizes):
/// what nobody set follows what it hangs on, rates and sizes in proportion.
void scale_dependents(const GpuArch& before, std::span<const std::string> set, GpuArch& gpu);

}  // namespace tandem
