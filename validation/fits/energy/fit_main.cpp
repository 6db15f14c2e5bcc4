// Fits the energy constants of a GPU on captures, with leave-one-model-out errors.
//   energy_fit --data DIR [--data DIR ...] [--configs DIR] [--priors FILE] [--write]
// Prints the constants with their standard deviations and the errors. --write replaces the typical
// rates in configs/kernels/energy.json and the trace constants in the GPU's file; constants that
// are not fitted here stay as they are.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/core/fields/field.h"
#include "validation/fits/energy/fit.h"

namespace tandem {
namespace {

struct Options {
  std::vector<std::string> data;
  std::string configs = "configs";
  std::string priors = "validation/fits/energy/priors.json";
  bool write = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    std::string* text = key == "--configs"  ? &options.configs
                        : key == "--priors" ? &options.priors
                                            : nullptr;
    if (key == "--write") {
      options.write = true;
    } else if (i + 1 < argc && key == "--data") {
      options.data.emplace_back(argv[++i]);
    } else if (i + 1 < argc && text != nullptr) {
      *text = argv[++i];
    } else {
      throw InputError("command line", key, "an unknown option or no value",
                       "--data DIR, --configs DIR, --priors FILE, --write");
    }
  }
  return options;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw InputError(path, "", "no file that can be written", "one");
}

std::string data_names(const Options& options) {
  std::string names;
  for (const std::string& data : options.data) {
    std::filesystem::path path(data);
    if (path.filename().empty() || path.filename() == "traces") path = path.parent_path();
    names += (names.empty() ? "" : ", ") + path.filename().string();
  }
  return names;
}

/// Four digits: more are not known, and files stay readable.
TraceEnergyModel rounded(TraceEnergyModel model) {
  const auto round = [](double v) { return std::stod(fmt::format("{:.4g}", v)); };
  for (const auto member : trace_energy_members()) model.*member = round(model.*member);
  for (Provenance& origin : model.origins) origin.uncertainty = round(origin.uncertainty);
  for (auto& row : model.correlation) {
    for (double& r : row) r = round(r);
  }
  return model;
}

void write_configs(const Options& options, const std::vector<Capture>& captures, WorkRules rules,
                   TraceEnergyModel model) {
  const auto round = [](double share) { return std::round(1000 * share) / 1000; };
  for (TypicalRate& rate : rules.rates) {
    rate.dram_share = round(rate.dram_share);
    rate.flop_share = round(rate.flop_share);
  }
  rules.other_dram_share = round(rules.other_dram_share);
  rules.other_flop_share = round(rules.other_flop_share);
  const std::string on =
      fmt::format("{} captures with measured power: {}", captures.size(), data_names(options));
  const std::string source = "validation/fits/energy: energy_fit with priors.json";
  const std::string rules_path = options.configs + "/kernels/energy.json";
  const Json old = read_json_file(rules_path);
  std::vector<Provenance> origins;
  for (const auto& field : work_rule_fields()) {
    const Place place{rules_path, field.name};
    origins.push_back(read_provenance(old["constants"][field.name], place, field.unit));
  }
  for (std::size_t i = origins.size() - 2; i < origins.size(); ++i) {  // the last two are fitted
    origins[i] = {ValueKind::fitted, source, on, 0};
  }
  write_file(rules_path, to_json(rules, origins, {ValueKind::fitted, source, on, 0}));
  const std::string path = options.configs + "/gpus/" + captures.front().gpu->name + ".json";
  EnergyConfig config = load_energy(path).value();
  for (Provenance& origin : model.origins) {
    origin = {ValueKind::fitted, source, on, origin.uncertainty};
  }
  config.trace = rounded(model);
  write_file(path, with_energy(path, config));
}

double rms(const std::vector<double>& errors) {
  double sum = 0;
  for (const double e : errors) sum += e * e;
  return errors.empty() ? 0 : std::sqrt(sum / static_cast<double>(errors.size()));
}

/// Error where everything is estimated: the captures with their shapes hidden.
double estimate_error(const Options& options, const GpuCatalogue& gpus, const CostConstants& costs,
                      const WorkRules& rules, const TraceEnergyModel& model) {
  std::vector<double> errors;
  for (const std::string& data : options.data) {
    for (const Capture& c : load_captures(data, gpus, false)) {
      errors.push_back(predict(c, model, costs, rules).energy_j / c.energy_j() - 1);
    }
  }
  fmt::print("shapes hidden         {}\n", to_text(error_stats(errors)));
  return rms(errors);
}

void print_errors(const std::vector<Capture>& captures, const std::vector<double>& fitted,
                  const std::vector<double>& left_out) {
  fmt::print("\n{:42} {:>8} {:>8} {:>8}\n", "error in %", "W", "fitted", "left out");
  std::map<std::string, std::vector<double>> by_model;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    fmt::print("{:42} {:8.1f} {:+8.1f} {:+8.1f}\n", captures[i].name, captures[i].power_w,
               100 * fitted[i], 100 * left_out[i]);
    by_model[captures[i].model].push_back(left_out[i]);
  }
  fmt::print("\nleft out, by model:\n");
  for (const auto& [model, errors] : by_model) {
    fmt::print("  {:14} {}\n", model, to_text(error_stats(errors)));
  }
}

void run(const Options& options) {
  const GpuCatalogue gpus = load_catalogue(options.configs + "/gpus");
  WorkRules rules = load_work_rules(options.configs + "/kernels/energy.json");
  const CostConstants costs = CostConstants::load(options.configs + "/kernels/costs.json");
  std::vector<Capture> captures;
  for (const std::string& data : options.data) {
    for (Capture& c : load_captures(data, gpus)) captures.push_back(std::move(c));
  }
  if (captures.empty()) throw InputError("command line", "--data", "no capture", "some");
  const std::vector<Prior> priors = load_priors(options.priors);
  std::vector<const Capture*> all;
  for (const Capture& c : captures) all.push_back(&c);
  fit_rates(all, rules);
  TraceEnergyModel model = fit_trace_energy(all, costs, rules, priors);
  model.power_limit_w = captures.front().gpu->tdp_w;
  std::vector<double> fitted;
  for (const Capture& c : captures) {
    fitted.push_back(predict(c, model, costs, rules).energy_j / c.energy_j() - 1);
  }
  const std::vector<double> left_out = leave_one_model_out(captures, costs, rules, priors);
  print_errors(captures, fitted, left_out);
  fmt::print("\nfitted                {}\nleave one model out   {}\n", to_text(error_stats(fitted)),
             to_text(error_stats(left_out)));
  model.model_error = rms(left_out);
  model.estimate_error =
      std::max(model.model_error, estimate_error(options, gpus, costs, rules, model));
  fmt::print("\n");
  const auto fields = trace_energy_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fmt::print("{:20} {:9.4g} +- {:5.1f} %  {}\n", fields[i].name,
               fields[i].write(model).get<double>(), 100 * model.origins[i].uncertainty,
               fields[i].unit);
  }
  if (options.write) write_configs(options, captures, rules, model);
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  tandem::run(tandem::parse(argc, argv));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "energy_fit: %s\n", e.what());
  return 2;
}
