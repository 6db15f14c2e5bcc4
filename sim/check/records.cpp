#include "sim/check/records.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem {

namespace {

/// Launches and kernels that found no partner, where both should have been recorded.
struct Unpaired {
  std::int64_t launches = 0;  // of kernels, in the trace
  std::int64_t kernels = 0;   // that must have been launched within the trace
  std::int64_t empty = 0;     // launches without kernel, before the last launch that has one
  std::int64_t tail = 0;      // behind it
  std::int64_t orphans = 0;   // kernels without launch
  std::int64_t before = 0;    // kernels that were launched before the trace began
  std::uint32_t first_empty = no_row, first_tail = no_row, first_orphan = no_row;

  // Where both sides lack a partner, what joined them is lost rather than the records.
  std::int64_t pairs() const { return std::min(empty + tail, orphans); }
  std::int64_t dropped() const { return std::max<std::int64_t>(0, empty - orphans); }
  std::int64_t cut() const {
    return std::min(tail, std::max<std::int64_t>(0, empty + tail - orphans));
  }
  std::int64_t unlaunched() const { return orphans - pairs(); }
};

bool launches_kernel(ApiKind api) {
  return api == ApiKind::launch_kernel || api == ApiKind::launch_graph;
}

void count_launches(const TracedRun& run, Unpaired& out) {
  const auto& calls = run.links.calls_in_order;
  const auto is_launch = [&](std::uint32_t call) {
    return launches_kernel(run.trace.calls.api[call]);
  };
  const auto is_empty = [&](std::uint32_t call) {
    return run.links.activities_of_call.of(call).empty();
  };
  std::size_t last = 0;  // behind the last launch of a kernel that is there
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (is_launch(calls[i]) && !is_empty(calls[i])) last = i + 1;
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_launch(calls[i])) continue;
    ++out.launches;
    if (!is_empty(calls[i])) continue;
    std::uint32_t& first = i < last ? out.first_empty : out.first_tail;
    if (first == no_row) first = calls[i];
    ++(i < last ? out.empty : out.tail);
  }
}

/// Streams run in the order of the launches: behind the first kernel of a stream whose launch is in
/// the trace, all must have theirs. Where no kernel of any stream has, nothing is known to be lost
/// but the numbers.
void count_kernels(const TracedRun& run, Unpaired& out) {
  const Activities& acts = run.trace.activities;
  for (std::size_t s = 0; s < run.trace.streams.size(); ++s) {
    bool launched = false;
    for (const std::uint32_t a : run.links.activities_of_stream.of(s)) {
      if (acts.kind[a] != ActivityKind::kernel) continue;
      const bool orphan = run.links.call_of_activity[a] == no_row;
      launched |= !orphan;
      const bool no_number = acts.correlation[a] < 0 && out.launches > 0;
      out.before += !launched && !no_number;
      if (!launched && !no_number) continue;
      ++out.kernels;
      if (!orphan) continue;
      ++out.orphans;
      if (out.first_orphan == no_row) out.first_orphan = a;
    }
  }
}

Unpaired unpaired(const TracedRun& run) {
  Unpaired out;
  count_launches(run, out);
  count_kernels(run, out);
  return out;
}

std::optional<Observation> share_lost(const Evidence& e, std::int64_t lost, std::int64_t all,
                                      std::string place) {
  const double share = all > 0 ? static_cast<double>(lost) / static_cast<double>(all) : 0;
  if (share <= 0) return {};
  return Observation{share > e.limits.lost_share ? Concern::wrong : Concern::doubt, share,
                     e.limits.lost_share,
                     fmt::format("{} of {}, first in {}", lost, all, std::move(place))};
}

}  // namespace

std::optional<Observation> no_host(const Evidence& e) {
  if (e.run.trace.calls.size() > 0 || e.run.trace.nodes.size() > 0) return {};
  return Observation{Concern::doubt, 1, 0, "whole trace"};
}

std::optional<Observation> missing_correlations(const Evidence& e) {
  const Unpaired u = unpaired(e.run);
  if (u.pairs() == 0) return {};
  return share_lost(e, u.pairs(), u.launches, place_of_kernel(e, u.first_orphan));
}

std::optional<Observation> dropped_kernels(const Evidence& e) {
  const Unpaired u = unpaired(e.run);
  if (u.dropped() == 0) return {};
  return share_lost(e, u.dropped(), u.launches,
                    place_of(e, e.run.trace.calls.begin[u.first_empty]));
}

std::optional<Observation> missing_launches(const Evidence& e) {
  const Unpaired u = unpaired(e.run);
  if (u.launches == 0 || u.unlaunched() == 0) return {};
  return share_lost(e, u.unlaunched(), u.kernels, place_of_kernel(e, u.first_orphan));
}

std::optional<Observation> launched_before(const Evidence& e) {
  const Unpaired u = unpaired(e.run);
  if (u.launches == 0) return {};
  const double share = static_cast<double>(u.before) /
                       static_cast<double>(std::max<std::int64_t>(u.before + u.kernels, 1));
  if (share <= e.limits.lost_share) return {};
  // With several steps those kernels are of the step before them.
  return Observation{e.run.links.steps.size() > 1 ? Concern::note : Concern::doubt, share,
                     e.limits.lost_share,
                     fmt::format("{} of {} kernels", u.before, u.before + u.kernels)};
}

/// Time at the end of a step in which the host records nothing, as a share of the step.
double silence(const TracedRun& run, const StepWindow& step) {
  TimePoint last = step.begin;
  const auto see = [&](const auto& rows) {
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      if (rows.begin[i] >= step.begin && rows.begin[i] < step.end) {
        last = std::max(last, end_of(rows, i));
      }
    }
  };
  see(run.trace.calls);
  see(run.trace.ops);
  return to_us(std::max(Duration::zero(), step.end - last)) / to_us(step.end - step.begin);
}

/// Whether the last step ends as the one before it does: a shorter one is then of another kind, as
/// an evaluation, and not cut.
bool recorded_to_the_end(const Evidence& e) {
  const auto& steps = e.run.links.steps;
  const StepWindow& last = steps.back();
  if (last.end <= last.begin) return false;
  const StepWindow& before = steps[steps.size() - 2];
  const double usual = before.end > before.begin ? silence(e.run, before) : 0;
  return silence(e.run, last) <= usual + e.limits.silent_end;
}

std::optional<Observation> truncated(const Evidence& e) {
  const Unpaired u = unpaired(e.run);
  if (u.cut() > 0) {
    return share_lost(e, u.cut(), u.launches, place_of(e, e.run.trace.calls.begin[u.first_tail]));
  }
  // A last step that begins as the one before it and stops: the end of the buffer.
  if (e.kernels.size() < 2) return {};
  const Activities& acts = e.run.trace.activities;
  const auto& whole = e.kernels[e.kernels.size() - 2];
  const auto& last = e.kernels.back();
  const bool begins_alike =
      last.size() < whole.size() &&
      std::equal(last.begin(), last.end(), whole.begin(), [&](std::uint32_t a, std::uint32_t b) {
        return acts.name[a].value == acts.name[b].value;
      });
  if (!begins_alike || (u.launches > 0 && recorded_to_the_end(e))) return {};
  const double share = 1 - static_cast<double>(last.size()) / static_cast<double>(whole.size());
  return Observation{Concern::wrong, share, 0,
                     fmt::format("{} ends after {} of {} kernels", e.run.links.steps.back().name,
                                 last.size(), whole.size())};
}

std::optional<Observation> overlapping_on_stream(const Evidence& e) {
  const Activities& acts = e.run.trace.activities;
  Duration over{};
  Duration all{};
  std::uint32_t first = no_row;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    all += acts.duration[a];
    const std::uint32_t before = e.run.links.stream_predecessor[a];
    if (before == no_row) continue;
    const Duration both = acts.begin[before] + acts.duration[before] - acts.begin[a];
    // Programmatic launches and graph branches begin while the work before them drains.
    if (to_us(both) <= e.limits.overlap_us) continue;
    over += std::min(both, acts.duration[a]);
    if (first == no_row) first = a;
  }
  const double share = all > Duration{} ? to_us(over) / to_us(all) : 0;
  if (share <= 0) return {};
  return Observation{share > e.limits.overlap_share ? Concern::wrong : Concern::note, share,
                     e.limits.overlap_share, place_of_kernel(e, first)};
}

}  // namespace tandem
