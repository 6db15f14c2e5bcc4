#include "validation/compare/parallel.h"

#include <mutex>

#include "sim/core/parallel/for_each_index.h"

namespace tandem {

void in_parallel(std::size_t count, const Progress& progress,
                 const std::function<void(std::size_t)>& work) {
  std::mutex one_at_a_time;
  std::size_t done = 0;
  for_each_index(count, 0, [&](std::size_t i) {
    work(i);
    if (!progress) return;
    const std::lock_guard lock(one_at_a_time);
    progress(++done, count);
  });
}

}  // namespace tandem
