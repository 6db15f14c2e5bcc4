// Threads that run points for whoever hands them out.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
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

  void give(std::size_t point);
  std::optional<Finished> take();

 private:
  void work();
  std::optional<std::size_t> next();

  std::function<Outcome(std::size_t)> run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> waiting_;
  std::deque<Finished> finished_;
  bool no_more_ = false;
  std::vector<std::thread> threads_;
};

/// Threads of one rank: `asked`, or its share of the machine. `neighbours`: ranks on it.
int threads_of_rank(int asked, int neighbours);

}  // namespace tandem
