#include "sim/predict/ranks/replay_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "models/step/sm_pool.h"
#include "sim/predict/ranks/moving.h"
#include "sim/predict/scenario.h"
#include "sim/predict/stages/kernel_counters.h"
#include "sim/predict/stages/simulated_step.h"

namespace tandem {

namespace {

/// Errors: InputError for two traces of one rank, or of jobs of different size.
void check_ranks(const std::vector<Trace>& traces) {
  for (std::size_t i = 1; i < traces.size(); ++i) {
    const DistributedInfo& a = traces[i - 1].distributed;
    const DistributedInfo& b = traces[i].distributed;
    if (a.rank == b.rank) {
      throw InputError(traces[i].path, "distributedInfo", "rank " + std::to_string(b.rank),
                       "another rank than that of " + traces[i - 1].path);
    }
    if (a.world_size != b.world_size) {
      throw InputError(traces[i].path, "distributedInfo", std::to_string(b.world_size) + " ranks",
                       std::to_string(a.world_size) + ", as in " + traces[i - 1].path);
    }
  }
}

std::vector<TracedRun> analyse_all(std::vector<Trace> traces, const ReplayOptions& options) {
  const Configs configs = load_configs(options);
  std::vector<TracedRun> runs;
  std::vector<MeasuredPlan> plans;
  for (Trace& trace : traces) {
    runs.push_back(measure(std::move(trace), options, configs));
    plans.push_back(runs.back().measured);
  }
  std::vector<MeasuredRank> ranks;
  for (std::size_t r = 0; r < runs.size(); ++r) ranks.push_back({runs[r].trace, plans[r]});
  const bool met = remove_waits(ranks);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    TracedRun& run = runs[r];
    if (!met) {
      remove_waits(run.trace, run.gpu ? &*run.gpu : nullptr, run.configs.collectives, plans[r],
                   run.losses);
    }
    find_step(plans[r], options, run);
  }
  return runs;
}

/// The plan of the scenario's step as simulate_step() runs it.
RankStep rank_step(const TracedRun& run, const Scenario& scenario, const ReplayOptions& options) {
  Step step = scenario.step;
  LossList counted_later;
  apply_mode(step.trace, run.configs.host, options.mode, step.plan, counted_later);
  const TraceLaunches launches(step);
  const auto counters = step_counters(run, scenario, step, launches, options);
  return {scenario.step.trace, run.trace.path, run.trace.distributed.rank,
          share_sm_pool(run.pool, places(counters), step)};
}

/// Collectives of the step last as they did among the others.
void take_waits(const RankRun& together, Step& step) {
  for (std::size_t w = 0; w < together.plan.works.size(); ++w) {
    const DeviceWork& work = together.plan.works[w];
    if (work.engine != DeviceEngine::collective) continue;
    step.trace.activities.duration[work.source] =
        together.timeline.work_end[w] - together.timeline.work_begin[w];
  }
  retime_plan(step);
}

RanksTogether together(const std::vector<TracedRun>& runs, const std::vector<Scenario>& scenarios,
                       const ReplayOptions& options) {
  std::vector<RankStep> steps;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    steps.push_back(rank_step(runs[r], scenarios[r], options));
  }
  return simulate_ranks(steps, runs.front().configs.host);
}

/// The ranks' scenarios, each alone, and all of them together.
struct Simulated {
  std::vector<Scenario> scenarios;
  RanksTogether ranks;
};

Simulated simulate_scenarios(const std::vector<TracedRun>& runs, const ReplayOptions& options) {
  Simulated out;
  for (const TracedRun& run : runs) out.scenarios.push_back(make_scenario(run, nullptr, options));
  out.ranks = together(runs, out.scenarios, options);
  return out;
}

/// Scenarios of ranks together are compared with their traced steps together: a speed-up over steps
/// that wait for nobody would be one of another kind.
void find_bases(const RanksTogether& base, Profiler profiler, std::vector<TracedRun>& runs) {
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Step waiting = runs[r].traced_step;
    take_waits(base.runs[r], waiting);
    find_base(profiler, waiting, runs[r]);
  }
}

/// Finds the runs' bases on the way. Where nothing is asked, those are the scenario.
Simulated simulate_beside_bases(std::vector<TracedRun>& runs, const ReplayOptions& options) {
  ReplayOptions as_traced = options;
  as_traced.what_ifs = {};
  as_traced.mode = {};
  Simulated out = simulate_scenarios(runs, as_traced);
  find_bases(out.ranks, options.profiler, runs);
  if (options.what_ifs == as_traced.what_ifs && options.mode.mode == as_traced.mode.mode)
    return out;
  out = {};  // of long steps hundreds of megabytes
  return simulate_scenarios(runs, options);
}

/// The losses of all ranks as one list. What only some of them lost says whose trace it was.
LossList losses_of(const std::vector<Replay>& replays) {
  struct OfCode {
    Loss loss;
    std::vector<std::string> traces;
  };
  std::vector<OfCode> all;
  for (const Replay& one : replays) {
    const std::string trace =
        fmt::format("{} (rank {})", one.run.trace.path, one.run.trace.distributed.rank);
    for (const Loss& loss : one.prediction.result.losses.all()) {
      auto known = std::find_if(all.begin(), all.end(),
                                [&](const OfCode& c) { return c.loss.code == loss.code; });
      if (known == all.end()) {
        all.push_back({loss, {trace}});
        continue;
      }
      known->loss.count += loss.count;
      known->loss.severity = std::max(known->loss.severity, loss.severity);
      known->traces.push_back(trace);
    }
  }
  LossList out;
  for (const OfCode& c : all) {
    const bool of_all = c.traces.size() == replays.size();
    out.add(c.loss.code, c.loss.severity,
            of_all ? c.loss.description
                   : fmt::format("{}; in {}", c.loss.description, fmt::join(c.traces, ", ")),
            c.loss.count);
  }
  return out;
}

/// Says of ranks on another GPU than the first one's that the result is not of theirs.
void count_other_gpus(const std::vector<Replay>& replays, LossList& losses) {
  const std::string& first = replays.front().run.summary.gpu;
  std::vector<std::string> others;
  for (const Replay& one : replays) {
    const TraceSummary& trace = one.run.summary;
    if (trace.gpu != first) others.push_back(fmt::format("{} ({})", trace.path, trace.gpu));
  }
  if (others.empty()) return;
  losses.add(
      "ranks_on_other_gpus", Severity::warning,
      fmt::format("ranks that were traced on another GPU than rank {}, {}, whose utilization "
                  "and energy the result states: {}",
                  replays.front().run.trace.distributed.rank, first, fmt::join(others, ", ")),
      static_cast<std::int64_t>(others.size()));
}

}  // namespace

RanksReplay replay_ranks(std::vector<Trace> traces, const ReplayOptions& options) {
  std::sort(traces.begin(), traces.end(),
            [](const Trace& a, const Trace& b) { return a.distributed.rank < b.distributed.rank; });
  check_ranks(traces);
  std::vector<TracedRun> runs = analyse_all(std::move(traces), options);
  auto [scenarios, ranks] = simulate_beside_bases(runs, options);
  RanksReplay out;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    take_waits(ranks.runs[r], scenarios[r].step);
    Prediction prediction = predict(runs[r], std::move(scenarios[r]), options);
    prediction.result.ranks = ranks.summary;
    out.replays.push_back({std::move(runs[r]), std::move(prediction)});
  }
  LossList losses = losses_of(out.replays);
  count_other_gpus(out.replays, losses);
  for (Replay& one : out.replays) one.prediction.result.losses = losses;
  out.runs = std::move(ranks.runs);
  return out;
}

}  // namespace tandem
