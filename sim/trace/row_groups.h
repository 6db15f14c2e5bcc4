// All groups of rows of a Trace, and rows that go.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/trace/trace.h"

namespace tandem {

template <class Visit, RowsOf<SyncRecords> First, RowsOf<SyncRecords>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.kind, rest.kind...);
  visit(first.correlation, rest.correlation...);
  visit(first.stream, rest.stream...);
  visit(first.event_record_correlation, rest.event_record_correlation...);
}
template <class Visit, RowsOf<Overheads> First, RowsOf<Overheads>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.name, rest.name...);
}
template <class Visit, RowsOf<MemoryEvents> First, RowsOf<MemoryEvents>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.device, rest.device...);
  visit(first.bytes, rest.bytes...);
  visit(first.allocated, rest.allocated...);
}

/// Calls `visit` with each group of rows. All of them have a column `begin`.
template <class Visit, class AnyTrace>
void each_group(Visit visit, AnyTrace& trace) {
  visit(trace.ops);
  visit(trace.calls);
  visit(trace.activities);
  visit(trace.syncs);
  visit(trace.nodes);
  visit(trace.value_waits);
  visit(trace.annotations);
  visit(trace.modules);
  visit(trace.overheads);
  visit(trace.memory);
}

/// Leaves the rows `kept`, in that order. A column at a time, so that no two tables are in memory.
template <class Rows>
void keep_rows(const std::vector<std::uint32_t>& kept, Rows& rows) {
  each_column(
      [&](auto& column) {
        std::remove_reference_t<decltype(column)> out;
        out.reserve(kept.size());
        for (const std::uint32_t row : kept) out.push_back(column[row]);
        column = std::move(out);
      },
      rows);
}

}  // namespace tandem
