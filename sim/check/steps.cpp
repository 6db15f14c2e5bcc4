#include "sim/check/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/runtime/step_plan.h"
#include "sim/core/median.h"

namespace tandem {

namespace {

/// Host time between the calls of a step: from the end of one to the begin of the next of the same
/// thread; negative where another thread, or a wait, is between.
std::vector<double> host_gaps(const TracedRun& run, const StepWindow& step) {
  const RuntimeCalls& calls = run.trace.calls;
  std::vector<double> out;
  std::uint32_t before = no_row;
  for (const std::uint32_t call : run.links.calls_in_order) {
    if (calls.begin[call] < step.begin || calls.begin[call] >= step.end) continue;
    const bool usable = before != no_row && calls.thread[call] == calls.thread[before] &&
                        !waits_for_device(calls.api[before]) && !waits_for_device(calls.api[call]);
    if (before != no_row) {
      const double gap = to_us(calls.begin[call] - calls.begin[before] - calls.duration[before]);
      out.push_back(usable ? gap : -1);
    }
    before = call;
  }
  return out;
}

}  // namespace

std::optional<Observation> no_steps(const Evidence& e) {
  if (e.run.links.steps_by != StepsBy::nothing) return {};
  return Observation{Concern::doubt, 1, 0, "whole trace"};
}

std::optional<Observation> missing_steps(const Evidence& e) {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t n : e.run.trace.annotations.step) {
    if (n >= 0) numbers.push_back(n);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.size() < 2) return {};
  const std::int64_t missing =
      numbers.back() - numbers.front() + 1 - static_cast<std::int64_t>(numbers.size());
  if (missing == 0) return {};
  return Observation{Concern::wrong, static_cast<double>(missing), 0,
                     fmt::format("steps {} to {}", numbers.front(), numbers.back())};
}

/// How long a step lasts, and how many kernels it launches.
struct Length {
  double us = 0;
  double kernels = 0;
};

/// The steps behind the first one of its kind. Where there are none, all others.
std::vector<Length> steps_to_compare(const Evidence& e, const Length& first, bool& other_kind) {
  const auto& steps = e.run.links.steps;
  std::vector<Length> alike;
  std::vector<Length> all;
  for (std::size_t s = 1; s < steps.size(); ++s) {
    const Length one{to_us(steps[s].end - steps[s].begin),
                     static_cast<double>(e.kernels[s].size())};
    all.push_back(one);
    if (!of_another_kind(first.kernels, one.kernels)) alike.push_back(one);
  }
  other_kind = alike.empty();
  return other_kind ? all : alike;
}

std::optional<Observation> warm_up_inside(const Evidence& e) {
  const auto& steps = e.run.links.steps;
  if (e.run.losses.count("warm_up_step") > 0) {
    return Observation{Concern::note, 1, 0, "before " + steps.front().name + "; it was left out"};
  }
  if (steps.size() < 2) return {};
  const Length first{to_us(steps[0].end - steps[0].begin),
                     static_cast<double>(e.kernels.front().size())};
  bool other_kind = false;
  std::vector<double> others;
  std::vector<double> kernels;
  for (const Length& one : steps_to_compare(e, first, other_kind)) {
    others.push_back(one.us);
    kernels.push_back(one.kernels);
  }
  const double usual = median(others);
  double ratio = usual > 0 ? first.us / usual : 0;
  double limit = others.size() == 1 ? e.limits.warm_up_of_two : e.limits.warm_up;
  if (other_kind) {  // lasts as much longer as it launches more; a warm-up, more than that
    ratio /= std::max(1.0, first.kernels / std::max(1.0, median(kernels)));
    limit = e.limits.warm_up_wrong;
  }
  if (ratio <= limit) return {};
  return Observation{ratio > e.limits.warm_up_wrong ? Concern::wrong : Concern::doubt, ratio, limit,
                     steps.front().name};
}

std::optional<Observation> steps_not_alike(const Evidence& e) {
  const std::size_t steps = e.kernels.size();
  const std::size_t alike = e.repeated.steps.size();
  if (steps < 2 || alike == steps || e.run.trace.activities.size() == 0) return {};
  return Observation{alike < 2 ? Concern::doubt : Concern::note, static_cast<double>(steps - alike),
                     0, fmt::format("of {} steps", steps)};
}

std::optional<Observation> host_noise(const Evidence& e) {
  std::vector<std::vector<double>> gaps;  // per step
  for (const std::size_t s : e.repeated.steps) {
    gaps.push_back(host_gaps(e.run, e.run.links.steps[s]));
    if (gaps.back().size() != gaps.front().size()) return {};
  }
  if (gaps.empty()) return {};
  double spread = 0;
  double all = 0;
  for (std::size_t i = 0; i < gaps.front().size(); ++i) {
    std::vector<double> same;
    for (const auto& step : gaps) {
      if (step[i] >= 0) same.push_back(step[i]);
    }
    if (same.size() != gaps.size()) continue;
    const double mean = std::accumulate(same.begin(), same.end(), 0.0) / double(same.size());
    for (const double gap : same) spread += std::abs(gap - mean);
    all += mean * double(same.size());
  }
  const double noise = all > 0 ? spread / all : 0;
  if (noise <= e.limits.host_noise) return {};
  return Observation{
      Concern::doubt, noise, e.limits.host_noise,
      fmt::format("{} gaps between calls in {} steps", gaps.front().size(), gaps.size())};
}

std::optional<Observation> profiler_share(const Evidence& e) {
  const TraceSummary& s = e.run.summary;
  if (s.traced_step_us <= 0 || s.unprofiled_step_us <= 0) return {};
  const double share = 1 - s.unprofiled_step_us / s.traced_step_us;
  if (share <= e.limits.profiler_note) return {};
  return Observation{share > e.limits.profiler_share ? Concern::doubt : Concern::note, share,
                     e.limits.profiler_share,
                     fmt::format("{:.3f} ms a traced step, {:.3f} ms predicted without",
                                 s.traced_step_us * 1e-3, s.unprofiled_step_us * 1e-3)};
}

}  // namespace tandem
