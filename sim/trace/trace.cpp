#include "sim/trace/trace.h"

namespace tandem {

namespace {
template <class... Columns>
std::size_t sum_bytes(const Columns&... columns) {
  return (columns.bytes() + ...);
}
}  // namespace

std::size_t memory_bytes(const Trace& t) {
  const HostOps& o = t.ops;
  const RuntimeCalls& c = t.calls;
  const Activities& a = t.activities;
  const SyncRecords& s = t.syncs;
  const Annotations& n = t.annotations;
  const Overheads& v = t.overheads;
  return sum_bytes(o.begin, o.duration, o.thread, o.name, o.external_id, o.sequence,
                   o.forward_thread, o.operands) +
         sum_bytes(c.begin, c.duration, c.thread, c.name, c.api, c.correlation, c.external_id) +
         sum_bytes(a.begin, a.duration, a.kind, a.stream, a.name, a.correlation, a.external_id,
                   a.geometry, a.bytes) +
         sum_bytes(s.begin, s.duration, s.kind, s.correlation, s.stream,
                   s.event_record_correlation) +
         sum_bytes(n.begin, n.duration, n.thread, n.name, n.step) +
         sum_bytes(v.begin, v.duration, v.name) + t.strings.bytes() + t.operands.bytes() +
         t.geometries.size() * sizeof(LaunchGeometry);
}

}  // namespace tandem
