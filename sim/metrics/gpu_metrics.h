// Counters of the work of a step -> the GPU-level metrics of the step (thesis table 4.1, DCGM).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/kernel/kernel_family.h"
#include "sim/core/kernel/kernel_limits.h"
#include "sim/core/time.h"

namespace tandem {

/// What one piece of device work costs on the GPU, from the kernel model or from measured counters.
/// Sums over the device, as Nsight Compute's `.sum`.
struct WorkCounters {
  KernelFamily family = KernelFamily::generic;
  bool modelled = false;  // false: a generic guess
  double confidence = 0;  // 0..1
  bool clamped = false;   // the model counted more than the GPU can do in the time
  double time_us = 0;
  double clock_mhz = 0;              // of SMs while it runs; 0: the GPU's
  double theoretical_occupancy = 0;  // resident warps the launch allows / maximum
  double waves = 0;                  // grid / blocks that the GPU holds at once
  double energy_j = 0;               // dynamic: above idle
  double smsp_elapsed_cycles = 0;
  double smsp_active_cycles = 0;
  double smsp_issue_cycles = 0;
  double tc_active_cycles = 0;
  double tc_issue_cycles = 0;
  double warp_active_cycles = 0;
  double l1_bytes = 0;
  double l2_bytes = 0;
  double dram_read_bytes = 0;
  double dram_write_bytes = 0;
  double shared_bytes = 0;
  double flops = 0;            // of products, convolutions and attention, by their formulas
  double peak_tflops = 0;      // of the arithmetic of its products; 0: it has none
  bool flops_unknown = false;  // a product whose shapes are not known
  std::optional<Shortfall> product_limit;  // why its tensor cores idle, as far as the kernel tells
  std::optional<Bound> bound;  // by the model of the kernel's time; nothing: it says nothing
  std::string_view bound_law;  // of that model, as a report writes it; static
};

/// Counters of a kernel that only waits and moves data, had it lasted `time_us`: its cycles go with
/// its time, its traffic stays.
WorkCounters lasting(WorkCounters counters, double time_us);

/// The numbers of the GPU that turn counters into shares of time.
struct GpuScale {
  double sm_count = 0;
  double smsp_per_sm = 0;
  double max_warps_per_sm = 0;
  double clock_mhz = 0;  // highest
  double dram_peak_gbps = 0;
  double l2_peak_gbps = 0;
  double kernel_floor_us = 0;  // kernel to kernel, of kernels that do nothing
};

/// Metrics over one span of time. Ratios 0..1.
struct GpuMetrics {
  double smsp_elapsed_cycles = 0;
  double smsp_active_cycles = 0;
  double smsp_issue_cycles = 0;
  double tc_active_cycles = 0;
  double tc_issue_cycles = 0;
  double smsp_active_utilization = 0;
  double smsp_issue_utilization = 0;
  double tc_active_utilization = 0;
  double tc_issue_utilization = 0;
  double smact = 0;
  double smocc = 0;
  double tenso = 0;
  double drama = 0;
  double dram_read_bytes = 0;
  double dram_write_bytes = 0;
  double l2_bytes = 0;
  double l1_bytes = 0;
  double shared_bytes = 0;
  double coverage = 0;  // share of kernel time in families with a model
  double flops = 0;
  double tflops = 0;          // flops / span
  double mfu = 0;             // time that the products take at the peak of their type / span
  double roofline_share = 0;  // least time at the peaks of arithmetic and of DRAM / span
  double intensity = 0;       // flops / DRAM bytes
  double flops_coverage = 0;  // share of kernel time without products of unknown shapes
};

/// The span that the elapsed cycles of the works fill on the GPU, each at its clock: kernel time as
/// Nsight Compute counts it, its window around each kernel included.
double elapsed_us(std::span<const WorkCounters> works, const GpuScale& gpu);

/// Counters summed and divided by the SMSP cycles that `span_us` holds: of works at their clock, of
/// the rest at the GPU's.
GpuMetrics gpu_metrics(std::span<const WorkCounters> works, const GpuScale& gpu, double span_us);

struct GpuMetricInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  double GpuMetrics::*member;
};
std::span<const GpuMetricInfo> gpu_metric_infos();

/// Power of the board from `time_us` on until the next sample.
struct BoardPower {
  double time_us = 0;
  double power_w = 0;
};

/// DCGM's metrics while one piece of work runs (EuroMLSys'23 section 3.2.1); shares of the device.
struct DcgmShares {
  double smact = 0;
  double smocc = 0;
  double tenso = 0;
  double drama = 0;
  double smsp_active = 0;
  double smsp_issue = 0;
};
DcgmShares dcgm_shares(const WorkCounters& work, const GpuScale& gpu);

/// What one kernel uses of the GPU while it runs; ratios 0..1.
struct KernelUse {
  double achieved_occupancy = 0;  // of the SMs that hold a block
  double smsp_active_utilization = 0;
  double smsp_issue_utilization = 0;
  double tc_active_utilization = 0;
  double tc_issue_utilization = 0;
  double dram_utilization = 0;  // of the peak rate
  double l2_utilization = 0;
  /// What the model of the kernel's time says. Where it says nothing, by use: launch: not twice as
  /// long as an empty kernel; compute or memory: issue slots or tensor cores, L2 or DRAM are used
  /// to half or more of what they can; else latency.
  Bound bound = Bound::latency;
  std::string_view bound_law;  // a TimeLaw that states a bound, or "use"
  double tflops = 0;
  double mfu = 0;             // of the peak of its type
  double roofline_share = 0;  // least time at the peaks of arithmetic and of DRAM / time
  double intensity = 0;       // flops / DRAM bytes
  Shortfall reason = Shortfall::latency;
};
KernelUse kernel_use(const WorkCounters& work, const GpuScale& gpu);

/// Counters of one kernel family.
struct FamilyShare {
  KernelFamily family = KernelFamily::generic;
  bool modelled = false;
  std::int64_t count = 0;
  double time_us = 0;
  double share = 0;     // of kernel time
  double energy_j = 0;  // dynamic
  GpuMetrics metrics;   // over the family's own elapsed cycles
};
/// `times_us`: how long each work lasts in the step, beside those of other streams; what counters
/// are of is the kernel's own time.
std::vector<FamilyShare> family_shares(std::span<const WorkCounters> works,
                                       std::span<const double> times_us, const GpuScale& gpu);

/// Kernel time whose issue-slot (or tensor-issue) utilization lies in [from, to): thesis figures
/// 4.7-4.9. `bins` equal bins from 0 to 1.
struct UtilizationBin {
  double from = 0;
  double to = 0;
  std::int64_t kernels = 0;
  double time_us = 0;
};
enum class BinnedUtilization : std::uint8_t { smsp_active, smsp_issue, tc_active, tc_issue };
std::vector<UtilizationBin> utilization_bins(std::span<const WorkCounters> works,
                                             BinnedUtilization which, std::size_t bins);

}  // namespace tandem
