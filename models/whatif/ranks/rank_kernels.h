// Kernels that a step gets where several ranks train its model: copies and collectives.
#pragma once

#include <string_view>

#include "models/arch/gpu_arch.h"
#include "models/collective/collective_law.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_constants.h"
#include "models/runtime/host_model.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/compiled_host.h"
#include "models/whatif/edit/step_edit.h"
#include "sim/core/collective.h"

namespace tandem {

/// Among whom, on what, by which laws.
struct RanksOptions {
  int ranks = 2;
  const GpuArch& gpu;
  const CollectiveLaw& law;
  const TimeConstants& time;
  const LibraryNames& names;
  const HostModel& host;
  const CompiledHostLaw& compiled;
};

/// Of a kernel that reads and writes so many bytes; of none: what does not follow their number.
double moving_us(const GpuArch& gpu, const TimeConstants& time, double bytes);

class RankKernels {
 public:
  RankKernels(const Step& step, const RanksOptions& options)
      : o_(options), host_(added_host(step, options.host)) {}

  const AddedHost& host() const { return host_; }
  /// `host_us`: as of NewKernel. `op`: as PyTorch's profiler writes it.
  NewKernel copy(std::string_view op, double bytes, double host_us) const;
  /// Of all tensors of a list by one kernel.
  NewKernel list_copy(std::string_view op, double bytes, double host_us) const;
  /// The same in chunks, a block each, and launches of at most `multi_tensor_chunks` of them, which
  /// stand here as one.
  NewKernel chunk_copy(std::string_view op, double bytes, double host_us) const;
  NewKernel collective(std::string_view op, const Collective& message, double host_us) const;

 private:
  NewKernel moving(LibraryUse use, std::string_view op, double bytes, double host_us) const;

  const RanksOptions& o_;
  AddedHost host_;
};

}  // namespace tandem
