#include "sim/metrics/gpu_metrics.h"

#include <algorithm>
#include <array>

namespace tandem {

namespace {

constexpr std::array<GpuMetricInfo, 25> gpu_infos{{
    {"smsp_elapsed_cycles", "cycles",
     "SMSP cycles while kernels run, over all SMSPs, as Nsight Compute counts them",
     &GpuMetrics::smsp_elapsed_cycles},
    {"smsp_active_cycles", "cycles", "SMSP cycles with at least one warp resident",
     &GpuMetrics::smsp_active_cycles},
    {"smsp_issue_cycles", "cycles", "SMSP cycles in which an instruction was issued",
     &GpuMetrics::smsp_issue_cycles},
    {"tc_active_cycles", "cycles", "tensor pipe active, over all SMSPs",
     &GpuMetrics::tc_active_cycles},
    {"tc_issue_cycles", "cycles", "tensor-core warp instructions issued",
     &GpuMetrics::tc_issue_cycles},
    {"smsp_active_utilization", "ratio", "smsp_active_cycles / SMSP cycles of the span",
     &GpuMetrics::smsp_active_utilization},
    {"smsp_issue_utilization", "ratio", "smsp_issue_cycles / SMSP cycles of the span",
     &GpuMetrics::smsp_issue_utilization},
    {"tc_active_utilization", "ratio", "tc_active_cycles / SMSP cycles of the span",
     &GpuMetrics::tc_active_utilization},
    {"tc_issue_utilization", "ratio", "tc_issue_cycles / SMSP cycles of the span",
     &GpuMetrics::tc_issue_utilization},
    {"smact", "ratio", "DCGM SM active: cycles with a warp resident, mean over SMs",
     &GpuMetrics::smact},
    {"smocc", "ratio", "DCGM SM occupancy: resident warps / most warps", &GpuMetrics::smocc},
    {"tenso", "ratio", "DCGM tensor active", &GpuMetrics::tenso},
    {"drama", "ratio", "DCGM DRAM active: traffic / peak bandwidth", &GpuMetrics::drama},
    {"dram_read_bytes", "B", "read from DRAM", &GpuMetrics::dram_read_bytes},
    {"dram_write_bytes", "B", "written to DRAM", &GpuMetrics::dram_write_bytes},
    {"l2_bytes", "B", "L2 sectors x 32", &GpuMetrics::l2_bytes},
    {"l1_bytes", "B", "L1 sectors x 32", &GpuMetrics::l1_bytes},
    {"shared_bytes", "B", "shared-memory wavefronts x 128", &GpuMetrics::shared_bytes},
    {"coverage", "ratio", "share of kernel time in families that have a model",
     &GpuMetrics::coverage},
    {"flops", "FLOP",
     "of products, convolutions and attention by their formulas: two a multiply-add, whatever the "
     "algorithm; attention's backward pass five products, causal attention the lower triangle",
     &GpuMetrics::flops},
    {"tflops", "TFLOP/s", "flops / span", &GpuMetrics::tflops},
    {"mfu", "ratio",
     "model FLOPs utilization: time of the products at the dense peak of the type they are "
     "computed "
     "in, at the boost clock / span",
     &GpuMetrics::mfu},
    {"roofline_share", "ratio",
     "least time at the peaks of arithmetic and of DRAM, kernel by kernel / span",
     &GpuMetrics::roofline_share},
    {"intensity", "FLOP/B", "flops / DRAM bytes", &GpuMetrics::intensity},
    {"flops_coverage", "ratio", "share of kernel time without products of unknown shapes",
     &GpuMetrics::flops_coverage},
}};

constexpr double flop_per_us = 1e6;  // of one TFLOP/s

double product_us(const WorkCounters& work) {
  return work.peak_tflops > 0 ? work.flops / (work.peak_tflops * flop_per_us) : 0;
}

double dram_us(const WorkCounters& work, const GpuScale& gpu) {
  const double per_us = gpu.dram_peak_gbps * 1e3;
  return per_us > 0 ? (work.dram_read_bytes + work.dram_write_bytes) / per_us : 0;
}

/// The least time of a kernel by its roofline.
double roof_us(const WorkCounters& work, const GpuScale& gpu) {
  return std::max(product_us(work), dram_us(work, gpu));
}

double ratio(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
}

void add(const WorkCounters& work, GpuMetrics& m) {
  m.smsp_elapsed_cycles += work.smsp_elapsed_cycles;
  m.smsp_active_cycles += work.smsp_active_cycles;
  m.smsp_issue_cycles += work.smsp_issue_cycles;
  m.tc_active_cycles += work.tc_active_cycles;
  m.tc_issue_cycles += work.tc_issue_cycles;
  m.dram_read_bytes += work.dram_read_bytes;
  m.dram_write_bytes += work.dram_write_bytes;
  m.l2_bytes += work.l2_bytes;
  m.l1_bytes += work.l1_bytes;
  m.shared_bytes += work.shared_bytes;
}

/// Cycles of an SM that a work's clock is short of the GPU's.
double lost_cycles(const WorkCounters& work, const GpuScale& gpu) {
  return work.clock_mhz > 0 ? (gpu.clock_mhz - work.clock_mhz) * work.time_us : 0;
}

/// Shares of `span_us` from the sums that add() made; `lost` cycles of it were none.
void divide(const GpuScale& gpu, double span_us, double lost, double warp_cycles, GpuMetrics& m) {
  const double sm_cycles = gpu.sm_count * std::max(0.0, gpu.clock_mhz * span_us - lost);
  const double cycles = sm_cycles * gpu.smsp_per_sm;
  m.smsp_active_utilization = ratio(m.smsp_active_cycles, cycles);
  m.smsp_issue_utilization = ratio(m.smsp_issue_cycles, cycles);
  m.tc_active_utilization = ratio(m.tc_active_cycles, cycles);
  m.tc_issue_utilization = ratio(m.tc_issue_cycles, cycles);
  m.smact = m.smsp_active_utilization;
  m.smocc = ratio(warp_cycles, sm_cycles * gpu.max_warps_per_sm);
  m.tenso = m.tc_active_utilization;
  const double peak_bytes = gpu.dram_peak_gbps * 1e3 * span_us;
  m.drama = ratio(m.dram_read_bytes + m.dram_write_bytes, peak_bytes);
}

double utilization(const WorkCounters& work, BinnedUtilization which) {
  switch (which) {
    case BinnedUtilization::smsp_active:
      return ratio(work.smsp_active_cycles, work.smsp_elapsed_cycles);
    case BinnedUtilization::smsp_issue:
      return ratio(work.smsp_issue_cycles, work.smsp_elapsed_cycles);
    case BinnedUtilization::tc_active:
      return ratio(work.tc_active_cycles, work.smsp_elapsed_cycles);
    case BinnedUtilization::tc_issue: return ratio(work.tc_issue_cycles, work.smsp_elapsed_cycles);
  }
  return 0;
}

}  // namespace

std::span<const GpuMetricInfo> gpu_metric_infos() { return gpu_infos; }

double elapsed_us(std::span<const WorkCounters> works, const GpuScale& gpu) {
  double cycles = 0;
  for (const WorkCounters& work : works) {
    cycles += work.smsp_elapsed_cycles / (gpu.sm_count * gpu.smsp_per_sm) + lost_cycles(work, gpu);
  }
  return gpu.clock_mhz > 0 ? cycles / gpu.clock_mhz : 0;
}

WorkCounters lasting(WorkCounters counters, double time_us) {
  if (!(counters.time_us > 0)) return counters;
  const double factor = time_us / counters.time_us;
  counters.time_us = time_us;
  for (double* const cycles :
       {&counters.smsp_elapsed_cycles, &counters.smsp_active_cycles, &counters.smsp_issue_cycles,
        &counters.tc_active_cycles, &counters.tc_issue_cycles, &counters.warp_active_cycles}) {
    *cycles *= factor;
  }
  return counters;
}

GpuMetrics gpu_metrics(std::span<const WorkCounters> works, const GpuScale& gpu, double span_us) {
  GpuMetrics m;
  double warp_cycles = 0;
  double lost = 0;
  double time_us = 0;
  double modelled_us = 0;
  double unknown_us = 0;
  for (const WorkCounters& work : works) {
    add(work, m);
    warp_cycles += work.warp_active_cycles;
    lost += lost_cycles(work, gpu);
    m.flops += work.flops;
    m.mfu += product_us(work);  // microseconds until they are divided
    m.roofline_share += std::min(roof_us(work, gpu), work.time_us);
    if (work.flops_unknown) unknown_us += work.time_us;
    time_us += work.time_us;
    if (work.modelled) modelled_us += work.time_us;
  }
  divide(gpu, span_us, lost, warp_cycles, m);
  m.coverage = ratio(modelled_us, time_us);
  m.flops_coverage = ratio(time_us - unknown_us, time_us);
  m.mfu = ratio(m.mfu, span_us);
  m.roofline_share = ratio(m.roofline_share, span_us);
  m.tflops = span_us > 0 ? m.flops / (span_us * flop_per_us) : 0;
  const double bytes = m.dram_read_bytes + m.dram_write_bytes;
  m.intensity = bytes > 0 ? m.flops / bytes : 0;
  return m;
}

DcgmShares dcgm_shares(const WorkCounters& work, const GpuScale& gpu) {
  const GpuMetrics m = gpu_metrics({&work, 1}, gpu, work.time_us);
  return {m.smact, m.smocc, m.tenso, m.drama, m.smsp_active_utilization, m.smsp_issue_utilization};
}

namespace {

Bound bound_by_use(const WorkCounters& work, const KernelUse& u, const GpuScale& gpu) {
  constexpr double much = 0.5;
  const double memory = std::max(u.dram_utilization, u.l2_utilization);
  const double compute = std::max(u.smsp_issue_utilization, u.tc_active_utilization);
  return work.time_us < 2 * gpu.kernel_floor_us ? Bound::launch
         : std::max(compute, memory) < much     ? Bound::latency
         : compute > memory                     ? Bound::compute
                                                : Bound::memory;
}

Shortfall reason_of(const WorkCounters& work, const KernelUse& u, const GpuScale& gpu) {
  constexpr double busy = 0.6;  // of the tensor pipe, or of the roofline
  constexpr double few = 0.25;  // of the warps that SMs hold
  if (std::max(u.tc_active_utilization, u.roofline_share) >= busy) {
    return u.mfu >= u.dram_utilization ? Shortfall::compute : Shortfall::memory;
  }
  if (work.time_us < 2 * gpu.kernel_floor_us) return Shortfall::launch;
  if (work.product_limit) return *work.product_limit;
  if (u.bound == Bound::memory && work.flops <= 0) return Shortfall::memory;
  const bool partly = work.waves > 0 && work.waves < 1;
  if (partly || u.achieved_occupancy < few) return Shortfall::occupancy;
  return shortfall_of(u.bound);
}

}  // namespace

KernelUse kernel_use(const WorkCounters& work, const GpuScale& gpu) {
  KernelUse u;
  const double sm_active_cycles = work.smsp_active_cycles / gpu.smsp_per_sm;
  u.achieved_occupancy = ratio(work.warp_active_cycles, sm_active_cycles * gpu.max_warps_per_sm);
  u.smsp_active_utilization = ratio(work.smsp_active_cycles, work.smsp_elapsed_cycles);
  u.smsp_issue_utilization = ratio(work.smsp_issue_cycles, work.smsp_elapsed_cycles);
  u.tc_active_utilization = ratio(work.tc_active_cycles, work.smsp_elapsed_cycles);
  u.tc_issue_utilization = ratio(work.tc_issue_cycles, work.smsp_elapsed_cycles);
  u.dram_utilization =
      ratio(work.dram_read_bytes + work.dram_write_bytes, work.time_us * gpu.dram_peak_gbps * 1e3);
  u.l2_utilization = ratio(work.l2_bytes, work.time_us * gpu.l2_peak_gbps * 1e3);
  u.bound = work.bound ? *work.bound : bound_by_use(work, u, gpu);
  u.bound_law = work.bound ? work.bound_law : "use";
  u.mfu = ratio(product_us(work), work.time_us);
  u.roofline_share = ratio(roof_us(work, gpu), work.time_us);
  u.tflops = work.time_us > 0 ? work.flops / (work.time_us * flop_per_us) : 0;
  const double bytes = work.dram_read_bytes + work.dram_write_bytes;
  u.intensity = bytes > 0 ? work.flops / bytes : 0;
  u.reason = reason_of(work, u, gpu);
  return u;
}

std::vector<FamilyShare> family_shares(std::span<const WorkCounters> works,
                                       std::span<const double> times_us, const GpuScale& gpu) {
  std::vector<FamilyShare> families;
  std::vector<std::vector<WorkCounters>> members;
  double total_us = 0;
  for (std::size_t w = 0; w < works.size(); ++w) {
    const WorkCounters& work = works[w];
    total_us += times_us[w];
    auto it = std::find_if(families.begin(), families.end(),
                           [&](const FamilyShare& f) { return f.family == work.family; });
    if (it == families.end()) {
      families.push_back({work.family, work.modelled, 0, 0, 0, 0, {}});
      members.emplace_back();
      it = families.end() - 1;
    }
    ++it->count;
    it->time_us += times_us[w];
    it->energy_j += work.energy_j;
    members[static_cast<std::size_t>(it - families.begin())].push_back(work);
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    families[i].share = ratio(families[i].time_us, total_us);
    families[i].metrics = gpu_metrics(members[i], gpu, elapsed_us(members[i], gpu));
  }
  std::stable_sort(
      families.begin(), families.end(),
      [](const FamilyShare& a, const FamilyShare& b) { return a.time_us > b.time_us; });
  return families;
}

std::vector<UtilizationBin> utilization_bins(std::span<const WorkCounters> works,
                                             BinnedUtilization which, std::size_t bins) {
  std::vector<UtilizationBin> out(bins);
  const auto n = static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    out[i].from = static_cast<double>(i) / n;
    out[i].to = static_cast<double>(i + 1) / n;
  }
  for (const WorkCounters& work : works) {
    const auto bin = static_cast<std::size_t>(utilization(work, which) * n);
    UtilizationBin& at = out[std::min(bin, bins - 1)];
    ++at.kernels;
    at.time_us += work.time_us;
  }
  return out;
}

}  // namespace tandem
