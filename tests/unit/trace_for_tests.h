// Small traces for tests, written in microseconds.
#pragma once

#include <string>
#include <string_view>

#include "sim/trace/importers/api_names.h"
#include "sim/trace/importers/kineto/operands.h"
#include "sim/trace/trace.h"

namespace tandem::test {

/// Adds rows to a trace; every function returns the row it added. Threads and streams are made when
/// first named.
class TraceMaker {
 public:
  TraceMaker() {
    trace.path = "made.json";
    trace.format = "kineto";
    trace.framework = Framework::pytorch;
    trace.devices.push_back({0, "NVIDIA H200", 0, 9, 0, 132});
  }

  std::uint32_t step(std::int64_t number, double begin_us, double us, std::size_t thread = 0) {
    return note("ProfilerStep#" + std::to_string(number), begin_us, us, number, thread);
  }
  /// `step`: its number; -1: it marks none.
  std::uint32_t note(std::string_view name, double begin_us, double us, std::int64_t step = -1,
                     std::size_t thread = 0) {
    Annotations& a = trace.annotations;
    add(a, begin_us, us);
    a.thread.push_back(thread_id(thread));
    a.name.push_back(trace.strings.intern(name));
    a.step.push_back(step);
    a.mark.push_back(AnnotationMark::none);
    return row(a);
  }
  std::uint32_t op(std::string_view name, double begin_us, double us, std::size_t thread = 0,
                   std::string_view dims = "", std::int64_t external_id = -1) {
    HostOps& o = trace.ops;
    add(o, begin_us, us);
    o.thread.push_back(thread_id(thread));
    o.name.push_back(trace.strings.intern(name));
    o.external_id.push_back(external_id);
    o.sequence.push_back(-1);
    o.forward_thread.push_back(0);
    o.operands.push_back({});
    if (!dims.empty()) operands(row(o), {dims, "", "", ""});
    return row(o);
  }
  /// Gives an operation operands, as Kineto writes them.
  void operands(std::uint32_t op, const kineto::OperandTexts& texts) {
    trace.ops.operands[op] = trace.operands.intern(kineto::parse_operands(texts));
  }
  std::uint32_t call(std::string_view name, double begin_us, double us,
                     std::int64_t correlation = -1, std::size_t thread = 0) {
    RuntimeCalls& c = trace.calls;
    add(c, begin_us, us);
    c.thread.push_back(thread_id(thread));
    c.name.push_back(trace.strings.intern(name));
    c.api.push_back(api_kind(name));
    c.correlation.push_back(correlation);
    c.external_id.push_back(-1);
    return row(c);
  }
  std::uint32_t launch(double begin_us, double us, std::int64_t correlation,
                       std::size_t thread = 0) {
    return call("cudaLaunchKernel", begin_us, us, correlation, thread);
  }
  std::uint32_t activity(ActivityKind kind, std::string_view name, double begin_us, double us,
                         std::int64_t correlation, std::size_t stream = 0) {
    Activities& a = trace.activities;
    add(a, begin_us, us);
    while (trace.streams.size() <= stream) {
      trace.streams.push_back({0, 1, static_cast<std::int64_t>(7 + trace.streams.size())});
    }
    a.kind.push_back(kind);
    a.stream.push_back(StreamId{stream});
    a.name.push_back(trace.strings.intern(name));
    a.correlation.push_back(correlation);
    a.external_id.push_back(-1);
    a.geometry.push_back({});
    a.bytes.push_back(0);
    a.collective.push_back({});
    return row(a);
  }
  std::uint32_t kernel(double begin_us, double us, std::int64_t correlation, std::size_t stream = 0,
                       std::string_view name = "gemm") {
    return activity(ActivityKind::kernel, name, begin_us, us, correlation, stream);
  }
  std::uint32_t overhead(std::string_view name, double begin_us, double us) {
    add(trace.overheads, begin_us, us);
    trace.overheads.name.push_back(trace.strings.intern(name));
    return row(trace.overheads);
  }

  Trace trace;

 private:
  template <class Rows>
  static std::uint32_t row(const Rows& rows) {
    return static_cast<std::uint32_t>(rows.size() - 1);
  }
  template <class Rows>
  static void add(Rows& rows, double begin_us, double us) {
    rows.begin.push_back(TimePoint{from_us(begin_us)});
    rows.duration.push_back(from_us(us));
  }
  ThreadId thread_id(std::size_t thread) {
    while (trace.threads.size() <= thread) {
      trace.threads.push_back({1, static_cast<std::int64_t>(100 + trace.threads.size()), ""});
    }
    return ThreadId{thread};
  }
};

}  // namespace tandem::test
