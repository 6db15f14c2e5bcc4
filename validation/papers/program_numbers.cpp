#include <algorithm>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "models/energy/recording.h"
#include "models/kernel/tiny_launch/tiny_launch.h"
#include "models/memory/cache_chase.h"
#include "models/whatif/transform.h"
#include "sim/core/fields/field.h"
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
                          parse_number("static_w", value_of(scenario, "static_w")), rules.clock};
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

/// Share of the lines that miss the level of the chase.
double missed(const GpuArch& gpu, const Chase& chase, double bytes) {
  const ChaseCycles cycles{gpu.l1_latency_cycles, gpu.l2_latency_cycles, gpu.l2_far_latency_cycles,
                           gpu.dram_latency_cycles};
  const ChaseResult r = simulate_chase(gpu, chase, cycles, bytes);
  return 1 - (chase.through_l1 ? r.l1_share : r.near_share);
}

/// At the size that the scenario states; without one the first sizes at which a hundredth and all
/// but a hundredth of the lines miss, to 3 % of the level's capacity.
Numbers chase(const Point& scenario, const std::string& configs) {
  const GpuArch gpu = gpu_of(scenario, configs);
  const Chase chase = kit_chase(gpu, value_of(scenario, "level"));
  if (!value_of(scenario, "bytes").empty()) {
    const auto bytes = static_cast<double>(count_of(scenario, "bytes"));
    return {{"miss_share", {missed(gpu, chase, bytes), "ratio"}}, {"bytes", {bytes, "B"}}};
  }
  constexpr double hundredth = 0.01, from = 0.25, to = 1.75, step = 0.03;  // of the capacity
  const auto capacity = static_cast<double>(
      chase.through_l1 ? gpu.unified_l1_bytes : gpu.l2_bytes / std::max(1, gpu.l2_partitions));
  Numbers out;
  for (double share = from; share <= to; share += step) {
    const double bytes = share * capacity, misses = missed(gpu, chase, bytes);
    if (misses > hundredth) out.try_emplace("misses_begin_bytes", Number{bytes, "B"});
    if (misses > 1 - hundredth) out.try_emplace("misses_all_bytes", Number{bytes, "B"});
  }
  return out;
}

/// As tandem calibrate energy, from a recording of the kit on that GPU: one block an SM.
Numbers calibration(const Point& scenario, const std::string& root) {
  const GpuArch gpu = gpu_of(scenario, root + "/configs");
  const std::string folder = root + "/validation/captures/" + value_of(scenario, "recording");
  const EnergyRecording recording = evaluate_recording(folder, gpu.sm_count);
  const MeasuredAccess* access = find_access(recording, value_of(scenario, "kernel"));
  const auto threads = static_cast<double>(count_of(scenario, "threads"));
  Numbers out;
  if (access == nullptr) return out;
  for (const ThreadPoint& p : access->access.curve) {
    if (p.threads != threads || p.blocks != gpu.sm_count) continue;
    out["access_pj"] = {p.pj.value, "pJ"};
  }
  return out;
}

}  // namespace

Numbers program_numbers(const Point& scenario, const std::string& root) {
  const std::string program = value_of(scenario, "program");
  const std::string configs = root + "/configs";
  if (program == calibration_program) return calibration(scenario, root);
  if (program == square_program) return square(scenario, configs);
  if (program == matmul_program) return matmul(scenario, configs);
  return chase(scenario, configs);
}

}  // namespace tandem
