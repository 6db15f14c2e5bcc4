// Many things at once, with word of how far it is.
#pragma once

#include <cstddef>
#include <functional>

namespace tandem {

/// Told how many are done, of how many.
using Progress = std::function<void(std::size_t, std::size_t)>;

/// `work(i)` for each i below `count`, in parallel; `progress`, if any, hears of each that is done,
/// one at a time.
void in_parallel(std::size_t count, const Progress& progress,
                 const std::function<void(std::size_t)>& work);

}  // namespace tandem
