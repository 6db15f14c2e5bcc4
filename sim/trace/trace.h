// The Trace: what the framework and the GPU did, as columns. Importers fill it; nothing else does.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/core/collective.h"
#include "sim/core/column.h"
#include "sim/core/device.h"
#include "sim/core/error.h"
#include "sim/core/ids.h"
#include "sim/core/string_table.h"
#include "sim/core/tensors/operand_table.h"
#include "sim/core/time.h"
#include "sim/trace/framework.h"

namespace tandem {

/// A group of rows, const or not.
template <class Rows, class Kind>
concept RowsOf = std::same_as<std::remove_const_t<Rows>, Kind>;

/// What a CUDA runtime or driver call does to the timeline. Names map to kinds in api_names.cpp.
enum class ApiKind : std::uint8_t {
  other,              // costs host time, nothing else
  launch_kernel,      // cudaLaunchKernel, cudaLaunchKernelExC, cuLaunchKernel, cuLaunchKernelEx ...
  launch_graph,       // cudaGraphLaunch: one call, many activities under one correlation id
  memcpy_async,       // cudaMemcpyAsync and its 2D / peer variants
  memcpy_blocking,    // cudaMemcpy: returns after the copy
  memset,             // cudaMemsetAsync, cudaMemset
  event_record,       // cudaEventRecord[WithFlags]
  stream_wait_event,  // cudaStreamWaitEvent
  event_synchronize,  // cudaEventSynchronize
  stream_synchronize,
  device_synchronize,
};

/// Whether the host waits in it for the device.
constexpr bool waits_for_device(ApiKind api) {
  return api == ApiKind::event_synchronize || api == ApiKind::stream_synchronize ||
         api == ApiKind::device_synchronize || api == ApiKind::memcpy_blocking;
}

enum class ActivityKind : std::uint8_t { kernel, memcpy, memset };
std::string_view to_string(ActivityKind kind);

/// A host thread of the traced process.
struct Thread {
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::string name;
};

/// An in-order queue of a device.
struct Stream {
  std::int64_t device = 0;
  std::int64_t context = 0;
  std::int64_t stream = 0;
};

/// `distributedInfo`: which rank of which job the trace is.
struct DistributedInfo {
  int rank = 0;
  int world_size = 1;
};

/// Framework operations on host threads (`cpu_op`, `Operator`). Nesting is by time, per thread.
struct HostOps {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ThreadId> thread;
  Column<StringId> name;
  Column<std::int64_t> external_id;     // -1: none
  Column<std::int64_t> sequence;        // autograd sequence number, -1: none
  Column<std::int64_t> forward_thread;  // `Fwd thread id`, 0: this is a forward op
  Column<OperandsId> operands;          // what it was called with; invalid: not recorded
  std::size_t size() const { return begin.size(); }
};

/// CUDA runtime and driver calls on host threads.
struct RuntimeCalls {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ThreadId> thread;
  Column<StringId> name;
  Column<ApiKind> api;
  Column<std::int64_t> correlation;  // joins the call to its device activities; -1: none
  Column<std::int64_t> external_id;  // joins the call to its HostOp; -1: none
  std::size_t size() const { return begin.size(); }
};

/// What ran on the device: kernels, copies, memsets.
struct Activities {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ActivityKind> kind;
  Column<StreamId> stream;
  Column<StringId> name;
  Column<std::int64_t> correlation;  // -1: none
  Column<std::int64_t> external_id;  // -1: none
  Column<GeometryId> geometry;       // kernels only
  Column<std::int64_t> bytes;        // memcpy, memset; for collectives the input message; else 0
  Column<CollectiveId> collective;   // kernels that take part in one
  std::size_t size() const { return begin.size(); }
};

/// Device-side synchronisation records (`cuda_sync`), where the profiler wrote them.
struct SyncRecords {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<StringId> kind;                          // e.g. "Stream Wait Event", "Context Sync"
  Column<std::int64_t> correlation;               // of the call; -1: none
  Column<std::int64_t> stream;                    // raw stream number, -1: none
  Column<std::int64_t> event_record_correlation;  // of the cudaEventRecord waited for; -1: none
  std::size_t size() const { return begin.size(); }
};

/// What the executor of an eager runtime ran: one row a node that it took from its queue, or, where
/// the runtime is synchronous, that the calling thread ran itself (TensorFlow's EagerExecutor).
struct ExecutorNodes {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ThreadId> thread;
  Column<std::uint32_t> op;  // row of HostOps: the operation that enqueued it
  std::size_t size() const { return begin.size(); }
};

/// Times in which a host thread waited for the value or the shape that a node computes.
struct ValueWaits {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ThreadId> thread;
  std::size_t size() const { return begin.size(); }
};

/// What an annotation of a library says that its thread does.
enum class AnnotationMark : std::uint8_t {
  none,
  input,     // the program waits for its input (a DataLoader)
  sharding,  // parameters of which each rank keeps a part are gathered, or gradients scattered
};

/// User annotations on host threads, among them the profiler's steps.
struct Annotations {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ThreadId> thread;
  Column<StringId> name;
  Column<std::int64_t> step;  // N of `ProfilerStep#N`, -1: not a step
  Column<AnnotationMark> mark;
  std::size_t size() const { return begin.size(); }
};

/// Forward calls of the program's modules, where the profiler recorded Python's stack.
struct ModuleCalls {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<ThreadId> thread;
  Column<StringId> name;  // of class and instance, e.g. "Conv2d_3"
  std::size_t size() const { return begin.size(); }
};

/// Spans the profiler marks as its own or the driver's cost, e.g. "Command Buffer Full".
struct Overheads {
  Column<TimePoint> begin;
  Column<Duration> duration;
  Column<StringId> name;
  std::size_t size() const { return begin.size(); }
};

/// What the framework's allocator did with the memory of a GPU (`[memory]` events).
struct MemoryEvents {
  Column<TimePoint> begin;
  Column<std::int64_t> device;
  Column<std::int64_t> bytes;      // allocated; negative: freed
  Column<std::int64_t> allocated;  // on the device after it, whatever was there before the trace
                                   // included; -1: not recorded
  std::size_t size() const { return begin.size(); }
};

/// One measured run. Rows stand in file order; sort indices, not columns.
struct Trace {
  // Copies and moves stand in trace.cpp: every file would compile its own, kilobytes of it.
  Trace();
  Trace(const Trace&);
  Trace(Trace&&) noexcept;
  Trace& operator=(const Trace&);
  Trace& operator=(Trace&&) noexcept;
  ~Trace();

  std::string path;
  std::string format;  // importer name: "kineto", "kineto-legacy", "xprof"
  Framework framework = Framework::unknown;
  /// Whole microseconds (Unix or profiler clock) that TimePoint{0} stands for. May be large.
  std::int64_t origin_us = 0;
  std::optional<std::int64_t> stated_batch;  // items a step works on, where its annotation says so
  std::int64_t file_bytes = 0;               // as stored
  std::int64_t json_bytes = 0;               // after decompression

  std::vector<DeviceProperties> devices;
  DistributedInfo distributed;
  std::vector<Thread> threads;
  std::vector<Stream> streams;
  std::vector<LaunchGeometry> geometries;
  std::vector<Collective> collectives;
  StringTable strings;
  OperandTable operands;

  HostOps ops;
  RuntimeCalls calls;
  Activities activities;
  SyncRecords syncs;
  ExecutorNodes nodes;
  ValueWaits value_waits;
  Annotations annotations;
  ModuleCalls modules;
  Overheads overheads;
  MemoryEvents memory;
  LossList losses;
};

/// A text of the trace; empty for none.
inline std::string_view text_of(const Trace& trace, StringId id) {
  return id.valid() ? trace.strings.get(id) : std::string_view{};
}

/// What an operation was called with; nothing if that was not recorded.
inline const Operands& operands_of(const Trace& trace, std::size_t op) {
  return trace.operands.get(trace.ops.operands[op]);
}

/// The collective that an activity takes part in, or null.
inline const Collective* collective_of(const Trace& trace, std::size_t activity) {
  const CollectiveId id = trace.activities.collective[activity];
  return id.valid() ? &trace.collectives[id.index()] : nullptr;
}

/// Calls `visit` with the same column of every group of rows: a new column is named here, and
/// whoever copies, filters or counts rows has it. One overload a kind of row; `first` may be const.
template <class Visit, RowsOf<HostOps> First, RowsOf<HostOps>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.thread, rest.thread...);
  visit(first.name, rest.name...);
  visit(first.external_id, rest.external_id...);
  visit(first.sequence, rest.sequence...);
  visit(first.forward_thread, rest.forward_thread...);
  visit(first.operands, rest.operands...);
}
template <class Visit, RowsOf<RuntimeCalls> First, RowsOf<RuntimeCalls>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.thread, rest.thread...);
  visit(first.name, rest.name...);
  visit(first.api, rest.api...);
  visit(first.correlation, rest.correlation...);
  visit(first.external_id, rest.external_id...);
}
template <class Visit, RowsOf<Activities> First, RowsOf<Activities>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.kind, rest.kind...);
  visit(first.stream, rest.stream...);
  visit(first.name, rest.name...);
  visit(first.correlation, rest.correlation...);
  visit(first.external_id, rest.external_id...);
  visit(first.geometry, rest.geometry...);
  visit(first.bytes, rest.bytes...);
  visit(first.collective, rest.collective...);
}
template <class Visit, RowsOf<Annotations> First, RowsOf<Annotations>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.thread, rest.thread...);
  visit(first.name, rest.name...);
  visit(first.step, rest.step...);
  visit(first.mark, rest.mark...);
}
template <class Visit, RowsOf<ModuleCalls> First, RowsOf<ModuleCalls>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.thread, rest.thread...);
  visit(first.name, rest.name...);
}
template <class Visit, RowsOf<ExecutorNodes> First, RowsOf<ExecutorNodes>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.thread, rest.thread...);
  visit(first.op, rest.op...);
}
template <class Visit, RowsOf<ValueWaits> First, RowsOf<ValueWaits>... Rest>
void each_column(Visit visit, First& first, Rest&... rest) {
  visit(first.begin, rest.begin...);
  visit(first.duration, rest.duration...);
  visit(first.thread, rest.thread...);
}

/// Bytes held by the columns and the tables: the yardstick of the ingest memory bound.
std::size_t memory_bytes(const Trace& trace);

/// Of a row of a table of spans.
template <class Rows>
TimePoint end_of(const Rows& rows, std::uint32_t row) {
  return rows.begin[row] + rows.duration[row];
}

}  // namespace tandem
