#include "sim/sweep/ranks/workers.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tandem {

Workers::Workers(int threads, std::function<Outcome(std::size_t)> run) : run_(std::move(run)) {
  for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    no_more_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::give(std::size_t point) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(point);
  }
  changed_.notify_one();
}

std::optional<std::size_t> Workers::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return no_more_ || !waiting_.empty(); });
  if (waiting_.empty()) return {};
  const std::size_t point = waiting_.front();
  waiting_.pop_front();
  return point;
}

void Workers::work() {
  while (const auto point = next()) {
    Outcome outcome = run_(*point);
    const std::lock_guard lock(mutex_);
    finished_.push_back({*point, std::move(outcome)});
  }
}

std::optional<Workers::Finished> Workers::take() {
  const std::lock_guard lock(mutex_);
  if (finished_.empty()) return {};
  Finished finished = std::move(finished_.front());
  finished_.pop_front();
  return finished;
}

int threads_of_rank(int asked, int neighbours) {
  if (asked > 0) return asked;
  // mpirun binds ranks to cores, or to sockets that several ranks share.
  const auto machine = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const auto bound = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(bound, machine / std::max(1, neighbours)));
}

}  // namespace tandem
