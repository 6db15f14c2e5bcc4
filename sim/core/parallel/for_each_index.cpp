#include "sim/core/parallel/for_each_index.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define TANDEM_PLAIN_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TANDEM_PLAIN_THREADS
#endif
#endif

#ifndef TANDEM_PLAIN_THREADS
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace tandem {

namespace {

/// What failed, of the lowest index: the same however many threads there are, since nothing below
/// it is left out.
class FirstFailure {
 public:
  void run(std::size_t i, const std::function<void(std::size_t)>& work) {
    if (i > lowest_.load(std::memory_order_relaxed)) return;
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (i >= lowest_) return;
      lowest_ = i;
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> lowest_ = static_cast<std::size_t>(-1);
  std::exception_ptr error_;
};

#ifdef TANDEM_PLAIN_THREADS

// ThreadSanitizer does not see how TBB's library, which is compiled without it, hands work from one
// thread to another, and reports what is in order.
void run_all(std::size_t count, int threads, const std::function<void(std::size_t)>& run) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t most = threads > 0 ? static_cast<std::size_t>(threads) : cores;
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) run(i);
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(most, count); ++t) others.emplace_back(take);
  take();
  for (std::thread& other : others) other.join();
}

#else

void run_all(std::size_t count, int threads, const std::function<void(std::size_t)>& run) {
  std::optional<tbb::global_control> limit;
  if (threads > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads));
  }
  tbb::this_task_arena::isolate(
      [&] { tbb::parallel_for(std::size_t{0}, count, std::size_t{1}, run); });
}

#endif

}  // namespace

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  FirstFailure failure;
  run_all(count, threads, [&](std::size_t i) { failure.run(i, work); });
  failure.rethrow();
}

}  // namespace tandem
