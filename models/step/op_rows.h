// The rows of the operation table for the operations of a trace.
#pragma once

#include <cstdint>
#include <vector>

#include "models/ops/op_table.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Looks each name up once.
class OpRows {
 public:
  explicit OpRows(const Trace& trace) : trace_(trace), known_(trace.strings.size(), nullptr) {}
  const OpRow& of(StringId name) {
    const OpRow*& row = known_[name.index()];
    if (row == nullptr) row = &op_row(trace_.strings.get(name));
    return *row;
  }
  /// `op`: row of Trace::ops.
  const OpRow& of(std::uint32_t op) { return of(trace_.ops.name[op]); }

 private:
  const Trace& trace_;
  std::vector<const OpRow*> known_;
};

}  // namespace tandem
