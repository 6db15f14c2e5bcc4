#include "tests/fuzz/house.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "sim/cli/output.h"
#include "sim/report/report.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::fuzz {

namespace {

/// Values to ask of an option: sensible ones, and the ends of what may be asked.
std::vector<std::string> values_of(const TransformOption& option) {
  switch (option.kind) {
    case OptionKind::flag:
    case OptionKind::name: return {option.names.begin(), option.names.end()};
    case OptionKind::count: return {"2", "1", "7", "64", "4096", "1000000"};
    case OptionKind::number: return {"1200", "1", "345", "2000", "0.001"};
    case OptionKind::number_or_none: return {"none", "0.5", "100", "0.000001"};
    case OptionKind::gpu: return {"a100_sxm4_80gb", "v100_sxm2_16gb", "h200_sxm"};
    case OptionKind::assignments:
      return {"gpu.sm_count=1", "gpu.dram_peak_gbps=100", "gpu.l2_bytes=1048576",
              "gpu.smsp_per_sm=2", "gpu.boost_clock_mhz=500"};
  }
  return {};
}

struct Wish {
  std::string option, value;
};

std::vector<Wish> all_wishes() {
  std::vector<Wish> out;
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      for (std::string& value : values_of(option)) {
        out.push_back({std::string(option.name), std::move(value)});
      }
    }
  }
  return out;
}

}  // namespace

std::string in_repository(const std::string& path) {
  const char* root = std::getenv("TANDEM_ROOT");  // where the program runs away from its sources
  return root ? std::string(root) + "/" + path : source_path(path);
}

const Configs& configs() {
  static const Configs read = load_configs(in_repository("configs"), "default");
  return read;
}

const TracedRun& small_run() {
  static const TracedRun run = [] {
    ReplayOptions options;
    options.trace_path = in_repository("tests/bad_input/attacks/25/t.json.gz");
    options.configs = configs().folder;
    return analyse(import_trace(options.trace_path), options, configs());
  }();
  return run;
}

ReplayOptions options_of(Bytes choice) {
  static const std::vector<Wish> wishes = all_wishes();
  constexpr std::array modes{Mode::as_traced, Mode::eager_async, Mode::eager_sync,
                             Mode::cuda_graph};
  std::array<std::uint8_t, choice_bytes> c{};
  std::copy(choice.begin(), choice.end(), c.begin());
  ReplayOptions out;
  out.configs = configs().folder;
  out.mode.mode = modes[c[0] % modes.size()];
  out.profiler = c[1] % 2 == 0 ? Profiler::remove : Profiler::keep;
  out.cache = c[1] / 2 % 2 == 0 ? CacheState::warm : CacheState::cold;
  if (c[1] / 4 % 2 == 1) out.traced_gpu = "v100_sxm2_16gb";
  if (c[1] / 8 % 2 == 1) out.traced_batch = 32;
  if (c[1] / 16 % 2 == 1) out.measured_step_us = 1000;
  for (std::size_t i = 2; i < 5; ++i) {
    if (c[i] == 0) continue;
    const Wish& wish = wishes[(c[i] - 1) % wishes.size()];
    out.what_ifs.set(wish.option, wish.value);
  }
  return out;
}

void write_all(const Replay& done) {
  const std::string nowhere = "/dev/null";
  write_outputs(done, {.json = nowhere, .kernels = nowhere, .timeline = nowhere});
  summary_text(done.prediction.result);
}

void write_all(TracedRun run, const ReplayOptions& options) {
  Prediction prediction = predict(run, options);
  write_all({std::move(run), std::move(prediction)});
}

}  // namespace tandem::fuzz
