#include "sim/check/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/step/op_nesting.h"
#include "sim/counters/step_kernels.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

constexpr std::size_t name_width = 60;

/// Of a trace without a host: kernels that begin in the step.
std::vector<std::uint32_t> kernels_begun_in(const Trace& trace, const StepWindow& step) {
  const Activities& acts = trace.activities;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    const bool inside = acts.begin[a] >= step.begin && acts.begin[a] < step.end;
    if (inside && acts.kind[a] == ActivityKind::kernel) rows.push_back(a);
  }
  sort_by_begin(acts, rows);
  return rows;
}

bool same_launches(const Activities& acts, const std::vector<std::uint32_t>& a,
                   const std::vector<std::uint32_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](std::uint32_t x, std::uint32_t y) {
    return acts.name[x].value == acts.name[y].value &&
           acts.geometry[x].value == acts.geometry[y].value;
  });
}

/// The largest group of steps with the same launches, the first of several.
RepeatedSteps repeated_steps(const Evidence& e) {
  std::vector<std::size_t> best;
  for (std::size_t s = 0; s < e.kernels.size(); ++s) {
    if (e.kernels[s].empty()) continue;
    std::vector<std::size_t> alike;
    for (std::size_t t = 0; t < e.kernels.size(); ++t) {
      if (same_launches(e.run.trace.activities, e.kernels[s], e.kernels[t])) alike.push_back(t);
    }
    if (alike.size() > best.size()) best = alike;
    if (2 * best.size() > e.kernels.size()) break;
  }
  RepeatedSteps out;
  if (best.size() < 2) return out;
  out.steps = best;
  for (const std::size_t s : best) out.kernels.push_back(e.kernels[s]);
  return out;
}

/// A sweep over all activities by begin: what is still running when another begins is not alone.
std::vector<bool> alone_on_device(const Activities& acts) {
  std::vector<bool> alone(acts.size(), true);
  std::uint32_t longest = no_row;  // of those begun, the one that ends last
  for (const std::uint32_t a : rows_by_begin(acts)) {
    if (longest != no_row && acts.begin[a] < acts.begin[longest] + acts.duration[longest] &&
        acts.stream[a].value != acts.stream[longest].value) {
      alone[a] = alone[longest] = false;
    }
    if (longest == no_row ||
        acts.begin[a] + acts.duration[a] > acts.begin[longest] + acts.duration[longest]) {
      longest = a;
    }
  }
  return alone;
}

}  // namespace

Evidence gather(const TracedRun& run, const CheckLimits& limits, const MatchedCounters* counters) {
  Evidence e{run, limits, counters, {}, {}, {}, {}, alone_on_device(run.trace.activities)};
  OpNesting nesting = nest_ops(run.trace, run.links);
  if (run.gpu) e.launches.emplace(run.trace, run.links, nesting.of_call);
  e.op_of_activity = std::move(nesting.of_activity);
  const bool host = run.summary.launches > 0;
  for (std::size_t s = 0; s < run.links.steps.size(); ++s) {
    e.kernels.push_back(host ? kernels_of_step(run.trace, run.links, s)
                             : kernels_begun_in(run.trace, run.links.steps[s]));
  }
  e.repeated = repeated_steps(e);
  return e;
}

std::string place_of(const Evidence& e, TimePoint time) {
  const auto& steps = e.run.links.steps;
  const auto it = std::find_if(steps.begin(), steps.end(), [&](const StepWindow& s) {
    return time >= s.begin && time < s.end;
  });
  const double ms = (to_us(time) - to_us(steps.front().begin)) * 1e-3;
  return fmt::format("{}, {:.3f} ms after the first step begins",
                     it == steps.end() ? "outside the steps" : it->name, ms);
}

std::string place_of_kernel(const Evidence& e, std::uint32_t activity) {
  const Activities& acts = e.run.trace.activities;
  const std::string_view name = text_of(e.run.trace, acts.name[activity]);
  return fmt::format("{}: {:.2f} us of {}{}", place_of(e, acts.begin[activity]),
                     to_us(acts.duration[activity]), name.substr(0, name_width),
                     name.size() > name_width ? "..." : "");
}

}  // namespace tandem
