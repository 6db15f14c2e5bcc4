#include "sim/trace/trace.h"

#include "sim/trace/row_groups.h"

namespace tandem {

Trace::Trace() = default;
Trace::Trace(const Trace&) = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(const Trace&) = default;
Trace& Trace::operator=(Trace&&) noexcept = default;
Trace::~Trace() = default;

std::string_view to_string(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kernel: return "kernel";
    case ActivityKind::memcpy: return "memcpy";
    case ActivityKind::memset: return "memset";
  }
  return "unknown";
}

std::size_t memory_bytes(const Trace& t) {
  std::size_t sum = t.strings.bytes() + t.operands.bytes() +
                    t.geometries.size() * sizeof(LaunchGeometry) +
                    t.collectives.size() * sizeof(Collective);
  const auto add = [&](const auto& column) { sum += column.bytes(); };
  each_group([&](const auto& rows) { each_column(add, rows); }, t);
  return sum;
}

}  // namespace tandem
