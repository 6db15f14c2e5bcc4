#include "validation/papers/simulations.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "models/energy/energy_config.h"
#include "sim/predict/network_run.h"
#include "sim/trace/source/stored_name.h"
#include "validation/papers/settings.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

Point with_batch(Point scenario, const std::string& batch) {
  for (Setting& s : scenario) {
    if (s.name == "batch") s.value = batch;
  }
  return scenario;
}

Point without_batch(Point scenario) {
  std::erase_if(scenario, [](const Setting& s) { return s.name == "batch"; });
  return scenario;
}

std::string task_of(const Point& scenario) {
  const std::string task = value_of(scenario, "task");
  return task.empty() ? "train" : task;
}

/// The file of the scenario's network or trace; empty: there is none.
std::string workload_path(const Point& scenario, const std::string& root) {
  const std::string trace = value_of(scenario, "trace");
  if (!trace.empty()) {
    return find_stored(root + "/validation/captures/" + trace + ".json").value_or("");
  }
  const std::string path =
      root + "/workloads/nets/" + value_of(scenario, "network") + "-" + task_of(scenario) + ".json";
  std::error_code error;
  return fs::is_regular_file(path, error) ? path : "";
}

AskedPrediction asked_of(const Point& scenario, const std::string& path) {
  AskedPrediction asked;
  asked.trace = path;
  for (const Setting& s : scenario) {
    if (find_option(s.name) != nullptr) asked.what_ifs.set(s.name, s.value);
  }
  const std::string mode = value_of(scenario, "mode"), host = value_of(scenario, "host");
  if (!mode.empty()) set_mode(mode, asked.what_ifs.get("compile"), asked.mode, asked.what_ifs);
  if (!host.empty()) asked.host = host;
  if (value_of(scenario, "profiler") == "keep") asked.profiler = Profiler::keep;
  const std::string length = value_of(scenario, "seq");
  if (!length.empty()) asked.length = parse_count("seq", length);
  return asked;
}

std::vector<std::string> remarks_on(const Result& result) {
  if (!result.memory || result.memory->fits || !result.scenario.batch) return {};
  return {fmt::format("batch {} of {} needs {:.0f} GB and is predicted not to fit",
                      *result.scenario.batch, fs::path(result.trace.path).stem().string(),
                      result.memory->peak_bytes / 1e9)};
}

}  // namespace

Simulations::Simulations(std::string root) : root_(std::move(root)), replays_(root_ + "/configs") {}

const SimulationOutcome& Simulations::of(const Point& scenario) {
  return outcomes_.of(scenario, [&] { return simulate(scenario); });
}

SimulationOutcome Simulations::simulate(const Point& scenario) {
  try {
    if (value_of(scenario, "program").empty()) return simulate_step(scenario);
    return {program_numbers(scenario, root_), "", false, {}};
  } catch (const InputError& error) {
    return {{}, error.found() + ", expected " + error.expected(), false, {}};
  }
}

SimulationOutcome Simulations::simulate_step(const Point& scenario) {
  const std::string path = workload_path(scenario, root_);
  if (path.empty()) {
    const std::string network = value_of(scenario, "network");
    const std::string what = network.empty() ? "trace " + value_of(scenario, "trace")
                                             : "network " + network + "-" + task_of(scenario);
    return {{}, "no " + what, true, {}};
  }
  if (value_of(scenario, "batch").starts_with(batch_largest)) {
    return {{}, "not even one item fits the memory, or its peak is not known", false, {}};
  }
  const Prediction prediction = replays_.of(asked_of(scenario, path)).prediction;
  std::optional<AccessEnergies> access;
  if (prediction.target) {
    const auto energy =
        load_energy(replays_.configs() + "/gpus/" + prediction.target->name + ".json");
    if (energy) access = energy->access;
  }
  return {step_numbers(prediction, access), "", false, remarks_on(prediction.result)};
}

bool Simulations::fits(const Point& scenario, std::int64_t batch) {
  const SimulationOutcome& outcome = of(with_batch(scenario, std::to_string(batch)));
  const auto it = outcome.numbers.find("fits");
  return it != outcome.numbers.end() && it->second.value == 1;
}

/// 0: not even one item, or no peak of memory is known.
std::int64_t Simulations::find_largest(const Point& scenario) {
  const SimulationOutcome& outcome = of(without_batch(scenario));
  const auto it = outcome.numbers.find("largest_batch");
  if (it == outcome.numbers.end() || it->second.value < 1) return 0;
  // That is along a line from the default batch, which bends elsewhere.
  auto batch =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(it->second.value)));
  while (batch > 0 && !fits(scenario, batch)) batch /= 2;
  while (batch > 0 && fits(scenario, 2 * batch)) batch *= 2;
  return batch;
}

Point Simulations::at_batch(const Point& scenario) {
  const std::string batch = value_of(scenario, "batch");
  if (batch != batch_largest && batch != batch_half_of_largest) return scenario;
  const std::int64_t largest = largest_.of(with_batch(scenario, std::string(batch_largest)),
                                           [&] { return find_largest(scenario); });
  const std::int64_t found = batch == batch_largest ? largest : largest / 2;
  if (found < 1) return scenario;  // which of() says cannot be simulated
  return with_batch(scenario, std::to_string(found));
}

}  // namespace tandem
