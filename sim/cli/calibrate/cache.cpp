#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "models/arch/gpu_config.h"
#include "models/memory/cache_chase.h"
#include "sim/cli/arguments.h"
#include "sim/cli/calibrate/calibrate.h"
#include "sim/core/error.h"
#include "sim/core/text/csv_rows.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

constexpr std::string_view levels[] = {"l1", "l2_one_sm", "l2_all_sms"};

/// Curves of cache.csv by level. Errors: InputError.
std::map<std::string, std::vector<CurvePoint>> read_curves(const std::string& folder) {
  const std::string path = folder + "/cache.csv";
  std::map<std::string, std::vector<CurvePoint>> curves;
  for (const CsvRow& row : read_csv(path)) {
    const CurvePoint p{row.number("bytes"), row.number("cycles") / row.number("accesses")};
    const std::string level(row.text("level"));
    if (std::find(std::begin(levels), std::end(levels), level) == std::end(levels)) {
      throw InputError(path, "level", "\"" + level + "\"",
                       fmt::format("one of: {}", fmt::join(levels, ", ")));
    }
    std::vector<CurvePoint>& curve = curves[level];
    if (!(p.bytes > 0) || !(p.cycles > 0) || (!curve.empty() && p.bytes <= curve.back().bytes)) {
      throw InputError(path, level, fmt::format("{} bytes, {} cycles", p.bytes, p.cycles),
                       "positive cycles and sizes that grow");
    }
    curve.push_back(p);
  }
  return curves;
}

void print_level(const std::string& level, std::span<const CurvePoint> curve,
                 std::span<const CurvePoint> simulated) {
  const std::vector<CurveStep> steps = curve_steps(curve), model = curve_steps(simulated);
  if (steps.empty()) fmt::print("{:11} no step in {} sizes\n", level, curve.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const CurveStep& s = steps[i];
    fmt::print("{:11} {:8.0f} KiB {:8.0f} KiB {:6.0f} {:6.0f}", level, s.begin_bytes / 1024,
               s.knee_bytes / 1024, s.below, s.above);
    if (steps.size() == model.size()) {
      fmt::print(" {:8.0f} KiB {:+6.1f} %", model[i].knee_bytes / 1024,
                 100 * (model[i].knee_bytes / s.knee_bytes - 1));
    }
    fmt::print("\n");
  }
}

void print_curves(const GpuArch& gpu,
                  const std::map<std::string, std::vector<CurvePoint>>& curves) {
  const auto steps = [&](const char* level) {
    const auto it = curves.find(level);
    return it == curves.end() ? std::vector<CurveStep>() : curve_steps(it->second);
  };
  const ChaseCycles cycles = chase_cycles(gpu, steps("l1"), steps("l2_one_sm"));
  fmt::print("{:11} {:>12} {:>12} {:>6} {:>6} {:>12}\n", "level", "full below", "knee", "below",
             "above", "model");
  for (const auto& [level, curve] : curves) {
    print_level(level, curve, simulate_curve(gpu, kit_chase(gpu, level), cycles, curve));
  }
}

}  // namespace

CommandLine calibrate_cache_line() {
  po::options_description options("Options");
  options.add_options()("recording", po::value<std::string>()->value_name(folder_value),
                        "folder that bench/device/cache filled")("gpu", text_value(gpu_value),
                                                                 "GPU config to compare with");
  return {"calibrate cache",
          "RECORDING_DIR --gpu NAME",
          "Sizes of caches from a recording, beside what the model has.",
          {{"recording"}},
          {options}};
}

int calibrate_cache(const Arguments& arguments) {
  const auto parsed = parse_arguments(calibrate_cache_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  const std::string name = values["gpu"].as<std::string>();
  if (values.count("recording") == 0 || name.empty()) {
    throw InputError("command line", "calibrate cache", name.empty() ? "no --gpu" : "no folder",
                     "tandem calibrate cache RECORDING_DIR --gpu NAME");
  }
  const GpuCatalogue gpus = load_catalogue(data_root() + "/configs/gpus");
  print_curves(find_gpu(gpus, name), read_curves(values["recording"].as<std::string>()));
  return exit_ok;
}

}  // namespace tandem
