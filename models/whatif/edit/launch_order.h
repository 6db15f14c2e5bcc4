// When the host launched the works of a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "models/step/step.h"

namespace tandem {

/// The works of the plan by the begin of their call, per thread.
class LaunchOrder {
 public:
  explicit LaunchOrder(const Step& step) : by_thread_(step.trace.threads.size()) {
    for (const HostItem& item : step.plan.items) {
      if (item.source == no_index || item.work_count == 0) continue;
      by_thread_[step.trace.calls.thread[item.source].index()].push_back(
          {step.trace.calls.begin[item.source], item.first_work,
           item.first_work + item.work_count - 1});
    }
    for (auto& list : by_thread_) {
      std::sort(list.begin(), list.end(), [](const Launch& a, const Launch& b) {
        return std::pair(a.begin, a.last) < std::pair(b.begin, b.last);
      });
    }
  }
  /// The last work that `thread` launched before `at`, or none.
  std::uint32_t before(ThreadId thread, TimePoint at) const {
    const auto& list = by_thread_[thread.index()];
    const auto it = first_from(list, at);
    return it == list.begin() ? no_index : std::prev(it)->last;
  }
  /// The first work that `thread` launched at `at` or later, or none.
  std::uint32_t from(ThreadId thread, TimePoint at) const {
    const auto& list = by_thread_[thread.index()];
    const auto it = first_from(list, at);
    return it == list.end() ? no_index : it->first;
  }

 private:
  struct Launch {
    TimePoint begin;
    std::uint32_t first, last;  // works
  };
  static std::vector<Launch>::const_iterator first_from(const std::vector<Launch>& list,
                                                        TimePoint at) {
    return std::partition_point(list.begin(), list.end(),
                                [&](const Launch& one) { return one.begin < at; });
  }

  std::vector<std::vector<Launch>> by_thread_;
};

}  // namespace tandem
