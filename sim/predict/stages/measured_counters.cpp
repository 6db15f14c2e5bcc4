#include "sim/predict/stages/measured_counters.h"

#include <algorithm>
#include <cmath>

#include "sim/core/units.h"
#include "sim/counters/match.h"
#include "sim/counters/utilization.h"

namespace tandem {

namespace {

/// Replaces `member` if the report holds the counter.
void replace(const CounterValues& values, Counter counter, double scale, double& member) {
  const double value = values[static_cast<std::size_t>(counter)];
  if (!std::isnan(value)) member = value * scale;
}

void replace_counters(const CounterValues& values, WorkCounters& c) {
  replace(values, Counter::smsp_elapsed_cycles, 1, c.smsp_elapsed_cycles);
  replace(values, Counter::smsp_active_cycles, 1, c.smsp_active_cycles);
  replace(values, Counter::smsp_issue_cycles, 1, c.smsp_issue_cycles);
  replace(values, Counter::tc_active_cycles, 1, c.tc_active_cycles);
  replace(values, Counter::tc_issue_cycles, 1, c.tc_issue_cycles);
  replace(values, Counter::warp_active_cycles, 1, c.warp_active_cycles);
  replace(values, Counter::l1_sectors, sector_bytes, c.l1_bytes);
  replace(values, Counter::l2_sectors, sector_bytes, c.l2_bytes);
  replace(values, Counter::dram_read_sectors, sector_bytes, c.dram_read_bytes);
  replace(values, Counter::dram_write_sectors, sector_bytes, c.dram_write_bytes);
  replace(values, Counter::shared_wavefronts, wavefront_bytes, c.shared_bytes);
  c.clock_mhz = 0;  // the cycles are those that elapsed
  c.modelled = true;
}

}  // namespace

CountedGpu counted_gpu(const GpuArch& gpu) {
  return {.sm_count = gpu.sm_count,
          .capability = 10 * gpu.compute_major + gpu.compute_minor,
          .dram_gbps = gpu.dram_peak_gbps,
          .l2_gbps = gpu.l2_read_gbps * std::max(gpu.l2_fabric_factor, 1.0),
          .slowest_clock_ghz = gpu.min_clock_mhz * 1e-3};
}

void add_measured_counters(TracedRun& a, const std::string& path) {
  if (!a.gpu) {
    throw InputError(path, "--counters", "a trace of an unknown GPU",
                     "--traced-gpu NAME beside it");
  }
  CounterReport report = read_counter_report(path);
  hold_against(counted_gpu(*a.gpu), report);
  a.losses.merge(report.losses);
  std::int64_t matched = 0;
  std::int64_t unmatched = 0;
  std::int64_t similar = 0;
  std::int64_t contradicting = 0;
  count_foreign_rows(report, match_best_step(a.trace, a.links, report), a.losses);
  for (std::size_t step = 0; step < a.links.steps.size(); ++step) {
    const StepMatch match = match_step(a.trace, a.links, report, step);
    for (std::size_t k = 0; k < match.kernels.size(); ++k) {
      const auto rows = match.rows.of(k);
      if (rows.empty()) {
        ++unmatched;
        continue;
      }
      WorkCounters& counters = a.counters[match.kernels[k].activity];
      replace_counters(mean_counters(report, rows), counters);
      contradicting += put_in_order({counters.smsp_elapsed_cycles, counters.smsp_active_cycles,
                                     counters.smsp_issue_cycles, counters.tc_active_cycles,
                                     counters.tc_issue_cycles});
      ++matched;
      similar += match.kernels[k].quality != MatchQuality::exact;
    }
  }
  if (matched == 0) {
    throw InputError(path, "", "no kernel of the trace", "a report of the same workload");
  }
  a.losses.add(
      "counters_not_measured", Severity::info,
      "kernels of the steps that the counter report does not hold; the kernel model stands "
      "in for them",
      unmatched);
  count_contradicting(contradicting, a.losses);
  if (similar > 0) {
    a.losses.add("counters_of_similar_kernels", Severity::warning,
                 "kernels whose counters are of launches with another grid, block, registers, "
                 "shared memory or template arguments (another batch, precision or version?)",
                 similar);
  }
}

}  // namespace tandem
