// Scores trace_energy against measured power.
//   energy_score --data DIR [--data DIR ...] [--configs DIR] [--no-shapes]
// DIR (or DIR/traces) holds NAME.json.gz and NAME.meta.json. The step time is the one of the power
// window, so the score is about power alone. Prints a row a capture: measured power, its split, the
// error against power x window time and against the energy counter.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "models/energy/energy_config.h"
#include "validation/fits/energy/captures.h"

namespace tandem {
namespace {

struct Options {
  std::vector<std::string> data;
  std::string configs = "configs";
  bool shapes = true;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--no-shapes") {
      options.shapes = false;
    } else if (key == "--data" && i + 1 < argc) {
      options.data.emplace_back(argv[++i]);
    } else if (key == "--configs" && i + 1 < argc) {
      options.configs = argv[++i];
    } else {
      throw InputError("command line", key, "an unknown option or no value",
                       "--data DIR, --configs DIR, --no-shapes");
    }
  }
  if (options.data.empty()) {
    throw InputError("command line", "--data", "nothing", "a folder of captures");
  }
  return options;
}

void print_row(const Capture& c, const StepEnergy& e, double error, double counter_error) {
  const auto watt = [&](double joule) { return joule / (c.window_us * 1e-6); };
  const EnergyBreakdown& p = e.parts;
  fmt::print(
      "{:42} {:7.1f} {:7.1f} {:6.1f} {:5.0f} {:5.0f} {:5.0f} {:5.0f} {:5.0f} {:5.0f} {:5.2f} "
      "{:+7.1f} {:+7.1f}\n",
      c.name, c.power_w, e.average_power_w, watt(e.error_j), watt(p.static_j), watt(p.other_j),
      watt(p.dram_j), watt(p.tensor_j), watt(p.compute_j), watt(p.instructions_j),
      e.estimated_share, 100 * error, 100 * counter_error);
}

void run(const Options& options) {
  const GpuCatalogue gpus = load_catalogue(options.configs + "/gpus");
  const WorkRules rules = load_work_rules(options.configs + "/kernels/energy.json");
  const CostConstants costs = CostConstants::load(options.configs + "/kernels/costs.json");
  const EnergyCatalogue energies = load_energies(gpus);
  std::vector<double> errors, counter_errors;
  std::size_t within = 0;
  fmt::print("{:42} {:>7} {:>7} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>7} {:>7}\n",
             "capture", "W", "model", "+-", "stat", "SM", "DRAM", "tens", "fp32", "inst", "est",
             "err %", "ctr %");
  for (const std::string& data : options.data) {
    for (const Capture& c : load_captures(data, gpus, options.shapes)) {
      const EnergyConfig config = find_energy(energies, *c.gpu);
      const StepEnergy e = predict(c, config.trace, costs, rules);
      errors.push_back(e.energy_j / c.energy_j() - 1);
      counter_errors.push_back(e.energy_j / c.counter_j - 1);
      within += std::abs(e.energy_j - c.energy_j()) <= 1.645 * e.error_j;
      print_row(c, e, errors.back(), counter_errors.back());
    }
  }
  fmt::print("\npower x window time  {}\nenergy counter       {}\n", to_text(error_stats(errors)),
             to_text(error_stats(counter_errors)));
  fmt::print("inside the 90 % band {} of {}\n", within, errors.size());
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  tandem::run(tandem::parse(argc, argv));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "energy_score: %s\n", e.what());
  return 2;
}
