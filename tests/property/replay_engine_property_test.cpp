// Random plans: every time in the timeline must follow from the rules of plan.h, checked one by one
// without an event queue.
#include <gtest/gtest.h>

#include <random>

#include "sim/engine/engine.h"
#include "sim/metrics/critical_path.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

using test::PlanBuilder;
using test::WorkSpec;

constexpr int plans = 3000;

class RandomPlans {
 public:
  explicit RandomPlans(std::uint64_t seed) : random_(seed) {}

  Plan next() {
    threads_ = 1 + below(3);
    streams_ = 1 + below(4);
    longest_ = below(2) == 0 ? 80 : 1600;  // a host far ahead of long work, or near short work
    PlanBuilder b(threads_, streams_);
    b.plan.queue_depth = below(3) == 0 ? 1 + static_cast<std::uint32_t>(below(4)) : 1000;
    const int items = 1 + below(40);
    for (int i = 0; i < items; ++i) add_item(b);
    redirect_edges(b.plan);
    return b.plan;
  }

 private:
  /// Lets some edges point to later work.
  void redirect_edges(Plan& plan) {
    const auto works = static_cast<std::uint32_t>(plan.works.size());
    for (std::uint32_t w = 0; w + 1 < works; ++w) {
      const DeviceWork& work = plan.works[w];
      for (std::uint32_t e = work.first_edge; e < work.first_edge + work.edge_count; ++e) {
        if (below(4) != 0) continue;
        plan.edges[e].work = w + 1 + static_cast<std::uint32_t>(below(int(works - w - 1)));
      }
    }
  }
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  double time() { return 0.25 * below(80); }

  WorkSpec work(const Plan& plan) {
    WorkSpec spec{
        .us = 0.25 * below(longest_), .latency_us = 0.25 * below(12), .stream = below(streams_)};
    spec.gap_us = 0.25 * (below(12) - 4);
    spec.far_gap_us = 0.25 * (below(12) - 4);
    if (below(6) == 0)
      spec.engine = below(2) == 0 ? DeviceEngine::copy_to_device : DeviceEngine::copy_to_host;
    const auto works = static_cast<int>(plan.works.size());
    for (int e = below(4); e > 2 && works > 0; --e) {
      spec.edges.push_back({static_cast<std::uint32_t>(below(works)), from_us(time() / 4)});
    }
    return spec;
  }

  void add_item(PlanBuilder& b) {
    const int thread = below(threads_);
    const auto works = static_cast<int>(b.plan.works.size());
    std::uint32_t i = 0;
    switch (below(8)) {
      case 0: i = b.call(time(), time(), thread); break;
      case 1:
        i = b.graph(time(), time(), {work(b.plan), work(b.plan), work(b.plan)}, thread);
        break;
      case 2: i = b.sync(time(), time() / 4, time() / 4, no_index, thread); break;
      case 3:
        if (works > 0) {
          const auto target = static_cast<std::uint32_t>(below(works));
          i = b.sync(time(), time() / 4, time() / 4, target, thread);
          break;
        }
        [[fallthrough]];
      default:
        i = b.launch(time(), time(), work(b.plan), thread);
        b.plan.items[i].submit = scale(b.plan.items[i].call, 0.25 * below(5));
        if (below(4) == 0) {
          b.plan.items[i].wait = WaitFor::own_work;
          b.plan.items[i].return_delay = from_us(time() / 4);
        }
    }
    if (i > 0 && below(5) == 0) {
      b.plan.items[i].after = static_cast<std::uint32_t>(below(static_cast<int>(i)));
    }
  }

  std::mt19937_64 random_;
  int threads_ = 1;
  int streams_ = 1;
  int longest_ = 80;  // work, in quarters of a microsecond
};

/// Stops at the first plan that fails.
template <class Check>
void for_random_plans(std::uint64_t seed, Check check) {
  RandomPlans random(seed);
  for (int i = 0; i < plans; ++i) {
    SCOPED_TRACE("plan " + std::to_string(i));
    const Plan plan = random.next();
    check(plan, simulate(plan));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EngineProperty, HostItemsBeginAsSoonAsTheyMay) {
  std::size_t items = 0;
  for_random_plans(1, [&](const Plan& plan, const Timeline& t) {
    std::vector<TimePoint> free(plan.threads.size());
    for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
      const HostItem& item = plan.items[i];
      TimePoint base = free[item.thread];
      if (item.after != no_index) base = std::max(base, t.item_end[item.after]);
      EXPECT_EQ(t.item_begin[i], base + item.gap);
      EXPECT_GE(t.item_end[i], t.item_begin[i] + item.call);
      free[item.thread] = t.item_end[i];
      ++items;
    }
  });
  EXPECT_GE(items, 10u * plans);
}

TEST(EngineProperty, HostItemsEndWhenTheirWaitIsOver) {
  std::size_t waits = 0;
  for_random_plans(2, [&](const Plan& plan, const Timeline& t) {
    for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
      const HostItem& item = plan.items[i];
      const TimePoint began = t.item_slot[i] == no_index
                                  ? t.item_begin[i]
                                  : std::max(t.item_begin[i], t.work_end[t.item_slot[i]]);
      if (item.work_count > 0) {
        EXPECT_EQ(t.item_submit[i], began + item.submit);
      }
      TimePoint end = began + item.call;
      if (item.wait == WaitFor::work) {
        end = std::max(end, t.work_end[item.wait_work] + item.return_delay);
      } else if (item.wait == WaitFor::own_work) {
        end = std::max(end, t.work_end[item.first_work + item.work_count - 1] + item.return_delay);
      } else if (item.wait == WaitFor::all_work) {
        continue;
      }
      waits += item.wait != WaitFor::nothing;
      EXPECT_EQ(t.item_end[i], end);
    }
  });
  EXPECT_GE(waits, 2u * plans);
}

TEST(EngineProperty, ASynchronisationLeavesNothingBehindThatWasSubmitted) {
  std::size_t syncs = 0;
  for_random_plans(3, [&](const Plan& plan, const Timeline& t) {
    for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
      if (plan.items[i].wait != WaitFor::all_work) continue;
      ++syncs;
      for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
        const std::uint32_t launch = plan.works[w].item;
        if (launch < i && t.item_submit[launch] < t.item_begin[i]) {
          EXPECT_LE(t.work_end[w] + plan.items[i].return_delay, t.item_end[i]);
        }
      }
    }
  });
  EXPECT_GE(syncs, static_cast<std::size_t>(plans));
}

TEST(EngineProperty, WorkBeginsAsSoonAsItMay) {
  std::size_t works = 0;
  for_random_plans(4, [&](const Plan& plan, const Timeline& t) {
    std::vector<std::uint32_t> previous(plan.streams.size(), no_index);
    for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
      const DeviceWork& work = plan.works[w];
      const TimePoint arrival = t.item_submit[work.item];
      bool to_later = false;
      TimePoint start = arrival + work.latency;
      const std::uint32_t before = previous[work.stream];
      if (before != no_index) {
        const TimePoint free = t.work_end[before];
        start = std::max(start, free + gap_of(work, free, arrival));
      }
      for (std::uint32_t e = 0; e < work.edge_count; ++e) {
        const WorkEdge& edge = plan.edges[work.first_edge + e];
        if (edge.work >= w) {
          to_later = true;  // it counts if it happened to run
        } else {
          start = std::max(start, t.work_end[edge.work] + edge.delay);
        }
      }
      if (work.engine == DeviceEngine::compute && !to_later) {
        EXPECT_EQ(t.work_begin[w], start);
      } else {
        EXPECT_GE(t.work_begin[w], start);  // its copy engine may have been busy
      }
      EXPECT_GE(t.work_end[w], t.work_begin[w] + work.duration);
      if (before == no_index || t.work_begin[w] + work.duration >= t.work_end[before]) {
        EXPECT_EQ(t.work_end[w], std::max(t.work_begin[w] + work.duration, arrival));
      }
      previous[work.stream] = w;
      ++works;
    }
  });
  EXPECT_GE(works, 10u * plans);
}

TEST(EngineProperty, ABlockedLaunchGoesOnWhenWorkOfItsStreamEnds) {
  std::size_t blocked = 0;
  for_random_plans(5, [&](const Plan& plan, const Timeline& t) {
    for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
      if (t.item_slot[i] == no_index) continue;
      ++blocked;
      EXPECT_GE(t.work_end[t.item_slot[i]], t.item_begin[i]);
      const std::uint16_t stream = plan.works[plan.items[i].first_work].stream;
      EXPECT_EQ(plan.works[t.item_slot[i]].stream, stream);
    }
  });
  EXPECT_GE(blocked, plans / 4u);
}

TEST(EngineProperty, TheCriticalPathHasNoHoleAndNoOverlap) {
  std::size_t links = 0;
  for_random_plans(6, [&](const Plan& plan, const Timeline& t) {
    const auto path =
        critical_path(plan, t, TimePoint::min(), plan.items.size(), plan.works.size());
    ASSERT_FALSE(path.empty());
    for (std::size_t k = 0; k < path.size(); ++k) {
      EXPECT_LT(path[k].begin, path[k].end);
      if (k > 0) {
        EXPECT_EQ(path[k].begin, path[k - 1].end);
      }
    }
    EXPECT_EQ(path.back().end, t.end);
    links += path.size();
  });
  EXPECT_GE(links, 5u * plans);
}

}  // namespace
}  // namespace tandem
