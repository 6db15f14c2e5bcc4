// tandem calibrate: constants from measurements, as config files.
#include "sim/cli/calibrate/calibrate.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/cli/scenario_options.h"
#include "sim/core/fields/field.h"
#include "sim/core/named.h"
#include "sim/predict/calibrate_host.h"
#include "sim/predict/configs.h"
#include "sim/report/losses.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// `TRACE=SECONDS`, or a trace whose NAME.meta.json holds `iter_s`.
TimedTrace timed_trace(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string::npos) {
    const std::string number = text.substr(equals + 1);
    char* end = nullptr;
    const double seconds = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !is_iteration(seconds)) {
      throw InputError(
          "command line", text, "\"" + number + "\"",
          fmt::format("TRACE=SECONDS, the iteration time without the profiler, {} to {}",
                      shortest_iteration_s, longest_iteration_s));
    }
    return {text.substr(0, equals), seconds * 1e6};
  }
  const std::string path = text.substr(0, text.rfind(".json")) + ".meta.json";
  if (!std::filesystem::is_regular_file(path)) {
    throw InputError(text, "", "no iteration time (no " + path + ")",
                     "TRACE=SECONDS, or that file with a number iter_s");
  }
  const Json meta = read_json_file(path);
  if (!meta.contains("iter_s") || !meta["iter_s"].is_number() ||
      !is_iteration(meta["iter_s"].get<double>())) {
    throw InputError(path, "iter_s", "no number that it can be",
                     fmt::format("seconds of an iteration without the profiler, {} to {}",
                                 shortest_iteration_s, longest_iteration_s));
  }
  return {text, meta["iter_s"].get<double>() * 1e6};
}

void print_rows(const HostCalibration& c) {
  fmt::print("{:>12} {:>8} {:>8} {:>9}  trace\n", "measured us", "before", "after", "left out");
  const auto percent = [](double predicted, double measured) {
    return predicted > 0 ? fmt::format("{:+.1f} %", 100 * (predicted / measured - 1))
                         : std::string("-");
  };
  double sum = 0;
  std::size_t n = 0;
  for (const CalibrationRow& r : c.rows) {
    fmt::print("{:12.1f} {:>8} {:>8} {:>9}  {}{}\n", r.measured_us,
               percent(r.before_us, r.measured_us), percent(r.after_us, r.measured_us),
               percent(r.left_out_us, r.measured_us), r.path,
               r.used ? "" : "  (GPU-bound: not used)");
    if (r.left_out_us <= 0) continue;
    sum += std::abs(r.left_out_us / r.measured_us - 1);
    ++n;
  }
  fmt::print("\ngap scales x {:.3f}: aligned {:.3f}, single {:.3f}\n", c.factor,
             c.host.gap_scale_aligned, c.host.gap_scale_single);
  if (n > 1) {
    fmt::print("mean error, each trace predicted from the others: {:.1f} %\n",
               100 * sum / static_cast<double>(n));
  }
}

/// The given host config with the calibrated scales and where they come from.
void write_host(const HostCalibration& c, const std::string& base, const std::string& path) {
  Json json = read_json_file(base);
  json["name"] = std::filesystem::path(path).stem().string();
  std::string names;
  for (const CalibrationRow& r : c.rows) {
    if (!r.used) continue;
    names += names.empty() ? "" : ", ";
    names += std::filesystem::path(r.path).filename().string();
  }
  const auto set = [&](const std::string& key, double value) {
    Json& entry = json["constants"][key];
    entry["value"] = value;
    entry["kind"] = "fitted";
    entry["source"] = "tandem calibrate host";
    entry["fitted_on"] = names;
  };
  set("gap_scale_aligned", c.host.gap_scale_aligned);
  set("gap_scale_single", c.host.gap_scale_single);
  write_file(path, [&](std::ostream& file) { file << json.dump(2) << '\n'; });
  if (path != "-") fmt::print("host model {}\n", path);
}

CommandLine host_line() {
  po::options_description options("Options");
  options.add_options()("trace", po::value<std::vector<std::string>>()->value_name(file_value),
                        "trace and its iteration time unprofiled")(
      "host", text_value(host_value, "default"),
      "host config to start from: a name of configs/hosts, or a path")(
      "out", text_value(file_value), "write the calibrated host config here: --host FILE takes it");
  return {"calibrate host",
          "TRACE[=SECONDS]... [options]",
          "How fast this host is without the profiler.",
          {{"trace", -1}},
          {options}};
}

int run_host(const Arguments& arguments) {
  const auto parsed = parse_arguments(host_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  if (values.count("trace") == 0) {
    throw InputError("command line", "calibrate host", "no TRACE",
                     "tandem calibrate host TRACE[=SECONDS]...");
  }
  ReplayOptions replay;
  replay.configs = data_root() + "/configs";
  replay.host = values["host"].as<std::string>();
  std::vector<TimedTrace> traces;
  for (const std::string& text : values["trace"].as<std::vector<std::string>>()) {
    traces.push_back(timed_trace(text));
  }
  const HostCalibration c = calibrate_host(traces, replay);
  const std::string out = values["out"].as<std::string>();
  if (out != "-") {
    print_rows(c);
    fmt::print("{}", losses_text(c.losses));
  }
  if (!out.empty()) write_host(c, host_path(replay.configs, replay.host), out);
  return exit_ok;
}

}  // namespace

std::span<const Command> calibrate_parts() {
  static constexpr std::array parts{
      Command{"host", "TRACE[=SECONDS]...", "how fast this host is without the profiler", run_host,
              host_line},
      Command{"energy", "RECORDING_DIR... --gpu NAME",
              "energy per access, from bench/device/energy", calibrate_energy,
              calibrate_energy_line},
      Command{"cache", "RECORDING_DIR --gpu NAME", "sizes of caches, from bench/device/cache",
              calibrate_cache, calibrate_cache_line},
  };
  return parts;
}

int run_calibrate(const Arguments& arguments) {
  return run_part("calibrate", calibrate_parts(), arguments);
}

}  // namespace tandem
