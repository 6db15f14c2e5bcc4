#include "sim/sweep/run.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <optional>

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

/// What failed for the input alone fails again; an internal error is not worth keeping.
PointResult run_one(const Point& point, const std::function<PointResult(const Point&)>& predict,
                    bool& keep) {
  keep = true;
  try {
    return predict(point);
  } catch (const InputError& e) {
    return {{}, e.what()};
  } catch (const std::exception& e) {
    keep = false;
    return {{}, std::string("internal error: ") + e.what()};
  }
}

}  // namespace

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
  std::optional<tbb::global_control> limit;
  if (options.threads > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism,
                  static_cast<std::size_t>(options.threads));
  }
  Progress progress(open.size(), options);
  const auto run = [&](std::size_t o) {
    const std::size_t i = open[o];
    bool keep = false;
    results[i] = run_one(points[i], predict, keep);
    if (store != nullptr && keep) store->append(points[i], results[i]);
    progress.one_more();
  };
  tbb::parallel_for(std::size_t{0}, open.size(), std::size_t{1}, run);
  return results;
}

}  // namespace tandem
