#include "sim/sweep/run.h"

#include <chrono>
#include <exception>
#include <mutex>
#include <utility>

#include "sim/core/parallel/for_each_index.h"
#include "sim/sweep/ranks/share.h"

namespace tandem {

namespace {

constexpr auto progress_interval = std::chrono::milliseconds(200);

/// Counts points and tells the listener a few times a second.
class Progress {
 public:
  Progress(std::size_t all, const RunOptions& options) : all_(all), tell_(options.progress) {}

  void one_more() {
    if (!tell_) return;
    const std::lock_guard lock(mutex_);
    ++done_;
    const auto now = std::chrono::steady_clock::now();
    if (done_ < all_ && now - told_ < progress_interval) return;
    told_ = now;
    tell_(done_, all_);
  }

 private:
  std::size_t all_, done_ = 0;
  const std::function<void(std::size_t, std::size_t)>& tell_;
  std::chrono::steady_clock::time_point told_{};
  std::mutex mutex_;
};

}  // namespace

Outcome run_point(const Point& point, const std::function<PointResult(const Point&)>& predict) {
  try {
    return {predict(point), true};
  } catch (const InputError& e) {
    return {{{}, e.what()}, true};
  } catch (const std::exception& e) {
    return {{{}, std::string("internal error: ") + e.what()}, false};
  }
}

std::vector<PointResult> run_points(std::span<const Point> points,
                                    const std::function<PointResult(const Point&)>& predict,
                                    PointStore* store, const RunOptions& options) {
  std::vector<PointResult> results(points.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointResult* known = store == nullptr ? nullptr : store->find(points[i]);
    if (known == nullptr) {
      open.push_back(i);
    } else {
      results[i] = *known;
    }
  }
  Progress progress(open.size(), options);
  const auto run = [&](std::size_t i) {
    Outcome outcome = run_point(points[i], predict);
    if (store != nullptr) outcome.line = store->line(points[i], outcome.result);
    return outcome;
  };
  const auto take = [&](std::size_t i, Outcome outcome) {
    results[i] = std::move(outcome.result);
    if (store != nullptr && outcome.keep) store->append(outcome.line);
    progress.one_more();
  };
  if (options.ranks == nullptr) {
    for_each_index(open.size(), options.threads,
                   [&](std::size_t o) { take(open[o], run(open[o])); });
  } else {
    share_points(*options.ranks, open, run, take, share_options(options));
  }
  return results;
}

}  // namespace tandem
