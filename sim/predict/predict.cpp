#include "sim/predict/predict.h"

#include <algorithm>
#include <string>
#include <utility>

#include "models/step/launches.h"
#include "models/whatif/precision/precision.h"
#include "sim/predict/invariants/result_check.h"
#include "sim/predict/scenario.h"
#include "sim/predict/stages/kernel_counters.h"
#include "sim/predict/stages/make_result.h"
#include "sim/predict/stages/memory.h"
#include "sim/predict/stages/simulated_step.h"
#include "sim/predict/stages/step_energy.h"

namespace tandem {

namespace {

/// A peak whose band no measurement has confirmed is named beside factors of times.
void add_unverified_memory(const BandConstants& bands, Result& result) {
  if (!result.memory || bands.of(result.memory->basis).verified) return;
  result.band_parts.unverified.push_back("peak of memory, " +
                                         std::string(to_string(result.memory->basis)));
}

/// A step in its mode, run by the engine, and what it costs.
struct PricedRun {
  SimulatedStep simulated;
  std::optional<PricedStep> priced;
};

/// Where the board's power limit holds the step up, `step` gets slower and is simulated again.
PricedRun run_scenario(const TracedRun& run, Scenario& scenario, const ReplayOptions& options,
                       const Attribution& attribution, Step& step, LossList& losses) {
  const TraceLaunches launches(step);
  const auto simulated_step = [&] {
    return simulate_step(run, step, attribution,
                         step_counters(run, scenario, step, launches, options));
  };
  PricedRun out{simulated_step(), {}};
  const auto demand_at = [&](double clock) -> std::optional<StepDemand> {
    if (!scenario.gpu || !run.states_grids) return {};
    return step_demand({run, *scenario.gpu, step, launches}, out.simulated, clock, losses);
  };
  std::optional<StepDemand> demand = demand_at(1);
  std::optional<SlowerStep> limited;
  // Works last as predicted, not as traced.
  if (demand && (run.is_generated() || !scenario.what_ifs.empty())) {
    const bool measured = !run.is_generated() && find_report(scenario.what_ifs, "gpu") == nullptr;
    limited = limited_power({run, *scenario.gpu, step, launches}, *demand, out.simulated, measured);
  }
  if (limited) {
    slow_down(step, limited->slowdowns);
    scenario.changed = true;  // counters are those of the slower step
    out.simulated = simulated_step();
    demand = demand_at(limited->power.clock_share);
  }
  if (demand) out.priced = price_step(*demand, out.simulated, losses);
  if (out.priced && limited) {
    out.priced->energy.power_limited_share = limited->power.power_limited_share;
  }
  return out;
}

/// Energies and power of the step's works.
void take_prices(PricedStep priced, Prediction& p) {
  p.power = std::move(priced.power);
  for (std::size_t w = 0; w < p.step.plan.works.size(); ++w) {
    p.step_counters[p.step.plan.works[w].source].energy_j = priced.dynamic_j[w];
  }
}

/// Of each work of the isolated step, how it uses the SMs.
std::vector<DcgmShares> work_shares(const Prediction& p) {
  std::vector<DcgmShares> shares;
  if (!p.target) return shares;
  const GpuScale scale = gpu_scale(*p.target);
  for (const DeviceWork& work : p.isolated.works) {
    shares.push_back(dcgm_shares(p.step_counters[work.source], scale));
  }
  return shares;
}

void count_clamped(const std::vector<WorkCounters>& counters, LossList& losses) {
  losses.add("counters_clamped", Severity::info,
             "kernels whose model counts more instructions or bytes than the GPU can do in their "
             "time: cut to what it can",
             std::count_if(counters.begin(), counters.end(),
                           [](const WorkCounters& c) { return c.clamped; }));
}

/// The stages from a scenario to a prediction. `other`: the second trace of a prediction from two,
/// or null.
Prediction predict_scenario(const TracedRun& run, const TracedRun* other, Scenario scenario,
                            const ReplayOptions& options) {
  LossList losses = run.losses;
  losses.merge(scenario.losses);
  Prediction p;
  if (run.states_grids) p.target = scenario.gpu;
  p.step = std::move(scenario.step);
  apply_mode(p.step.trace, run.configs.host, options.mode, p.step.plan, losses);
  // Its views stay valid when the step is moved: its tables of texts do not move.
  p.step_attribution = attribute(p.step.trace, p.step.links);
  auto [simulated, priced] =
      run_scenario(run, scenario, options, p.step_attribution, p.step, losses);
  p.step.plan = std::move(simulated.plan);
  p.step_counters = std::move(simulated.counters);
  p.isolated = std::move(simulated.isolated);
  p.isolated_timeline = std::move(simulated.isolated_timeline);
  std::optional<EnergySummary> energy;
  if (priced) {
    energy = priced->energy;
    take_prices(std::move(*priced), p);
  }
  p.shares = work_shares(p);
  count_clamped(p.step_counters, losses);
  p.result = make_result(run, scenario, options, simulated, energy, losses, p);
  if (p.target && p.result.scenario.batch) {
    p.result.memory = scenario_memory(run, other, *p.target, *p.result.scenario.batch, scenario);
    if (p.result.memory) losses.merge(scenario.memory.losses);
    add_unverified_memory(run.configs.bands, p.result);
  }
  losses.merge(p.result.losses);
  p.result.losses = std::move(losses);
  check_result(p.result);
  return p;
}

/// Errors: InputError for two bases whose products are of different types, unless a precision is
/// asked for, which then is that of both.
void check_same_precision(const TracedRun& first, const TracedRun& second,
                          const ReplayOptions& options) {
  if (options.what_ifs.has("precision")) return;
  if (!states_types(first.traced_step) || !states_types(second.traced_step)) return;
  const Precision a = traced_precision(first.traced_step);
  const Precision b = traced_precision(second.traced_step);
  if (a == b) return;
  throw InputError(options.base_path, first.traced_step.name,
                   "a trace in " + std::string(to_string(b)),
                   std::string(to_string(a)) + ", as the other base");
}

struct FromTwo {
  Prediction prediction;
  bool from_second = false;  // the prediction has rows of the second trace
};

FromTwo predict_pair(const TracedRun& first, const TracedRun& second,
                     const ReplayOptions& options) {
  if (!options.what_ifs.has("batch")) {
    throw InputError("command line", "--base", "a second trace without --batch",
                     "--batch N, which the two traces predict together");
  }
  check_same_precision(first, second, options);
  Scenario scenario = make_scenario(first, &second, options);
  const bool from_second = scenario.from_second;
  const TracedRun& kept = from_second ? second : first;
  const TracedRun& other = from_second ? first : second;
  return {predict_scenario(kept, &other, std::move(scenario), options), from_second};
}

}  // namespace

Prediction predict(const TracedRun& run, const ReplayOptions& options) {
  return predict_scenario(run, nullptr, make_scenario(run, nullptr, options), options);
}

Prediction predict(const TracedRun& run, Scenario scenario, const ReplayOptions& options) {
  return predict_scenario(run, nullptr, std::move(scenario), options);
}

Prediction predict(const TracedRun& first, const TracedRun& second, const ReplayOptions& options) {
  return predict_pair(first, second, options).prediction;
}

Replay predict_from_two(TracedRun first, TracedRun second, const ReplayOptions& options) {
  FromTwo both = predict_pair(first, second, options);
  return {std::move(both.from_second ? second : first), std::move(both.prediction)};
}

namespace {

Replay replay_with(Trace trace, const ReplayOptions& options, Configs configs) {
  if (options.base_path.empty()) {
    TracedRun run = analyse(std::move(trace), options, std::move(configs));
    Prediction prediction = predict(run, options);
    return {std::move(run), std::move(prediction)};
  }
  TracedRun run = analyse(std::move(trace), options, configs);
  TracedRun second = analyse(import_trace(options.base_path, options.import),
                             options_of_second(options), std::move(configs));
  return predict_from_two(std::move(run), std::move(second), options);
}

}  // namespace

Replay replay(Trace trace, const ReplayOptions& options) {
  return replay_with(std::move(trace), options, load_configs(options));
}

Replay replay(const ReplayOptions& options) {
  return replay(import_trace(options.trace_path, options.import), options);
}

Replay replay(const ReplayOptions& options, Configs configs) {
  add_gpu_file(configs, options.what_ifs.get("gpu"));
  return replay_with(import_trace(options.trace_path, options.import), options, std::move(configs));
}

}  // namespace tandem
