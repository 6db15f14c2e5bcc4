// The median, of whatever can be compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tandem {

/// Of an even number, the higher of the two in the middle. `values` may not be empty.
template <class Value>
Value median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tandem
