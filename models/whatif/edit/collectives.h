// What what-ifs make of the collectives of a step: other messages, other numbers of ranks, another
// link.
#pragma once

#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "models/collective/collective_law.h"
#include "models/step/op_nesting.h"
#include "models/step/step.h"

namespace tandem {

/// Where a collective runs.
struct RankedGpu {
  const GpuArch& gpu;
  int ranks = 0;
};

/// Ranks that take part: as the trace says of the collective, else those of the whole job.
int ranks_of(const Trace& trace, const Collective& collective);

/// Whether device work of the step is of a collective.
bool meets_others(const Step& step);

/// Per activity: ranks exchange activations in it, or gradients of those (tensor, pipeline and
/// expert parallelism, losses over all items): between pairs of ranks, all to all, or a tensor of
/// two dimensions or more outside of an update. What data parallelism and sharding send has one:
/// buckets, units of parameters, statistics of norms.
std::vector<bool> exchanges_activations(const Step& step);

/// Whether operation `op` runs in the hook of a gradient: in the node that stores it, or in the
/// engine's range around that.
bool runs_in_hook(const Trace& trace, const OpNesting& nesting, std::uint32_t op);

/// The time of `next` over that of the collective of `activity`; 0: there is no law for one of
/// them.
double collective_ratio(const CollectiveLaw& law, const Trace& trace, std::uint32_t activity,
                        const GpuArch& from, const Collective& next, const RankedGpu& to);

/// Makes `activity` take part in `next` and last `ratio` times as long.
void set_collective(Trace& trace, std::uint32_t activity, const Collective& next, double ratio);

}  // namespace tandem
