#include "sim/trace/trace.h"

namespace tandem {

namespace {
template <class... Columns>
std::size_t sum_bytes(const Columns&... columns) {
  return (columns.bytes() + ...);
}

template <class Rows>
std::size_t row_bytes(const Rows& rows) {
  std::size_t sum = 0;
  each_column([&](const auto& column) { sum += column.bytes(); }, rows);
  return sum;
}
}  // namespace

std::size_t memory_bytes(const Trace& t) {
  const SyncRecords& s = t.syncs;
  const Overheads& v = t.overheads;
  return row_bytes(t.ops) + row_bytes(t.calls) + row_bytes(t.activities) +
         row_bytes(t.annotations) + row_bytes(t.modules) + row_bytes(t.nodes) +
         row_bytes(t.value_waits) +
         sum_bytes(s.begin, s.duration, s.kind, s.correlation, s.stream,
                   s.event_record_correlation) +
         sum_bytes(v.begin, v.duration, v.name) +
         sum_bytes(t.memory.begin, t.memory.device, t.memory.bytes, t.memory.allocated) +
         t.strings.bytes() + t.operands.bytes() + t.geometries.size() * sizeof(LaunchGeometry) +
         t.collectives.size() * sizeof(Collective);
}

}  // namespace tandem
