#include <cmath>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "models/kernel/tiny_launch/tiny_launch.h"
#include "models/memory/cache_chase.h"
#include "models/whatif/transform.h"
#include "sim/core/field.h"
#include "validation/papers/numbers.h"
#include "validation/papers/settings.h"
#include "validation/papers/tiled_matmul.h"

namespace tandem {

namespace {

GpuArch gpu_of(const Point& scenario, const std::string& configs) {
  return find_gpu(load_catalogue(configs + "/gpus"), value_of(scenario, "gpu"));
}

std::int64_t count_of(const Point& scenario, std::string_view name) {
  return parse_count(name, value_of(scenario, name));
}

/// As tandem square.
Numbers square(const Point& scenario, const std::string& configs) {
  const GpuArch gpu = gpu_of(scenario, configs);
  const auto blocks = static_cast<std::uint32_t>(count_of(scenario, "blocks"));
  const auto threads = static_cast<std::uint32_t>(count_of(scenario, "threads"));
  const TinyLaunchCost cost =
      back_to_back(gpu, square_launch(blocks, threads), StoreTarget::same_lines,
                   load_tiny_constants(configs + "/kernels/tiny_launch.json", gpu.name));
  return {{"gract", {cost.gract, "ratio"}},
          {"smact", {cost.smact, "ratio"}},
          {"smocc", {cost.smocc, "ratio"}},
          {"period_us", {cost.period_us, "us"}}};
}

Numbers matmul(const Point& scenario, const std::string& configs) {
  const GpuArch gpu = gpu_of(scenario, configs);
  const auto energy = load_energy(configs + "/gpus/" + gpu.name + ".json");
  if (!energy) throw InputError(gpu.name, "energy", "no constants", "a GPU that has them");
  const WorkRules rules = load_work_rules(configs + "/kernels/energy.json");
  const LockedClock clock{parse_number("clock", value_of(scenario, "clock")) / gpu.boost_clock_mhz,
                          parse_number("static_w", value_of(scenario, "static_w")),
                          rules.clock_exponent};
  const auto size = static_cast<double>(count_of(scenario, "size"));
  const MatmulEnergy e = matmul_energy(gpu, energy->trace, energy->access, size, clock);
  constexpr double word_bytes = 4, matrices = 3;
  const double intensity = tiled_matmul(gpu, size).flop / (matrices * size * size * word_bytes);
  return {{"time_us", {e.time_us, "us"}},
          {"energy_j", {e.total_j, "J"}},
          {"static_j", {e.static_j, "J"}},
          {"dynamic_j", {e.total_j - e.static_j, "J"}},
          {"movement_j", {e.movement.total_j, "J"}},
          {"movement_shared_j", {e.movement.shared_j, "J"}},
          {"movement_l1_j", {e.movement.l1_j, "J"}},
          {"movement_l2_j", {e.movement.l2_j, "J"}},
          {"movement_dram_j", {e.movement.dram_j, "J"}},
          {"flop_per_byte", {intensity, "FLOP/B"}}};
}

/// Share of the lines that miss the level of the chase at each size of a range around its capacity.
std::vector<std::pair<double, double>> miss_curve(const GpuArch& gpu, const Chase& chase) {
  const ChaseCycles cycles{gpu.l1_latency_cycles, gpu.l2_latency_cycles, gpu.l2_far_latency_cycles,
                           gpu.dram_latency_cycles};
  constexpr int sizes = 50;
  constexpr double from = 0.25, to = 1.75;  // of the capacity
  const auto capacity = static_cast<double>(
      chase.through_l1 ? gpu.unified_l1_bytes : gpu.l2_bytes / std::max(1, gpu.l2_partitions));
  std::vector<std::pair<double, double>> curve;
  for (int i = 0; i <= sizes; ++i) {
    const double bytes = capacity * (from + (to - from) * i / sizes);
    const ChaseResult r = simulate_chase(gpu, chase, cycles, bytes);
    curve.emplace_back(bytes, 1 - (chase.through_l1 ? r.l1_share : r.near_share));
  }
  return curve;
}

/// First sizes at which a hundredth and all but a hundredth of the lines miss.
Numbers chase(const Point& scenario, const std::string& configs) {
  const GpuArch gpu = gpu_of(scenario, configs);
  constexpr double hundredth = 0.01;
  Numbers out;
  for (const auto& [bytes, missed] : miss_curve(gpu, kit_chase(gpu, value_of(scenario, "level")))) {
    if (missed > hundredth) out.try_emplace("misses_begin_bytes", Number{bytes, "B"});
    if (missed > 1 - hundredth) out.try_emplace("misses_all_bytes", Number{bytes, "B"});
  }
  return out;
}

}  // namespace

Numbers program_numbers(const Point& scenario, const std::string& configs) {
  const std::string program = value_of(scenario, "program");
  if (program == square_program) return square(scenario, configs);
  if (program == matmul_program) return matmul(scenario, configs);
  return chase(scenario, configs);
}

}  // namespace tandem
