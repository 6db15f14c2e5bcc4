#include "models/energy/energy_work.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "models/kernel/counters/cost_model.h"
#include "models/kernel/work/features.h"
#include "sim/core/copy_direction.h"
#include "sim/core/units.h"

namespace tandem {

namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;
constexpr double fma_flop = 64;  // of a warp instruction

bool uses_tensor_cores(Engine engine) { return engine == Engine::hmma || engine == Engine::gmma; }

/// Bytes of one operand of the arithmetic; 4 where it is not known.
int operand_bytes(const KernelLaunch& launch) {
  const int bytes = element_bytes(launch.math);
  return bytes > 0 && launch.math != DataType::int64 ? bytes : 4;
}

/// Peak of the unit that the kernel multiplies with, FLOP/s.
double peak_flops(const KernelLaunch& launch, const GpuArch& gpu) {
  if (!uses_tensor_cores(launch.traits.engine)) {
    return fp32_peak_tflops(gpu, gpu.boost_clock_mhz) * tera;
  }
  const double clock = gpu.tensor_clock_mhz;
  const double peak = tensor_peak_tflops(gpu, math_type(launch.math), clock);
  // A trace of another GPU may name a type that this one has no tensor cores for.
  return (peak > 0 ? peak : tensor_peak_tflops(gpu, MathType::fp16, clock)) * tera;
}

const TypicalRate* find_rate(const WorkRules& rules, const RateClass& of) {
  for (const TypicalRate& rate : rules.rates) {
    if (rate.of == of) return &rate;
  }
  return nullptr;
}

bool multiplies(const KernelLaunch& launch) {
  return launch.traits.engine != Engine::none && !is_helper(launch.traits);
}

/// Of a kernel whose sizes are not known.
StatedWork typical_work(const KernelLaunch& launch, const KernelCost& cost, const GpuArch& gpu,
                        const WorkRules& rules, double shared_us) {
  const StatedWork peak = peak_work(launch, gpu, rules, shared_us);
  const TypicalRate* rate = find_rate(rules, rate_class(launch));
  StatedWork work{rules.other_dram_share * peak.dram_bytes, rules.other_flop_share * peak.flop};
  if (rate != nullptr) work = {rate->dram_share * peak.dram_bytes, rate->flop_share * peak.flop};
  // Products last as long as their sizes ask for, and the longer, the more they multiply.
  const bool product = launch.family == KernelFamily::gemm && multiplies(launch) &&
                       uses_tensor_cores(launch.traits.engine);
  if (product && cost.tc_issue_cycles > 0) {
    work.flop = 2 * cost.tc_issue_cycles * macs_per_instruction(launch.traits, usual_mma_columns);
  }
  return work;
}

/// A kernel of many tensors: its grid counts chunks, the operation's shapes are those of one
/// tensor.
bool states_chunks(const KernelLaunch& launch) {
  return row_of(launch.traits).loop == Loop::chunks;
}

/// Bytes of a copy inside the device count twice: read and written.
double transfer_bytes(std::string_view name, double bytes) {
  return copy_direction(name) == CopyDirection::on_device ? 2 * bytes : bytes;
}

}  // namespace

double dram_bytes(double bytes, const GpuArch& gpu, const WorkRules& rules, double us) {
  // Small operands are still in L2 from the kernel before; large ones come from DRAM.
  const double moved = std::min(bytes, gpu.dram_read_gbps * giga * us * micro);
  const double cached = rules.cached_share * static_cast<double>(gpu.l2_bytes);
  return moved > 0 ? moved * moved / (moved + cached) : 0;
}

RateClass rate_class(const KernelLaunch& launch) {
  if (is_helper(launch.traits)) return {KernelFamily::gemm, false, true, 32};
  return {launch.family, uses_tensor_cores(launch.traits.engine), false,
          operand_bytes(launch) == 2 ? 16 : 32};
}

double sm_share(const KernelLaunch& launch, const GpuArch& gpu) {
  if (launch.family == KernelFamily::transfer) return 0;
  const auto& grid = launch.geometry.grid;
  return std::min(1.0, double(grid[0]) * grid[1] * grid[2] / gpu.sm_count);
}

StatedWork stated_work(const KernelLaunch& launch, const GpuArch& gpu, const WorkRules& rules,
                       double shared_us) {
  const double bytes = launch.work.read_bytes + launch.work.write_bytes;
  StatedWork work{dram_bytes(bytes, gpu, rules, shared_us), 0};
  if (!multiplies(launch)) return work;
  const MatrixProblem& p = launch.work.matrix;
  const double flop = 2.0 * double(p.batch) * double(p.m) * double(p.n) * double(p.k) *
                      products_per_multiply(launch);
  // More than the peak means that the shapes are not this kernel's: an RNN's are of all its steps.
  work.flop = std::min(flop, peak_work(launch, gpu, rules, shared_us).flop);
  return work;
}

StatedWork peak_work(const KernelLaunch& launch, const GpuArch& gpu, const WorkRules& rules,
                     double shared_us) {
  const double half = rules.half_rate_us;
  const double us = shared_us > 0 ? shared_us * shared_us / (shared_us + half) : 0;
  const double seconds = sm_share(launch, gpu) * us * micro;
  return {gpu.dram_read_gbps * giga * seconds,
          multiplies(launch) ? peak_flops(launch, gpu) * seconds : 0};
}

namespace {

/// SMs times the time that a kernel's instructions keep them awake, as if these came one by one; no
/// end where they are not counted. Of products and layers that last longer than their operands
/// explain nobody knows what the library lets them execute.
double awake_us(const KernelLaunch& launch, const KernelCost& cost, const GpuArch& gpu,
                const WorkRules& rules) {
  if (multiplies(launch) || cost.smsp_issue_cycles <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  return cost.smsp_issue_cycles * rules.awake_cycles / gpu.boost_clock_mhz;
}

}  // namespace

EnergyWork energy_work(const KernelLaunch& launch, const KernelCost& cost, const GpuArch& gpu,
                       const WorkRules& rules, double shared_us, double bytes) {
  EnergyWork out;
  out.duration_us = launch.duration_us;
  if (launch.family == KernelFamily::transfer) {
    out.dram_bytes = dram_bytes(transfer_bytes(launch.name, bytes), gpu, rules, shared_us);
    return out;
  }
  const double full_us = sm_share(launch, gpu) * std::max(0.0, shared_us - rules.launch_ramp_us);
  out.sm_active_us = std::min(full_us * gpu.sm_count, awake_us(launch, cost, gpu, rules));
  out.estimated = !launch.work.exact && !states_chunks(launch);
  StatedWork work = !launch.work.exact ? typical_work(launch, cost, gpu, rules, shared_us)
                                       : stated_work(launch, gpu, rules, shared_us);
  if (states_chunks(launch)) {
    const double sectors = cost.dram_read_sectors + cost.dram_write_sectors;
    work.dram_bytes = dram_bytes(sectors * sector_bytes, gpu, rules, shared_us);
  }
  out.dram_bytes = work.dram_bytes;
  const bool tensor = uses_tensor_cores(launch.traits.engine);
  if (launch.family == KernelFamily::convolution && !tensor && multiplies(launch)) {
    const double least = rules.simt_convolution_share * peak_flops(launch, gpu);
    work.flop = std::max(work.flop, least * full_us * micro);
  }
  if (tensor) {
    out.tensor_flop = work.flop * operand_bytes(launch) / 2.0;
  } else {
    out.fp32_flop = work.flop * operand_bytes(launch) / 4.0;
  }
  const double multiplications = cost.tc_issue_cycles + (tensor ? 0 : work.flop / fma_flop);
  out.instructions = std::max(0.0, cost.smsp_issue_cycles - multiplications);
  return out;
}

std::vector<double> time_shared(std::span<const WorkSpan> spans) {
  struct Edge {
    double time_us;
    double share;  // negative: ends
    std::size_t span;
  };
  std::vector<Edge> edges;
  edges.reserve(2 * spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    edges.push_back({spans[i].begin_us, spans[i].sm_share, i});
    edges.push_back({spans[i].begin_us + spans[i].duration_us, -spans[i].sm_share, i});
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.time_us < b.time_us; });
  // `clock` runs slower than time while the SMs are shared; a span's time is its clock difference.
  std::vector<double> shared(spans.size(), 0.0);
  std::vector<bool> open(spans.size(), false);
  double clock = 0, load = 0, now = edges.empty() ? 0 : edges.front().time_us;
  for (const Edge& edge : edges) {
    clock += (edge.time_us - now) / std::max(1.0, load);
    now = edge.time_us;
    load += edge.share;
    shared[edge.span] = open[edge.span] ? clock - shared[edge.span] : clock;
    open[edge.span] = true;
  }
  return shared;
}

}  // namespace tandem
