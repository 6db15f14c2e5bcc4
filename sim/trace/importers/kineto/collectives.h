// What Kineto writes about collectives: arguments of their kernels, or, before 2024, annotations
// around the calls that launch them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/trace/json/events.h"
#include "sim/trace/json/json_trace_builder.h"
#include "sim/trace/trace.h"

namespace tandem::kineto {

class CollectiveReader {
 public:
  CollectiveReader(Trace& trace, JsonTraceBuilder& build) : trace_(trace), build_(build) {}

  /// Of a kernel; none for kernels of other kinds.
  CollectiveId read(const TraceEvent& e);
  /// An annotation; those of collectives ("nccl:all_reduce") state operands.
  void note(std::string_view name, const Span& span, ThreadId thread, OperandsId operands);
  /// Whether an annotation of this name is one that note() wants the operands of.
  static bool is_note(std::string_view name) { return name.starts_with("nccl:"); }
  /// Gives kernels without arguments what the annotation around their call says.
  void finish();

 private:
  struct Note {
    ThreadId thread;
    TimePoint begin;
    TimePoint end;
    CollectiveKind kind = CollectiveKind::unknown;
    std::int64_t bytes = 0;
  };
  CollectiveId intern(std::string key, const Collective& collective);
  std::int64_t message(const TraceEvent& e, std::string_view elements);
  const Note* note_around(std::uint32_t call) const;
  std::vector<std::uint32_t> silent_kernels() const;

  Trace& trace_;
  JsonTraceBuilder& build_;
  std::unordered_map<std::string, CollectiveId> known_;  // by what the trace says of them
  std::vector<Note> notes_;
};

}  // namespace tandem::kineto
