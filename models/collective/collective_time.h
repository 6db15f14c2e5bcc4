// How long the data of a collective moves between the GPUs of one host, after the last rank came.
#pragma once

#include <string_view>

#include "models/arch/gpu_arch.h"
#include "models/collective/collective_law.h"
#include "sim/core/collective.h"

namespace tandem {

struct CollectiveTime {
  double us = 0;
  double wire_bytes = 0;       // that a rank sends
  std::string_view algorithm;  // "ring" or "direct"
  std::string_view protocol;   // "LL" or "Simple"
  bool known = false;          // false: unknown kind, size or number of ranks
};

/// GB/s of one direction of the slowest link between `ranks` GPUs of a host: half of what NVLink
/// moves both ways, or the host link where NVLink does not join so many. (A ring of four over two
/// bridged pairs crosses from pair to pair over the host link.)
double link_gbps(const GpuArch& gpu, const CollectiveLaw& law, int ranks);

/// `ranks` in place of those of the collective; its message is that of `collective`.
CollectiveTime collective_time(const GpuArch& gpu, const CollectiveLaw& law,
                               const Collective& collective, int ranks);

/// The collective as `ranks` in place of its own would do it: what a rank keeps of sharded
/// parameters follows their number, gradients and activations stay.
Collective among(Collective collective, int ranks);

}  // namespace tandem
