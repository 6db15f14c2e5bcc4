// The one way in which tandem does things at once.
#pragma once

#include <cstddef>
#include <functional>

namespace tandem {

/// `work(i)` for each i below `count`, on up to `threads` threads (0: as many as there are cores),
/// in no order. `work` may call this again; who waits for such an inner loop takes up nothing of
/// the outer one meanwhile. Throws what `work` throws for the lowest i; of the others some have
/// not run then.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace tandem
