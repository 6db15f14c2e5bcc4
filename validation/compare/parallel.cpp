#include "validation/compare/parallel.h"

#include <tbb/parallel_for.h>

#include <mutex>

namespace tandem {

void in_parallel(std::size_t count, const Progress& progress,
                 const std::function<void(std::size_t)>& work) {
  std::mutex one_at_a_time;
  std::size_t done = 0;
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    work(i);
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(++done, count);
  });
}

}  // namespace tandem
