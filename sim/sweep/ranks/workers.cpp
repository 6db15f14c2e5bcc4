#include "sim/sweep/ranks/workers.h"

#include <unistd.h>

#include <algorithm>

namespace tandem {

Workers::Workers(int threads, std::function<Outcome(std::size_t)> run) : run_(std::move(run)) {
  for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
  std::optional<std::size_t> dropped;
  while (waiting_.try_pop(dropped)) {
  }
  for (std::size_t t = 0; t < threads_.size(); ++t) waiting_.push(std::nullopt);
  for (std::thread& thread : threads_) thread.join();
}

void Workers::work() {
  std::optional<std::size_t> point;
  for (waiting_.pop(point); point; waiting_.pop(point)) finished_.push({*point, run_(*point)});
}

std::optional<Workers::Finished> Workers::take() {
  Finished finished;
  if (!finished_.try_pop(finished)) return {};
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
