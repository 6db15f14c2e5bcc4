// Threads that run points for whoever hands them out.
#pragma once

#include <tbb/concurrent_queue.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "sim/sweep/run.h"

namespace tandem {

/// Runs points in the order in which they are given; one thread gives and takes, and waits for
/// neither.
class Workers {
 public:
  struct Finished {
    std::size_t point = 0;
    Outcome outcome;
  };

  Workers(int threads, std::function<Outcome(std::size_t)> run);
  /// Points that run are waited for, those that wait are dropped.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void give(std::size_t point) { waiting_.push(point); }
  std::optional<Finished> take();

 private:
  void work();

  std::function<Outcome(std::size_t)> run_;
  tbb::concurrent_bounded_queue<std::optional<std::size_t>> waiting_;  // nothing: no more come
  tbb::concurrent_queue<Finished> finished_;
  std::vector<std::thread> threads_;
};

/// Threads of one rank: `asked`, or its share of the machine. `neighbours`: ranks on it.
int threads_of_rank(int asked, int neighbours);

}  // namespace tandem
