#include "sim/counters/counted_gpu.h"

#include <cmath>
#include <initializer_list>

#include "sim/core/units.h"

namespace tandem {

namespace {

/// The rate of L2 is one that a program reached, not the most that there is.
constexpr double above_measured = 2;

/// The longest that the kernel can have lasted; `absent` if the report does not tell.
double longest_ns(const CounterReport& report, std::size_t row, const CountedGpu& gpu) {
  const double ns = report.value(Counter::duration_ns, row);
  if (!std::isnan(ns)) return ns;
  const double smsps = smsps_per_sm * gpu.sm_count;
  if (smsps <= 0 || gpu.slowest_clock_ghz <= 0) return absent;
  return report.value(Counter::smsp_elapsed_cycles, row) / smsps / gpu.slowest_clock_ghz;
}

/// Forgets `counters`, sectors of which all together are more than `most`.
std::int64_t drop_above(double most, std::initializer_list<Counter> counters, std::size_t row,
                        CounterReport& report) {
  double sum = 0;
  for (const Counter counter : counters) {
    const double value = report.value(counter, row);
    sum += std::isnan(value) ? 0 : value;
  }
  if (!(sum > most)) return 0;
  std::int64_t dropped = 0;
  for (const Counter counter : counters) {
    double& value = report.values[static_cast<std::size_t>(counter)][row];
    dropped += !std::isnan(value);
    value = absent;
  }
  return dropped;
}

}  // namespace

std::int64_t rows_of_another_gpu(const CounterReport& report, const CountedGpu& gpu) {
  std::int64_t rows = 0;
  for (std::size_t row = 0; row < report.size(); ++row) {
    const double sms = report.value(Counter::sm_count, row);
    const std::int16_t capability = report.capability[row];
    rows += (gpu.sm_count > 0 && !std::isnan(sms) && sms != gpu.sm_count) ||
            (gpu.capability > 0 && capability >= 0 && capability != gpu.capability);
  }
  return rows;
}

void hold_against(const CountedGpu& gpu, CounterReport& report) {
  report.losses.add("counters_of_another_gpu", Severity::warning,
                    "rows of the counter report that name another number of SMs or another compute "
                    "capability than the traced GPU has",
                    rows_of_another_gpu(report, gpu));
  std::int64_t dropped = 0;
  for (std::size_t row = 0; row < report.size(); ++row) {
    const double sectors_per_gbps = longest_ns(report, row, gpu) / sector_bytes;
    if (gpu.dram_gbps > 0) {
      dropped += drop_above(most_excess * gpu.dram_gbps * sectors_per_gbps,
                            {Counter::dram_read_sectors, Counter::dram_write_sectors}, row, report);
    }
    if (gpu.l2_gbps <= 0) continue;
    for (const Counter counter : {Counter::l2_sectors, Counter::l2_tex_sectors}) {
      dropped +=
          drop_above(above_measured * gpu.l2_gbps * sectors_per_gbps, {counter}, row, report);
    }
  }
  count_impossible(dropped, report.losses);
}

}  // namespace tandem
