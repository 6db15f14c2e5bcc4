#include "sim/predict/ranks/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/runtime/step_plan.h"
#include "sim/core/error.h"
#include "sim/engine/engine.h"
#include "sim/engine/plan_check.h"
#include "sim/metrics/communication.h"

namespace tandem {

namespace {

constexpr std::size_t least_copies = 6, most_copies = 24;

/// Where the parts of a rank begin in the joint plan.
struct Offsets {
  std::uint32_t items = 0;
  std::uint32_t works = 0;
};

/// Errors: InputError for more threads or streams than a plan tells apart.
void check_count(std::size_t count, const char* what, const std::string& path) {
  constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max();
  if (count <= most) return;
  throw InputError(path, what, fmt::format("{} with those of the other ranks", count),
                   fmt::format("at most {}; traces of fewer ranks", most));
}

/// `path`: of the rank. Errors: InputError.
void append(const Plan& from, std::uint16_t rank, const std::string& path, Plan& to) {
  const auto items = static_cast<std::uint32_t>(to.items.size());
  const auto works = static_cast<std::uint32_t>(to.works.size());
  const auto edges = static_cast<std::uint32_t>(to.edges.size());
  check_count(to.threads.size() + from.threads.size(), "threads", path);
  check_count(to.streams.size() + from.streams.size(), "streams", path);
  const auto threads = static_cast<std::uint16_t>(to.threads.size());
  const auto streams = static_cast<std::uint16_t>(to.streams.size());
  for (PlanThread thread : from.threads) {
    // Clocks of the traces differ; the steady state does not depend on when a rank begins.
    thread.begin = TimePoint{};
    thread.rank = rank;
    to.threads.push_back(thread);
  }
  for (const std::string& stream : from.streams) {
    to.streams.push_back(stream);
    to.stream_rank.push_back(rank);
  }
  for (HostItem item : from.items) {
    item.first_work += works;
    if (item.after != no_index) item.after += items;
    if (item.wait_work != no_index) item.wait_work += works;
    item.thread = static_cast<std::uint16_t>(item.thread + threads);
    to.items.push_back(item);
  }
  for (DeviceWork work : from.works) {
    work.item += items;
    work.first_edge += edges;
    work.stream = static_cast<std::uint16_t>(work.stream + streams);
    to.works.push_back(work);
  }
  for (WorkEdge edge : from.edges) {
    edge.work += works;
    to.edges.push_back(edge);
  }
  to.queue_depth = from.queue_depth;
}

/// The collectives of a step by group, in order. Sends between two ranks are left alone.
std::map<std::string, std::vector<std::uint32_t>> groups_of(const RankStep& rank) {
  std::map<std::string, std::vector<std::uint32_t>> out;
  for (std::uint32_t w = 0; w < rank.plan.works.size(); ++w) {
    const Collective* const c = collective_of(rank.trace, rank.plan.works[w].source);
    if (c == nullptr || c->kind == CollectiveKind::point_to_point) continue;
    std::string key = c->group;
    for (const int member : c->members) key += fmt::format(" {}", member);
    out[key].push_back(w);
  }
  return out;
}

/// Errors: InputError if the `k`-th collective of a group is not the same for two ranks.
void check_same(const RankStep& a, const RankStep& b, const std::string& group,
                const std::vector<std::uint32_t>& of_a, const std::vector<std::uint32_t>& of_b) {
  const std::string place = fmt::format("collectives of group {}", group);
  if (of_a.size() != of_b.size()) {
    throw InputError(b.path, place, fmt::format("{} in a step", of_b.size()),
                     fmt::format("{}, as rank {} has", of_a.size(), a.rank));
  }
  for (std::size_t k = 0; k < of_a.size(); ++k) {
    const Collective& x = *collective_of(a.trace, a.plan.works[of_a[k]].source);
    const Collective& y = *collective_of(b.trace, b.plan.works[of_b[k]].source);
    if (x.kind == y.kind) continue;
    throw InputError(b.path, fmt::format("{}, number {}", place, k + 1),
                     std::string(to_string(y.kind)),
                     fmt::format("{}, as rank {} has", to_string(x.kind), a.rank));
  }
}

/// Numbers the meetings of every copy of the steps.
void meet(std::span<const RankStep> ranks, const std::vector<Offsets>& offsets, std::size_t copies,
          Plan& joint) {
  std::vector<std::map<std::string, std::vector<std::uint32_t>>> groups;
  for (const RankStep& rank : ranks) groups.push_back(groups_of(rank));
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const auto& [group, works] : groups[r]) members[group].push_back(r);
  }
  for (const auto& [group, who] : members) {
    if (who.size() < 2) continue;
    const auto& first = groups[who[0]].at(group);
    for (const std::size_t r : who) {
      check_same(ranks[who[0]], ranks[r], group, first, groups[r].at(group));
    }
    for (std::size_t copy = 0; copy < copies; ++copy) {
      for (std::size_t k = 0; k < first.size(); ++k) {
        const auto meeting = static_cast<std::uint32_t>(joint.meetings.size());
        joint.meetings.push_back({static_cast<std::uint32_t>(who.size())});
        for (const std::size_t r : who) {
          const std::size_t in_copy = copy * ranks[r].plan.works.size() + groups[r].at(group)[k];
          joint.works[offsets[r].works + in_copy].meeting = meeting;
        }
      }
    }
  }
  if (!joint.meetings.empty()) return;
  throw InputError(ranks.back().path, "collectives", "none in common with the other traces",
                   "traces of the ranks of one run, with the process groups of their collectives");
}

Timeline part_of(const Timeline& all, Offsets from, std::size_t items, std::size_t works) {
  const auto cut = [](const auto& column, std::size_t first, std::size_t count) {
    const auto begin = column.begin() + static_cast<std::ptrdiff_t>(first);
    return std::decay_t<decltype(column)>(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  Timeline out;
  out.item_begin = cut(all.item_begin, from.items, items);
  out.item_end = cut(all.item_end, from.items, items);
  out.item_submit = cut(all.item_submit, from.items, items);
  out.item_slot.assign(items, no_index);
  out.work_begin = cut(all.work_begin, from.works, works);
  out.work_end = cut(all.work_end, from.works, works);
  for (const TimePoint end : out.work_end) out.end = std::max(out.end, end);
  for (const TimePoint end : out.item_end) out.end = std::max(out.end, end);
  return out;
}

/// How far apart the ranks come to the meetings of the last copy.
void add_skew(const Plan& joint, const Timeline& timeline, RanksSummary& out) {
  struct Arrivals {
    TimePoint first = TimePoint::max();
    TimePoint last = TimePoint::min();
  };
  std::vector<Arrivals> arrivals(joint.meetings.size());
  for (std::size_t w = 0; w < joint.works.size(); ++w) {
    if (joint.works[w].meeting == no_index) continue;
    Arrivals& a = arrivals[joint.works[w].meeting];
    a.first = std::min(a.first, timeline.work_begin[w]);
    a.last = std::max(a.last, timeline.work_begin[w]);
  }
  for (const Arrivals& a : arrivals) {
    const double us = to_us(a.last - a.first);
    out.skew_mean_us += us / static_cast<double>(arrivals.size());
    out.skew_worst_us = std::max(out.skew_worst_us, us);
  }
}

/// How long the collectives of a rank last in one copy of its step.
Duration collectives_of(const Plan& step, const Timeline& all, std::size_t copy) {
  Duration sum{};
  for (std::size_t w = 0; w < step.works.size(); ++w) {
    if (step.works[w].engine != DeviceEngine::collective) continue;
    const std::size_t at = copy * step.works.size() + w;
    sum += all.work_end[at] - all.work_begin[at];
  }
  return sum;
}

/// Whether the rank waited as long in the last copy as in the one before: who is ahead of others
/// gets further ahead, step by step, as far as its host may.
bool settled(const Plan& step, const Timeline& all, std::size_t copies) {
  constexpr double close = 1e-3;
  const double last = to_us(collectives_of(step, all, copies - 1));
  return std::abs(last - to_us(collectives_of(step, all, copies - 2))) <= close * last;
}

/// `steady`: whether all ranks have settled.
RanksTogether simulate_copies(std::span<const RankStep> ranks, const HostModel& host,
                              std::size_t copies, bool& steady) {
  Plan joint;
  std::vector<Offsets> offsets;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    offsets.push_back({static_cast<std::uint32_t>(joint.items.size()),
                       static_cast<std::uint32_t>(joint.works.size())});
    append(repeat(ranks[r].plan, copies, host), static_cast<std::uint16_t>(r), ranks[r].path,
           joint);
  }
  meet(ranks, offsets, copies, joint);
  check_plan(joint);  // what is left for simulate() to find is the order in which ranks meet
  Timeline timeline;
  try {
    timeline = simulate(joint);
  } catch (const InputError&) {
    throw InputError(ranks.back().path, "collectives",
                     "an order in which the ranks wait for each other for ever",
                     "traces of the ranks of one run");
  }
  RanksTogether out;
  add_skew(joint, timeline, out.summary);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Plan& step = ranks[r].plan;
    const std::size_t items = step.items.size();
    const std::size_t works = step.works.size();
    const Timeline all = part_of(timeline, offsets[r], copies * items, copies * works);
    steady = steady && settled(step, all, copies);
    const Offsets last{static_cast<std::uint32_t>((copies - 1) * items),
                       static_cast<std::uint32_t>((copies - 1) * works)};
    RankShare share;
    share.rank = ranks[r].rank;
    share.time_us = to_us(steady_period(step, all, copies));
    const std::size_t first = offsets[r].works + last.works;
    const MovedTime moved =
        moved_time(joint, timeline, first, first + works,
                   [](const DeviceWork& w) { return w.engine == DeviceEngine::collective; });
    share.collective_us = moved.time_us;
    share.waiting_us = moved.waiting_us;
    share.exposed_us = moved.exposed_us;
    out.summary.time_us = std::max(out.summary.time_us, share.time_us);
    out.summary.ranks.push_back(share);
    out.runs.push_back({step, part_of(all, last, items, works)});
  }
  return out;
}

}  // namespace

RanksTogether simulate_ranks(std::span<const RankStep> ranks, const HostModel& host) {
  for (std::size_t copies = least_copies;; copies *= 2) {
    bool steady = true;
    RanksTogether out = simulate_copies(ranks, host, copies, steady);
    if (steady || 2 * copies > most_copies) return out;
  }
}

}  // namespace tandem
