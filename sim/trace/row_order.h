// Rows of a table of spans in the order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tandem {

/// Sorts rows of `table` by begin; those that begin together stay as they stand.
template <class Table>
void sort_by_begin(const Table& table, std::vector<std::uint32_t>& rows) {
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return table.begin[a] < table.begin[b];
  };
  // Most tables are sorted already, and a stable sort asks for memory.
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
}

/// All rows of `table`, by begin.
template <class Table>
std::vector<std::uint32_t> rows_by_begin(const Table& table) {
  std::vector<std::uint32_t> rows(table.size());
  std::iota(rows.begin(), rows.end(), 0U);
  sort_by_begin(table, rows);
  return rows;
}

}  // namespace tandem
