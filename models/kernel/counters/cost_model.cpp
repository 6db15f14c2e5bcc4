#include "models/kernel/counters/cost_model.h"

#include <algorithm>
#include <cmath>

#include "models/kernel/counters/cost_terms.h"
#include "models/kernel/kinds.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

bool needs_shapes(const KernelLaunch& launch) {
  const bool matrix = launch.family == KernelFamily::gemm ||
                      launch.family == KernelFamily::convolution ||
                      launch.family == KernelFamily::attention;
  return matrix && launch.traits.tile_m > 0 && launch.work.matrix.batch == 0 &&
         launch.work.elements == 0;
}

// Its kind was measured, its size is not known, and the grid does not tell it.
bool only_rates_known(const CostInput& in) {
  if (needs_shapes(in.launch)) return true;
  return in.row != nullptr && in.row->rate_issue > 0 && !in.launch.work.exact &&
         !geometry_tells(in);
}

KernelCost cost_of_work(const CostInput& in, double count) {
  KernelCost cost;
  cost.smsp_issue_cycles = std::max(count, 0.0) * in.constants.general().issue_per_instruction;
  add_tensor_work(in, cost);
  add_traffic(in, cost);
  return cost;
}

double confidence_of(const CostInput& in, bool by_rate) {
  constexpr double from_geometry = 0.5, from_kind = 0.25, from_other_kinds = 0.1;
  if (in.launch.traits.kind == Kind::unknown) return 0;
  const bool measured = in.row != nullptr && in.row->origin != assumed_origin;
  if (by_rate) return measured ? from_kind : from_other_kinds;
  constexpr double loose = 0.3;  // e.g. generated kernels: their arithmetic is not known
  return in.launch.work.exact && in.row->error <= loose ? 1.0 : from_geometry;
}

// Kinds that were not measured do what the measured ones of the same engine do in the median.
ActiveRates active_rates(const CostInput& in) {
  if (in.row != nullptr && in.row->rate_issue > 0) {
    const CostRow& r = *in.row;
    return {r.rate_issue,  r.rate_tensor,     r.rate_l1,         r.rate_l2,
            r.rate_shared, r.rate_dram_reads, r.rate_dram_writes};
  }
  const GeneralCosts& general = in.constants.general();
  const Engine engine = in.launch.traits.engine;
  ActiveRates rates;
  rates.issue = engine == Engine::simt ? general.unknown_issue_simt : general.unknown_issue;
  rates.tensor = engine == Engine::gmma   ? general.unknown_tensor_gmma
                 : engine == Engine::hmma ? general.unknown_tensor_hmma
                                          : 0;
  rates.dram_reads = general.unknown_dram;
  return rates;
}

// Of products whose size is not known: warp groups use more of the tensor cores the longer they
// last.
double tensor_rate(const GeneralCosts& general, const TimelessCost& t, double time_us) {
  if (!t.lasting) return t.rates.tensor;
  return std::min(1.0, t.rates.tensor * time_us / (time_us + general.tensor_half_us));
}

// What kernels use whose size is not known: they do it as long as they are active.
void add_rates(const GpuArch& gpu, const GeneralCosts& general, const TimelessCost& t,
               KernelCost& cost) {
  const double active = cost.smsp_active_cycles;
  if (t.issue_by_rate) cost.smsp_issue_cycles = t.rates.issue * active;
  if (!t.traffic_by_rate) return;
  const double readable = gpu.dram_read_gbps * 1e3 * cost.time_us / sector_bytes;
  cost.dram_read_sectors = t.rates.dram_reads * readable;
  cost.dram_write_sectors = t.rates.dram_writes * readable;
  cost.l2_sectors = std::max(t.rates.l2 * active, cost.dram_read_sectors);
  cost.l1_sectors = t.rates.l1 * active;
  cost.shared_wavefronts = t.rates.shared * active;
  if (t.cycles_per_tensor <= 0) return;
  cost.tc_active_cycles = tensor_rate(general, t, cost.time_us) * active;
  cost.tc_issue_cycles = cost.tc_active_cycles / t.cycles_per_tensor;
}

// Tensor cores draw so much that the SM clock falls while they multiply, at once and the further
// the busier they are; tensor_clock_mhz is that of kernels that keep them busy half of the time.
// The other half takes no larger a share of the clock than the first did, so that the line that was
// fitted to small losses cannot reach zero for large ones. That was counted on GPUs with warp-group
// instructions only; others are taken to keep the highest.
double clock_of(const GpuArch& gpu, const GeneralCosts& general, const TimelessCost& t,
                double time_us) {
  constexpr double half = 0.5;
  const bool counted = gpu.tensor_family == TensorFamily::gmma;
  const double lost = counted ? std::max(0.0, gpu.boost_clock_mhz - gpu.tensor_clock_mhz) : 0;
  const double other_half =
      std::min(half * general.tensor_clock_slope, gpu.tensor_clock_mhz / gpu.boost_clock_mhz);
  const double cycles = time_us * gpu.tensor_clock_mhz * smsp_count(gpu);
  const bool by_rate = t.traffic_by_rate && t.cycles_per_tensor > 0;
  const double share = by_rate      ? tensor_rate(general, t, time_us)
                       : cycles > 0 ? std::min(1.0, t.multiplying_cycles / cycles)
                                    : 0;
  const double lowered = std::min(1.0, share / general.tensor_clock_from);
  const double more = 1 + general.tensor_clock_slope * (share - half);
  return gpu.boost_clock_mhz - std::min(lost * (1 + other_half), lost * lowered * more);
}

// Fills what scales with time: cycles, achieved occupancy, clamps.
KernelCost at_time(const GpuArch& gpu, const GeneralCosts& general, const TimelessCost& t,
                   double time_us) {
  KernelCost cost = t.work;
  cost.time_us = time_us;
  cost.clock_mhz = clock_of(gpu, general, t, time_us);
  const double cycles = time_us * cost.clock_mhz;
  const double smsps = smsp_count(gpu);
  cost.smsp_elapsed_cycles = cycles * smsps;
  const double active = std::max(general.minimum_active_cycles, cycles - general.launch_cycles);
  cost.smsp_active_cycles = smsps * t.share * std::min(active, cycles);
  add_rates(gpu, general, t, cost);
  cut_to_active(cost);
  // Instructions wait for each other and for memory: no kernel was seen to issue in every slot.
  cost.smsp_issue_cycles =
      std::min(cost.smsp_issue_cycles, t.most_issue * cost.smsp_elapsed_cycles);
  const double achieved = t.matrix ? general.occupancy_share_matrix : general.occupancy_share;
  // No warp of a grid is resident for longer than its kernel runs: where few SMs hold one block
  // more than others, not all hold as many as those.
  cost.warp_active_cycles = std::min(cost.smsp_active_cycles / gpu.smsp_per_sm * t.warps * achieved,
                                     t.all_warps * cycles);
  clamp_traffic(gpu, cost);
  return cost;
}

// Warps on an SM that holds any.
int resident_warps(const CostInput& in) {
  const std::int64_t blocks = blocks_of(in.launch.geometry);
  const std::int64_t an_sm = (blocks + in.gpu.sm_count - 1) / in.gpu.sm_count;
  return static_cast<int>(std::min<std::int64_t>(an_sm, in.occupancy.blocks_per_sm)) *
         warps_per_block(in.launch.geometry);
}

// Small and narrow tiles bring fewer multiply-adds for what they load.
double tile_share(const GeneralCosts& general, const KernelTraits& t) {
  constexpr double large = 128;
  if (t.tile_m <= 0 || t.tile_n <= 0) return 1;
  const double side = 2.0 * t.tile_m * t.tile_n / (t.tile_m + t.tile_n);
  return std::min(1.0, std::pow(side / large, general.tensor_tile_exponent));
}

TimelessCost timeless_cost(const CostInput& in) {
  const double count = instructions(in);
  const GeneralCosts& general = in.constants.general();
  TimelessCost t;
  t.traffic_by_rate = only_rates_known(in);
  t.issue_by_rate = t.traffic_by_rate || count < 0;
  t.work = cost_of_work(in, count);
  t.work.confidence = confidence_of(in, t.issue_by_rate);
  t.rates = active_rates(in);
  t.lasting = in.launch.family == KernelFamily::gemm && in.launch.traits.engine == Engine::gmma;
  if (t.lasting) t.rates.tensor *= general.tensor_lasting * tile_share(general, in.launch.traits);
  t.share = resident_share(in);
  t.warps = resident_warps(in);
  t.all_warps =
      static_cast<double>(blocks_of(in.launch.geometry)) * warps_per_block(in.launch.geometry);
  t.matrix = is_matrix(in);
  const bool simt = t.matrix && in.launch.traits.engine == Engine::simt;
  t.most_issue = simt ? general.most_issue_simt : general.most_issue;
  t.cycles_per_tensor = tensor_instruction_cycles(in);
  t.multiplying_cycles = in.features.multiplies * t.cycles_per_tensor;
  return t;
}

// Copies occupy no SM; their bytes are not known to the launch.
KernelCost transfer_cost(const GpuArch& gpu, double time_us) {
  KernelCost cost;
  cost.time_us = time_us;
  cost.clock_mhz = gpu.boost_clock_mhz;
  cost.smsp_elapsed_cycles = time_us * gpu.boost_clock_mhz * smsp_count(gpu);
  cost.confidence = 1;
  return cost;
}

}  // namespace

CostInput make_input(const GpuArch& gpu, const KernelLaunch& launch,
                     const CostConstants& constants) {
  CostInput in{gpu,    launch, constants, kernel_features(launch), occupancy(gpu, launch.geometry),
               nullptr};
  in.row = constants.row(launch.traits, launch.math);
  return in;
}

KernelCost kernel_cost(const GpuArch& gpu, const KernelLaunch& launch,
                       const CostConstants& constants, double time_us) {
  const double time = time_us > 0 ? time_us : launch.duration_us;
  if (launch.family == KernelFamily::transfer) return transfer_cost(gpu, time);
  const CostInput in = make_input(gpu, launch, constants);
  return at_time(gpu, constants.general(), timeless_cost(in), time);
}

KernelCost CostCache::cost(std::uint32_t shape, const KernelLaunch& launch) {
  if (launch.family == KernelFamily::transfer) return transfer_cost(gpu_, launch.duration_us);
  if (shape >= entries_.size()) entries_.resize(shape + 1);
  TimelessCost& entry = entries_[shape];
  if (entry.share < 0) entry = timeless_cost(make_input(gpu_, launch, constants_));
  return at_time(gpu_, constants_.general(), entry, launch.duration_us);
}

}  // namespace tandem
