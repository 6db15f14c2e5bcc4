// DRAM traffic of a step whose kernels find what earlier kernels left in L2.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include "models/arch/gpu_arch.h"
#include "models/kernel/kernel.h"

namespace tandem {

/// Tensors in L2, the most recently used first. Whole tensors enter and leave; one that does not
/// fit keeps only its last bytes.
class WarmL2 {
 public:
  explicit WarmL2(double capacity_bytes) : capacity_(capacity_bytes) {}
  /// Starts the next kernel. Its operands are tensors of their own: two of the same size and type
  /// are the two most recent ones. `updates`: parameters and what goes with them, which no other
  /// update of the step touches: it does not find what such a kernel has left.
  void next_kernel(bool updates = false) {
    ++kernel_;
    updates_ = updates;
  }
  /// Bytes that have to come from DRAM.
  double read(std::uint64_t tensor, double bytes);
  void write(std::uint64_t tensor, double bytes);
  /// The same for a tensor that the kernel has read, and that it has not written yet.
  void write_in_place(std::uint64_t tensor, double bytes);
  /// Dirty bytes evicted since the last call.
  double take_written_back();

 private:
  struct Entry {
    std::uint64_t tensor = 0;
    double bytes = 0;              // that are in L2
    double dirty = 0;              // bytes
    std::uint32_t read_by = 0;     // kernel
    bool updated = false;          // which is an update
    std::uint32_t written_by = 0;  // kernel, in place
  };
  bool finds(const Entry& e, std::uint64_t tensor) const {
    return e.tensor == tensor && e.read_by != kernel_ && !(updates_ && e.updated);
  }
  double remove(std::uint64_t tensor, double& dirty);
  void insert(const Entry& entry);
  void forget(std::uint64_t tensor);
  double newer_than(std::uint64_t tensor) const;

  double capacity_;
  double used_ = 0;
  double written_back_ = 0;
  std::uint32_t kernel_ = 1;
  bool updates_ = false;
  std::deque<Entry> entries_;  // most recently used last
  // Entries by tensor: most tensors of a long step are not there, and are not looked for.
  std::unordered_map<std::uint64_t, std::uint32_t> held_;
};

/// Replaces the DRAM sectors of `costs` (cold) by those of the same kernels run one after another.
/// Traces hold no addresses: an operand is the most recent tensor of its size and type that the
/// kernel has not read yet. Errors against counters of whole steps: README.md.
void apply_warm_l2(const GpuArch& gpu, std::span<const KernelLaunch> launches,
                   std::span<KernelCost> costs);

}  // namespace tandem
