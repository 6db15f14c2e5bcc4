#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/report/html/result_sections.h"

namespace tandem::html {

namespace {

constexpr std::size_t most_points = 7;

/// The lower of both limits at `intensity` instructions per byte.
double roof(const GpuScale& gpu, double intensity) {
  const double issue_per_ns = gpu.sm_count * gpu.smsp_per_sm * gpu.clock_mhz * 1e-3;
  return std::min(issue_per_ns, intensity * gpu.dram_peak_gbps);
}

XySeries roof_line(const GpuScale& gpu, double low, double high) {
  XySeries line{"what the GPU can do", {}, true, true};
  const double knee = roof(gpu, 1e30) / gpu.dram_peak_gbps;
  for (const double x : {std::min(low, knee / 4), knee, std::max(high, knee * 4)}) {
    line.points.push_back({x, roof(gpu, x), "limit: DRAM, then issue slots"});
  }
  return line;
}

/// DRAM up to each peak that the operations' arithmetic has, a roof each.
void add_flop_roofs(const GpuScale& gpu, const std::set<double>& peaks, double low, double high,
                    XyChart& chart) {
  for (const double tflops : peaks) {
    const double knee = tflops * 1e3 / gpu.dram_peak_gbps;  // FLOP a byte
    XySeries line{fmt::format("limit at {:.0f} TFLOP/s", tflops), {}, true, true};
    for (const double x : {std::min(low, knee / 4), knee, std::max(high, knee * 4)}) {
      line.points.push_back({x, std::min(tflops, x * gpu.dram_peak_gbps * 1e-3), line.name});
    }
    chart.series.push_back(std::move(line));
  }
}

}  // namespace

XyChart flop_roofline(const Result& result, const GpuScale& gpu) {
  XyChart chart;
  chart.title = "Roofline: FLOPs over DRAM traffic";
  chart.x_axis = "FLOP per byte of DRAM";
  chart.y_axis = "TFLOP/s";
  chart.log_x = chart.log_y = true;
  if (gpu.dram_peak_gbps <= 0) return chart;
  double low = 1e30;
  double high = 0;
  std::set<double> peaks;
  for (const TimeShare& op : result.ops) {
    if (!op.levels || chart.series.size() == most_points) continue;
    const GpuMetrics& m = op.levels->metrics;
    if (m.tflops <= 0 || m.mfu <= 0 || m.intensity <= 0) continue;
    peaks.insert(std::round(m.tflops / m.mfu));
    low = std::min(low, m.intensity);
    high = std::max(high, m.intensity);
    chart.series.push_back({op.name,
                            {{m.intensity, m.tflops,
                              fmt::format("{}: {:.0f} % of the device time, MFU {:.0f} %", op.name,
                                          100 * op.share, 100 * m.mfu)}},
                            false});
  }
  if (!chart.series.empty()) add_flop_roofs(gpu, peaks, low, high, chart);
  return chart;
}

XyChart instruction_roofline(const Result& result, const GpuScale& gpu) {
  XyChart chart;
  chart.title = "Roofline: instructions over DRAM traffic";
  chart.x_axis = "warp instructions per byte of DRAM";
  chart.y_axis = "warp instructions per ns";
  chart.log_x = chart.log_y = true;
  if (gpu.dram_peak_gbps <= 0 || gpu.sm_count <= 0) return chart;
  double low = 1e30;
  double high = 0;
  for (const FamilyShare& f : result.families) {
    if (f.family == KernelFamily::collective || f.family == KernelFamily::transfer) continue;
    const double bytes = f.metrics.dram_read_bytes + f.metrics.dram_write_bytes;
    const double issued = f.metrics.smsp_issue_cycles;  // one instruction a cycle
    if (bytes <= 0 || issued <= 0 || f.time_us <= 0) continue;
    if (chart.series.size() == most_points) break;
    const double x = issued / bytes;
    low = std::min(low, x);
    high = std::max(high, x);
    const std::string name(to_string(f.family));
    chart.series.push_back({name,
                            {{x, issued / (f.time_us * 1e3),
                              fmt::format("{}: {:.0f} % of kernel time", name, 100 * f.share)}},
                            false});
  }
  if (!chart.series.empty()) chart.series.push_back(roof_line(gpu, low, high));
  return chart;
}

}  // namespace tandem::html
