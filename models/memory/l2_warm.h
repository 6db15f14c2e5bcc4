// DRAM traffic of a step whose kernels find what earlier kernels left in L2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"

namespace tandem {

/// Tensors in L2, the most recently used first. Whole tensors enter and leave; one that does not
/// fit keeps only its last bytes.
class WarmL2 {
 public:
  explicit WarmL2(double capacity_bytes) : capacity_(capacity_bytes) {}
  /// Bytes that have to come from DRAM.
  double read(std::uint64_t tensor, double bytes);
  void write(std::uint64_t tensor, double bytes);
  /// Dirty bytes evicted since the last call.
  double take_written_back();

 private:
  struct Entry {
    std::uint64_t tensor = 0;
    double bytes = 0;  // that are in L2
    bool dirty = false;
  };
  double remove(std::uint64_t tensor, bool& dirty);
  void insert(const Entry& entry);

  double capacity_;
  double used_ = 0;
  double written_back_ = 0;
  std::vector<Entry> entries_;  // most recently used last
};

/// Replaces the DRAM sectors of `costs` (cold) by those of the same kernels run one after another.
/// Traces hold no addresses: two tensors of equal size and type count as one, which makes this a
/// lower bound of the traffic; the cold values are an upper bound. Not validated.
void apply_warm_l2(const GpuArch& gpu, std::span<const KernelLaunch> launches,
                   std::span<KernelCost> costs);

}  // namespace tandem
