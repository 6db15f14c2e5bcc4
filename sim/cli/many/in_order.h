// Many inputs on all cores, shown as if they came one after the other.
#pragma once

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <utility>

namespace tandem {

/// `show(work(i))` for each i below `count`, `work` on up to `threads` threads (0: all cores),
/// `show` in order and one at a time. No more results than threads wait. Errors: what either
/// throws; the others may have run then.
template <typename Work, typename Show>
void in_order(std::size_t count, int threads, const Work& work, const Show& show) {
  using Done = decltype(work(std::size_t{}));
  const std::size_t at_once =
      threads > 0 ? static_cast<std::size_t>(threads)
                  : static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  std::size_t next = 0;
  const auto hand_out = [&](tbb::flow_control& control) {
    if (next == count) control.stop();
    return next++;
  };
  // A thread that waits inside `work` takes nothing else meanwhile: another input would lie on top
  // of it in memory.
  const auto isolated = [&](std::size_t i) {
    return tbb::this_task_arena::isolate([&] { return work(i); });
  };
  tbb::parallel_pipeline(
      at_once, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, hand_out) &
                   tbb::make_filter<std::size_t, Done>(tbb::filter_mode::parallel, isolated) &
                   tbb::make_filter<Done, void>(tbb::filter_mode::serial_in_order,
                                                [&](Done done) { show(std::move(done)); }));
}

}  // namespace tandem
