#include "sim/metrics/kernel_levels.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace tandem {

namespace {

using L = KernelLevels;

constexpr std::array<KernelLevelInfo, 18> level_infos{{
    {"confidence", "ratio", "of the counters (models/kernel/README.md)",
     [](const L& l) { return l.confidence; }},
    {"theoretical_occupancy", "ratio", "resident warps that the launch allows / most warps",
     [](const L& l) { return l.theoretical_occupancy; }},
    {"achieved_occupancy", "ratio", "resident warps / most warps, while an SM holds a block",
     [](const L& l) { return l.achieved_occupancy; }},
    {"waves", "count", "blocks / blocks that the GPU holds at once",
     [](const L& l) { return l.waves; }},
    {"smsp_active_utilization", "ratio", "SMSP cycles with a warp resident / elapsed",
     [](const L& l) { return l.metrics.smsp_active_utilization; }},
    {"smsp_issue_utilization", "ratio", "issue slots used: SMSP cycles that issue / elapsed",
     [](const L& l) { return l.metrics.smsp_issue_utilization; }},
    {"tc_active_utilization", "ratio", "tensor pipe active / elapsed SMSP cycles",
     [](const L& l) { return l.metrics.tc_active_utilization; }},
    {"tc_issue_utilization", "ratio", "tensor-core warp instructions / elapsed SMSP cycles",
     [](const L& l) { return l.metrics.tc_issue_utilization; }},
    {"dram_read_bytes", "B", "read from DRAM by all of these kernels",
     [](const L& l) { return l.metrics.dram_read_bytes; }},
    {"dram_write_bytes", "B", "written to DRAM",
     [](const L& l) { return l.metrics.dram_write_bytes; }},
    {"l2_bytes", "B", "L2 sectors x 32", [](const L& l) { return l.metrics.l2_bytes; }},
    {"l1_bytes", "B", "L1 sectors x 32", [](const L& l) { return l.metrics.l1_bytes; }},
    {"shared_bytes", "B", "shared-memory wavefronts x 128",
     [](const L& l) { return l.metrics.shared_bytes; }},
    {"flops", "FLOP", "of products, convolutions and attention by their formulas",
     [](const L& l) { return l.metrics.flops; }},
    {"tflops", "TFLOP/s", "flops / time", [](const L& l) { return l.metrics.tflops; }},
    {"mfu", "ratio", "of the dense peak of the type that products are computed in",
     [](const L& l) { return l.metrics.mfu; }},
    {"roofline_share", "ratio", "least time at the peaks of arithmetic and of DRAM / time",
     [](const L& l) { return l.metrics.roofline_share; }},
    {"intensity", "FLOP/B", "flops / DRAM bytes", [](const L& l) { return l.metrics.intensity; }},
}};

/// Time by what it is of, in the order in which that was seen first.
template <class Key>
class TimeOf {
 public:
  void add(const Key& key, double us) {
    const auto it = std::find_if(times_.begin(), times_.end(),
                                 [&](const auto& time) { return time.first == key; });
    if (it != times_.end()) {
      it->second += us;
    } else {
      times_.emplace_back(key, us);
    }
  }
  /// Of several, the first.
  const Key& longest() const {
    return std::max_element(times_.begin(), times_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

 private:
  std::vector<std::pair<Key, double>> times_;
};

double mean(std::span<const WorkCounters> works, double WorkCounters::*member,
            double WorkCounters::*weight) {
  double sum = 0, all = 0;
  for (const WorkCounters& work : works) {
    sum += work.*weight * (work.*member);
    all += work.*weight;
  }
  return all > 0 ? sum / all : works.front().*member;
}

}  // namespace

KernelLevels kernel_levels(std::span<const WorkCounters> works, const GpuScale& gpu) {
  KernelLevels l;
  l.family = works.front().family;
  l.confidence = mean(works, &WorkCounters::confidence, &WorkCounters::time_us);
  // As the achieved one, which cannot be above it.
  l.theoretical_occupancy =
      mean(works, &WorkCounters::theoretical_occupancy, &WorkCounters::smsp_active_cycles);
  l.waves = mean(works, &WorkCounters::waves, &WorkCounters::time_us);
  l.metrics = gpu_metrics(works, gpu, elapsed_us(works, gpu));
  TimeOf<std::pair<Bound, std::string_view>> bounds;  // and their laws
  TimeOf<Shortfall> reasons;                          // above the roofline
  WorkCounters sum;
  for (const WorkCounters& work : works) {
    const KernelUse use = kernel_use(work, gpu);
    bounds.add({use.bound, use.bound_law}, work.time_us);
    reasons.add(use.reason, work.time_us * (1 - use.roofline_share));
    sum.warp_active_cycles += work.warp_active_cycles;
    sum.smsp_active_cycles += work.smsp_active_cycles;
  }
  l.achieved_occupancy = kernel_use(sum, gpu).achieved_occupancy;
  std::tie(l.bound, l.bound_law) = bounds.longest();
  l.reason = reasons.longest();
  return l;
}

std::span<const KernelLevelInfo> kernel_level_infos() { return level_infos; }

}  // namespace tandem
