#include "sim/metrics/kernel_levels.h"

#include <algorithm>
#include <array>
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

/// Time of one bound by one law.
struct BoundTime {
  std::string_view bound, law;
  double us = 0;
};

/// Adds to the time above the roofline of each reason.
void add_reason(const KernelUse& use, double us, std::vector<BoundTime>& times) {
  const double lost_us = us * (1 - use.roofline_share);
  for (BoundTime& t : times) {
    if (t.bound == use.reason) {
      t.us += lost_us;
      return;
    }
  }
  times.push_back({use.reason, {}, lost_us});
}

void add_bound(const KernelUse& use, double us, std::vector<BoundTime>& times) {
  const auto it = std::find_if(times.begin(), times.end(), [&](const BoundTime& t) {
    return t.bound == use.bound && t.law == use.bound_law;
  });
  if (it != times.end()) {
    it->us += us;
  } else {
    times.push_back({use.bound, use.bound_law, us});
  }
}

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
  std::vector<BoundTime> times, reasons;
  WorkCounters sum;
  for (const WorkCounters& work : works) {
    const KernelUse use = kernel_use(work, gpu);
    add_bound(use, work.time_us, times);
    add_reason(use, work.time_us, reasons);
    sum.warp_active_cycles += work.warp_active_cycles;
    sum.smsp_active_cycles += work.smsp_active_cycles;
  }
  l.achieved_occupancy = kernel_use(sum, gpu).achieved_occupancy;
  const auto less = [](const BoundTime& a, const BoundTime& b) { return a.us < b.us; };
  const BoundTime& most = *std::max_element(times.begin(), times.end(), less);
  l.reason = std::max_element(reasons.begin(), reasons.end(), less)->bound;
  l.bound = most.bound;
  l.bound_law = most.law;
  return l;
}

std::span<const KernelLevelInfo> kernel_level_infos() { return level_infos; }

}  // namespace tandem
