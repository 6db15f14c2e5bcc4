#include "sim/engine/plan_check.h"

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/core/bounds/limits.h"
#include "sim/core/error.h"

namespace tandem {

namespace {

[[noreturn]] void fail(const char* kind, std::size_t row, const std::string& found,
                       const std::string& expected) {
  throw InputError("plan of the step", std::string(kind) + " " + std::to_string(row), found,
                   expected);
}

std::string id_text(std::uint32_t id) { return std::to_string(id); }

/// Whether [first, first + count) lies in [0, size).
bool within(std::uint32_t first, std::uint32_t count, std::size_t size) {
  return std::uint64_t{first} + count <= size;
}

void check_wait(const Plan& plan, std::uint32_t i) {
  const HostItem& item = plan.items[i];
  if (item.after != no_index && item.after >= i) {
    fail("host item", i, "a hand-off from item " + id_text(item.after),
         "one from an item before it");
  }
  if (item.wait == WaitFor::own_work && item.work_count == 0) {
    fail("host item", i, "a wait for work of its own that it does not have", "a launch");
  }
  if (item.wait != WaitFor::work) return;
  if (item.wait_work >= plan.works.size()) {
    fail("host item", i, "a wait for work " + id_text(item.wait_work), "work of the plan");
  }
  const std::uint32_t source = plan.works[item.wait_work].item;
  if (source != no_index && source > i) {
    fail("host item", i, "a wait for work " + id_text(item.wait_work) + ", which is launched later",
         "work that was launched before");
  }
}

void check_item(const HostItem& item, std::uint32_t i) {
  const bool launches = item.kind == ItemKind::launch || item.kind == ItemKind::graph_launch;
  if (launches && item.work_count == 0) {
    fail("host item", i, "a launch without device work", "a call");
  }
  if (item.input < Duration::zero() || item.input > item.gap) {
    fail("host item", i, fmt::format("{} us of waiting for input", to_us(item.input)),
         fmt::format("a part of its gap, {} us", to_us(item.gap)));
  }
}

void check_items(const Plan& plan) {
  for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    if (item.thread >= plan.threads.size()) {
      fail("host item", i, "thread " + id_text(item.thread), "a thread of the plan");
    }
    if (!within(item.first_work, item.work_count, plan.works.size())) {
      fail("host item", i, "works from " + id_text(item.first_work), "works of the plan");
    }
    check_item(item, i);
    check_wait(plan, i);
  }
}

void check_works(const Plan& plan) {
  std::vector<std::uint32_t> members(plan.meetings.size(), 0);
  std::size_t preloaded = 0;
  for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
    const DeviceWork& work = plan.works[w];
    if (work.stream >= plan.streams.size()) {
      fail("device work", w, "stream " + id_text(work.stream), "a stream of the plan");
    }
    preloaded += work.item == no_index ? 1 : 0;
    if (work.item != no_index && work.item >= plan.items.size()) {
      fail("device work", w, "host item " + id_text(work.item), "an item of the plan");
    }
    if (!within(work.first_edge, work.edge_count, plan.edges.size())) {
      fail("device work", w, "edges from " + id_text(work.first_edge), "edges of the plan");
    }
    if (work.meeting == no_index) continue;
    if (work.meeting >= members.size()) {
      fail("device work", w, "meeting " + id_text(work.meeting), "a meeting of the plan");
    }
    ++members[work.meeting];
  }
  if (preloaded > plan.preloaded_start.size()) {
    fail("device work", preloaded, "work that nothing launches", "a start for each");
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m] == plan.meetings[m].members) continue;
    fail("meeting", m, std::to_string(members[m]) + " works",
         std::to_string(plan.meetings[m].members));
  }
  for (std::size_t e = 0; e < plan.edges.size(); ++e) {
    if (plan.edges[e].work < plan.works.size() && !plan.edges[e].previous_step) continue;
    fail("dependency", e, "work " + id_text(plan.edges[e].work), "work of the plan");
  }
}

double size_of(Duration d) { return std::abs(static_cast<double>(d.count())); }

/// Errors: InputError for a length that may be longer than it says, as `rounded_ps` cuts it.
double sum_of(const char* kind, std::size_t row, std::initializer_list<Duration> lengths) {
  constexpr auto most = static_cast<double>(limits::predicted_ps);
  double ps = 0;
  for (const Duration length : lengths) {
    if (size_of(length) >= most) {
      fail(kind, row, fmt::format("{:g} us or more", to_us(length)),
           fmt::format("less than {:g} us", to_us(Duration{limits::predicted_ps})));
    }
    ps += size_of(length);
  }
  return ps;
}

/// No time of the simulation exceeds the sum of all lengths, after the latest start.
void check_length(const Plan& plan) {
  double ps = 0;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    ps += sum_of("host item", i, {item.gap, item.call, item.return_delay, item.wake});
  }
  for (std::size_t w = 0; w < plan.works.size(); ++w) {
    const DeviceWork& work = plan.works[w];
    ps += sum_of("device work", w, {work.duration, work.latency, work.gap, work.far_gap});
  }
  for (std::size_t e = 0; e < plan.edges.size(); ++e) {
    ps += sum_of("dependency", e, {plan.edges[e].delay});
  }
  if (ps <= static_cast<double>(limits::plan_ps)) return;
  constexpr auto ps_per_day = 86'400.0 * static_cast<double>(limits::ps_per_s);
  throw InputError("plan of the step", "sum of all durations",
                   std::to_string(ps / ps_per_day) + " days",
                   "at most " + std::to_string(limits::plan_ps / ps_per_day) + " days");
}

}  // namespace

void check_plan(const Plan& plan) {
  check_items(plan);
  check_works(plan);
  check_length(plan);
}

}  // namespace tandem
