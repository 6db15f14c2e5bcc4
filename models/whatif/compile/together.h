// Sets of operations that grow by joining two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tandem {

/// Which operations run in one kernel, as far as is known: each set is named by one of its own.
class Together {
 public:
  explicit Together(std::size_t operations = 0) : first_(operations), with_(operations) {
    std::iota(first_.begin(), first_.end(), 0U);
    for (std::uint32_t i = 0; i < operations; ++i) with_[i] = {i};
  }
  std::uint32_t first_of(std::uint32_t op) {
    while (first_[op] != op) op = first_[op] = first_[first_[op]];
    return op;
  }
  const std::vector<std::uint32_t>& with(std::uint32_t first) const { return with_[first]; }
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t first = first_of(a), second = first_of(b);
    if (first == second) return;
    first_[second] = first;
    with_[first].insert(with_[first].end(), with_[second].begin(), with_[second].end());
    with_[second].clear();
  }

 private:
  std::vector<std::uint32_t> first_;              // towards the name of its set
  std::vector<std::vector<std::uint32_t>> with_;  // per name: its set
};

}  // namespace tandem
