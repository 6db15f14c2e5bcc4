// The rows of a generated trace: operations, calls and device work of one GPU and one stream.
#pragma once

#include <string_view>

#include "sim/trace/trace_builder.h"
#include "workloads/generate.h"

namespace tandem {

class TraceRows {
 public:
  explicit TraceRows(const GenerateInput& input);
  TraceRows(const TraceRows&) = delete;
  TraceRows& operator=(const TraceRows&) = delete;

  ThreadId thread(std::int64_t tid, std::string_view name = {});
  /// An operation that has begun; its length is set when it ends.
  std::uint32_t open_op(std::string_view name, ThreadId thread, TimePoint begin,
                        OperandsId operands);
  void close_op(std::uint32_t row, TimePoint end);
  void add_call(std::string_view name, ApiKind api, ThreadId thread, TimePoint begin, double us);
  /// The call that launches `kernel`; returns its end. The work starts when stream and launch path
  /// allow.
  TimePoint launch(const LoweredKernel& kernel, ThreadId thread, TimePoint begin,
                   double launch_call_us, double copy_call_us);
  void add_note(std::string_view name, ThreadId thread, TimePoint begin, TimePoint end,
                std::int64_t step);
  /// A call that waits for all device work; returns its end.
  TimePoint wait_for_device(ThreadId thread, TimePoint begin);
  Trace finish();

  Trace trace;

 private:
  void add_activity(const LoweredKernel& kernel, TimePoint submitted);

  const HostModel& host_;
  TraceBuilder builder_;
  StreamId stream_;
  TimePoint device_{};   // when the device is free
  bool copied_ = false;  // the last device work was no kernel
  std::int64_t correlation_ = 0;
};

}  // namespace tandem
