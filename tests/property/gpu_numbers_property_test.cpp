// What every number of a GPU moves, and which way: physics, not the model, says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "models/arch/gpu_config.h"
#include "models/arch/gpu_fields.h"
#include "models/whatif/gpu/numbers.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string numbers_captures = source_path("validation/captures/");
const std::string amp = "h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32";
const std::string fp32 = "h200_2026-11-20_fit/traces/bert_base-infer-fp32-eager-b16";
const std::string lenet = "h200_2026-11-20_fit/traces/lenet5-infer-fp32-eager-b1024";

enum class Metric : std::uint8_t {
  gpu_time,
  step_time,
  energy,
  occupancy,
  dram,
  l2,
  peak_fits,
  isolated_time
};
enum class Way : std::uint8_t { up, down };

double value_of(const Prediction& p, Metric metric) {
  const Result& r = p.result;
  switch (metric) {
    case Metric::gpu_time: return r.step.gpu_kernel_us;
    case Metric::step_time: return r.step.time_us;
    case Metric::isolated_time: return r.step.isolated_time_us;
    case Metric::energy: return r.energy->energy_j;
    case Metric::occupancy: return r.gpu_step->smocc;
    case Metric::dram: return r.gpu_step->dram_read_bytes + r.gpu_step->dram_write_bytes;
    case Metric::l2: return r.gpu_step->l2_bytes;
    case Metric::peak_fits: return r.memory ? static_cast<double>(r.memory->largest_batch) : -1;
  }
  return 0;
}

/// A number, by what it is multiplied, and what that does to a metric of a step.
struct Effect {
  std::string number;
  double factor;
  std::string trace;
  Metric metric;
  Way way;
  std::vector<std::string> beside = {};  // other numbers that have to make room
};

std::vector<Effect> effects() {
  using enum Metric;
  using enum Way;
  return {
      {"sm_count", 0.5, amp, gpu_time, up},
      {"sm_count", 2, amp, gpu_time, down},
      {"boost_clock_mhz", 0.5, amp, gpu_time, up},
      {"boost_clock_mhz", 1.25, fp32, gpu_time, down},
      {"boost_clock_mhz", 1.25, fp32, energy, up},
      {"tensor_clock_mhz", 0.5, amp, energy, down},
      {"memory_bytes", 0.5, amp, peak_fits, down},
      {"dram_peak_gbps", 0.5, amp, gpu_time, up},
      {"dram_peak_gbps", 2, amp, gpu_time, down},
      {"dram_read_gbps", 0.5, amp, gpu_time, up},
      {"dram_loaded_latency_ns", 2, amp, gpu_time, up},
      {"dram_loaded_latency_ns", 0.5, amp, gpu_time, down},
      {"l2_bytes", 0.25, amp, gpu_time, up},
      {"l2_bytes", 0.25, amp, dram, up},
      {"l2_bytes", 2, amp, gpu_time, down},
      {"l2_partitions", 2, amp, dram, up},  // each keeps copies of what it reads
      {"l2_read_gbps", 0.5, amp, gpu_time, up},
      {"l2_read_gbps", 2, amp, gpu_time, down},
      {"l2_fabric_factor", 2, amp, l2, up},
      {"l2_latency_cycles", 4, amp, gpu_time, up},
      {"tensor_fp16_fma_per_clk", 0.5, amp, gpu_time, up},
      {"tensor_fp16_fma_per_clk", 2, amp, gpu_time, down},
      {"fp32_lanes", 0.5, fp32, gpu_time, up},
      {"fp32_lanes", 2, fp32, gpu_time, down},
      {"max_threads_per_sm", 0.5, amp, gpu_time, up},  // fewer warps to hide the latency
      {"registers_per_sm", 0.5, amp, gpu_time, up, {"gpu.max_registers_per_block=32768"}},
      {"registers_per_sm", 2, lenet, occupancy, up},
      {"register_granularity", 4, amp, occupancy, down},
      {"max_blocks_per_sm", 0.25, amp, occupancy, down},
      {"graph_kernel_period_us", 2, amp, gpu_time, up},
      {"launch_latency_us", 10, lenet, isolated_time, up},
      {"kernel_gap_us", 3, lenet, step_time, up},
      {"tdp_w", 0.5, fp32, gpu_time, up},
  };
}

class GpuNumbers : public testing::Test {
 protected:
  const TracedRun& run(const std::string& trace) {
    std::unique_ptr<TracedRun>& run = runs_[trace];
    if (!run) {
      run = std::make_unique<TracedRun>(
          analyse(import_trace(numbers_captures + trace + ".json.zst"), options()));
    }
    return *run;
  }
  static ReplayOptions options() {
    ReplayOptions o;
    o.configs = source_path("configs");
    return o;
  }
  Prediction with(const std::string& trace, const std::vector<std::string>& overrides) {
    ReplayOptions o = options();
    for (const std::string& text : overrides) o.what_ifs.add("set", text);
    return predict(run(trace), o);
  }

 private:
  std::map<std::string, std::unique_ptr<TracedRun>> runs_;
};

std::string override_of(const GpuArch& gpu, const Effect& effect) {
  const auto fields = gpu_fields();
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& f) { return f.name == effect.number; });
  const Json value = field->write(gpu);
  const double changed = value.get<double>() * effect.factor;
  const std::string text = value.is_number_integer()
                               ? std::to_string(static_cast<std::int64_t>(changed))
                               : std::to_string(changed);
  return "gpu." + effect.number + "=" + text;
}

TEST_F(GpuNumbers, MoveWhatPhysicsSaysTheyMove) {
  std::map<std::string, Prediction> bases;
  std::size_t cases = 0;
  for (const Effect& effect : effects()) {
    const TracedRun& traced = run(effect.trace);
    if (!bases.contains(effect.trace)) bases.emplace(effect.trace, with(effect.trace, {}));
    std::vector<std::string> overrides = effect.beside;
    overrides.push_back(override_of(*traced.gpu, effect));
    SCOPED_TRACE(overrides.back() + " on " + effect.trace);
    const double before = value_of(bases.at(effect.trace), effect.metric);
    const double after = value_of(with(effect.trace, overrides), effect.metric);
    constexpr double least = 1e-5;  // relative: a number that moves nothing is to be refused
    if (effect.way == Way::up) {
      EXPECT_GT(after, before * (1 + least));
    } else if (effect.way == Way::down) {
      EXPECT_LT(after, before * (1 - least));
    }
    ++cases;
  }
  EXPECT_GE(cases, 30U);
}

TEST_F(GpuNumbers, ThatMoveNothingAreRefused) {
  std::size_t cases = 0;
  for (const UnusedNumber& unused : unused_numbers()) {
    if (unused.name == "cluster_group_sms") continue;  // a list
    SCOPED_TRACE(unused.name);
    const Effect effect{std::string(unused.name), 1, lenet, Metric::gpu_time, Way::up};
    const std::string text = override_of(*run(lenet).gpu, effect);
    try {
      with(lenet, {text});
      ADD_FAILURE() << "not refused";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(unused.why), std::string::npos) << error.what();
    }
    ++cases;
  }
  EXPECT_GE(cases, 20U);
}

TEST_F(GpuNumbers, AreAllEitherTestedOrRefusedOrNamedHere) {
  // Moved elsewhere: limits of a launch (tests of occupancy, property OccupancyProperty), types
  // that no capture computes in (tests of the laws), the range of --clock, what a config is.
  const std::set<std::string> elsewhere = {
      "compute_major",
      "smsp_per_sm",
      "nvlink_gbps",
      "nvlink_gpus",  // tests of collectives
      "warp_size",
      "min_clock_mhz",
      "unified_l1_bytes",
      "l1_bytes_per_clk",
      "shared_carveouts_bytes",
      "shared_block_optin_bytes",
      "shared_reserved_bytes",
      "shared_granularity_bytes",
      "max_threads_per_block",
      "max_registers_per_block",
      "max_registers_per_thread",
      "barriers_per_sm",
      "fp64_lanes",
      "tensor_family",
      "tensor_bf16_fma_per_clk",
      "tensor_tf32_fma_per_clk",
      "tensor_fp8_fma_per_clk",
      "tensor_int8_fma_per_clk",
      "tensor_fp64_fma_per_clk",
      "l2_dirty_bytes",
      "pcie_peak_gbps",
      "pcie_copy_gbps",
  };
  std::set<std::string> known = elsewhere;
  for (const Effect& effect : effects()) known.insert(effect.number);
  for (const UnusedNumber& unused : unused_numbers()) known.insert(std::string(unused.name));
  std::size_t numbers = 0;
  for (const auto& field : gpu_fields()) {
    EXPECT_TRUE(known.contains(field.name)) << field.name;
    ++numbers;
  }
  EXPECT_GE(numbers, 60U);
}

}  // namespace
}  // namespace tandem
