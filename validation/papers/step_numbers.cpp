#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/units.h"
#include "sim/predict/stages/kernel_counters.h"
#include "sim/sweep/metrics.h"
#include "validation/papers/numbers.h"

namespace tandem {

namespace {

void add_result(const Result& result, Numbers& out) {
  for (const SweepMetric& m : sweep_metrics()) {
    out[std::string(m.name)] = {m.value(result), std::string(m.unit)};
  }
  if (result.scenario.batch) {
    const auto batch = static_cast<double>(*result.scenario.batch);
    out["batch"] = {batch, "count"};
    // The host of a step without a runtime that queues is another one (thesis chapter 3).
    if (result.runtime) out["runtime_item_us"] = {result.step.isolated_time_us / batch, "us"};
  }
  if (!result.energy) return;
  for (const EnergyInfo& info : energy_infos()) {
    out[std::string(info.name)] = {(*result.energy).*info.member, std::string(info.unit)};
  }
  out["dynamic_j"] = {result.energy->energy_j - result.energy->static_j, "J"};
}

void add_memory(const Result& result, const GpuArch& gpu, Numbers& out) {
  const auto capacity = static_cast<double>(gpu.memory_bytes);
  out["memory_capacity_bytes"] = {capacity, "B"};
  if (!result.memory) return;
  out["memory_share"] = {result.memory->peak_bytes / capacity, "ratio"};
  out["largest_batch"] = {static_cast<double>(result.memory->largest_batch), "count"};
}

/// Thesis equation 5.3 with the energies per access as they were calibrated: constants of the A100
/// are those of section 5.6.3, at the clock at which its applications ran too (section 5.5.2.4).
void add_movement(const Prediction& p, const AccessEnergies& access, Numbers& out) {
  MemoryAccesses sum;
  for (const DeviceWork& work : p.step.plan.works) {
    const WorkCounters& c = p.step_counters[work.source];
    sum += accesses_served(c.l1_bytes / sector_bytes, c.l2_bytes / sector_bytes,
                           (c.dram_read_bytes + c.dram_write_bytes) / sector_bytes,
                           c.shared_bytes / wavefront_bytes);
  }
  const DataMovement m = data_movement_lower_bound(access, sum);
  out["movement_j"] = {m.total_j, "J"};
  out["movement_dram_j"] = {m.dram_j, "J"};
  out["movement_l2_j"] = {m.l2_j, "J"};
  out["movement_l1_j"] = {m.l1_j, "J"};
  out["movement_shared_j"] = {m.shared_j, "J"};
}

/// Shares of the kernels' time by how often they issue tensor-core instructions (thesis figure
/// 4.9), and the busiest kernel (figure 4.7). Every kernel counts, however short.
void add_kernels(const Prediction& p, const GpuScale& scale, Numbers& out) {
  struct Bound {
    std::string_view name;
    double below = 0;
  };
  constexpr std::array<Bound, 2> bounds{
      {{"tc_issue_below_2_time_share", 0.02}, {"tc_issue_below_12_time_share", 0.12}}};
  constexpr double busy = 0.6;  // thesis section 4.5.2
  double all_us = 0, without_us = 0, most_issue = 0, most_tc = 0, least_issue = 1;
  double kernels = 0, above = 0, above_us = 0;
  std::array<double, bounds.size()> below_us{};
  for (const DeviceWork& work : p.step.plan.works) {
    if (p.step.trace.activities.kind[work.source] != ActivityKind::kernel) continue;
    const WorkCounters& c = p.step_counters[work.source];
    const KernelUse use = kernel_use(c, scale);
    ++kernels;
    all_us += c.time_us;
    if (c.tc_issue_cycles <= 0) without_us += c.time_us;
    most_issue = std::max(most_issue, use.smsp_issue_utilization);
    least_issue = std::min(least_issue, use.smsp_issue_utilization);
    most_tc = std::max(most_tc, use.tc_issue_utilization);
    above += use.smsp_issue_utilization > busy ? 1 : 0;
    above_us += use.smsp_issue_utilization > busy ? c.time_us : 0;
    for (std::size_t b = 0; b < bounds.size(); ++b) {
      if (use.tc_issue_utilization < bounds[b].below) below_us[b] += c.time_us;
    }
  }
  if (!(all_us > 0)) return;
  out.try_emplace("gpu_kernel_mean_us", Number{all_us / kernels, "us"});
  out["kernel_smsp_issue_most"] = {most_issue, "ratio"};
  out["kernel_smsp_issue_least"] = {least_issue, "ratio"};
  out["kernel_tc_issue_most"] = {most_tc, "ratio"};
  out["kernels_issue_above_60_share"] = {above / kernels, "ratio"};
  out["issue_above_60_time_share"] = {above_us / all_us, "ratio"};
  out["tc_free_time_share"] = {without_us / all_us, "ratio"};
  for (std::size_t b = 0; b < bounds.size(); ++b) {
    out[std::string(bounds[b].name)] = {below_us[b] / all_us, "ratio"};
  }
}

/// The levels as the thesis joins its two traces (table 4.1, section 4.3.3): Nsight Compute counts
/// kernels alone, and the share of their cycles is one of the time in which the GPU has any event,
/// copies of the input among them.
void add_profiled(const Prediction& p, const GpuScale& scale, Numbers& out) {
  if (!p.result.gpu_step) return;
  std::vector<WorkCounters> kernels;
  for (const DeviceWork& work : p.step.plan.works) {
    if (p.step.trace.activities.kind[work.source] != ActivityKind::kernel) continue;
    kernels.push_back(p.step_counters[work.source]);
  }
  const double elapsed = elapsed_us(kernels, scale);
  if (!(elapsed > 0)) return;
  const GpuMetrics m = gpu_metrics(kernels, scale, elapsed);
  const double busy = p.result.step.gpu_utilization;
  out["profiled_smsp_active"] = {busy * m.smsp_active_utilization, "ratio"};
  out["profiled_smsp_issue"] = {busy * m.smsp_issue_utilization, "ratio"};
  out["profiled_tc_active"] = {busy * m.tc_active_utilization, "ratio"};
  out["profiled_tc_issue"] = {busy * m.tc_issue_utilization, "ratio"};
}

void add_gpu_metrics(const GpuMetrics& metrics, const std::string& prefix, Numbers& out) {
  for (const GpuMetricInfo& info : gpu_metric_infos()) {
    out[prefix + std::string(info.name)] = {metrics.*info.member, std::string(info.unit)};
  }
}

}  // namespace

Numbers step_numbers(const Prediction& p, const std::optional<AccessEnergies>& access) {
  Numbers out;
  add_result(p.result, out);
  for (const TimeShare& layer : p.result.layers) {
    out["layer." + layer.name + ".share"] = {layer.share, "ratio"};
    if (layer.levels) add_gpu_metrics(layer.levels->metrics, "layer." + layer.name + ".", out);
  }
  if (!p.target) return out;
  add_memory(p.result, *p.target, out);
  add_kernels(p, gpu_scale(*p.target), out);
  add_profiled(p, gpu_scale(*p.target), out);
  if (p.result.gpu_kernel_time) add_gpu_metrics(*p.result.gpu_kernel_time, "kernel_time.", out);
  if (access) add_movement(p, *access, out);
  return out;
}

}  // namespace tandem
