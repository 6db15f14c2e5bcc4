// Many inputs on all cores, shown as if they came one after the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "sim/core/parallel/for_each_index.h"

namespace tandem {

/// Results that come in any order and leave in that of their indices.
template <typename Done>
class Ordered {
 public:
  /// `most`: that wait.
  explicit Ordered(std::size_t most) : most_(most) {}

  /// Shows what is next, in this thread or in one that shows already. Where too many results wait
  /// it waits as well; the next one is at work elsewhere and never waits.
  template <typename Show>
  void add(std::size_t i, Done done, const Show& show) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return failed_ || i < next_ + most_; });
    if (failed_) return;
    waiting_.emplace(i, std::move(done));
    if (showing_) return;
    showing_ = true;
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      Done first = std::move(waiting_.extract(waiting_.begin()).mapped());
      lock.unlock();
      show(std::move(first));
      lock.lock();
      ++next_;
      room_.notify_all();
    }
    showing_ = false;
  }

  /// One never comes: nobody waits for it.
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    room_.notify_all();
  }

 private:
  std::size_t most_, next_ = 0;
  std::map<std::size_t, Done> waiting_;
  bool showing_ = false, failed_ = false;
  std::mutex mutex_;
  std::condition_variable room_;
};

/// `show(work(i))` for each i below `count`, `work` on up to `threads` threads (0: all cores),
/// `show` in order and one at a time. No more results than threads wait. Errors: what either
/// throws; the others may have run then.
template <typename Work, typename Show>
void in_order(std::size_t count, int threads, const Work& work, const Show& show) {
  using Done = decltype(work(std::size_t{}));
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  Ordered<Done> ordered(static_cast<std::size_t>(std::max(1, threads > 0 ? threads : cores)));
  // Handed out in order, not as the loop counts: the next to be shown is always at work.
  std::atomic<std::size_t> next = 0;
  for_each_index(count, threads, [&](std::size_t) {
    try {
      const std::size_t i = next++;
      ordered.add(i, work(i), show);
    } catch (...) {
      ordered.fail();
      throw;
    }
  });
}

}  // namespace tandem
