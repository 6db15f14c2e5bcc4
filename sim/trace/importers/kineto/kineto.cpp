// PyTorch profiler traces (Kineto's Chrome JSON), the schema of today and the one before 2022.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/core/bounds/limits.h"
#include "sim/trace/importers/api_names.h"
#include "sim/trace/importers/importers.h"
#include "sim/trace/importers/kineto/collectives.h"
#include "sim/trace/importers/kineto/metadata.h"
#include "sim/trace/importers/kineto/names.h"
#include "sim/trace/importers/kineto/operands.h"
#include "sim/trace/importers/marks.h"
#include "sim/trace/importers/step_marks.h"
#include "sim/trace/json/json_trace_builder.h"
#include "sim/trace/json/token.h"

namespace tandem {

namespace {

namespace arg = kineto::arg;
using kineto::categories;
using kineto::Category;
using enum kineto::Category;

int arg_slot(std::string_view key) {
  if (const auto* const row = kineto::arg_names.find(key)) return row->value;
  return is_step_argument(key) ? arg::step : -1;
}

/// Calls of modules among those of Python functions.
constexpr std::string_view module_mark = "nn.Module: ";

/// Instants in which the allocator gave or took memory; without a category before 2022.
constexpr std::string_view memory_event = "\"[memory]\"";

bool skip_args(const TraceEvent& event) {
  const bool other_instant = !event.name.empty() && event.name != memory_event;
  if (event.cat.empty()) {
    return (event.ph == "\"i\"" && other_instant) || event.ph == "\"C\"";
  }
  const auto* const row = categories.find(unquote(event.cat));
  if (row == nullptr) return false;
  return row->value.category == ignored || row->value.category == python ||
         (row->value.category == instant && other_instant);
}

class KinetoImport {
 public:
  KinetoImport(ByteSource& source, std::size_t most_rows)
      : content_(source),
        splitter_(content_, kineto_metadata_keys),
        events_(splitter_, {arg_slot, skip_args}, trace_.losses),
        build_(trace_, events_, most_rows) {
    trace_.path = source.path();
  }
  Trace read();

 private:
  void add(const TraceEvent& e);
  void add_without_category(const TraceEvent& e);
  void add_row(Category category, const TraceEvent& e, const Span& span);
  void add_op(const TraceEvent& e, const Span& span, ThreadId thread);
  void add_call(const TraceEvent& e, const Span& span, ThreadId thread);
  void add_activity(ActivityKind kind, const TraceEvent& e, const Span& span);
  void add_sync(const TraceEvent& e, const Span& span);
  void add_memory(TraceEvent e);
  void add_module(const TraceEvent& e, const Span& span);
  void add_annotation(const TraceEvent& e, const Span& span, ThreadId thread,
                      std::string_view step);
  bool find_thread(const TraceEvent& e, ThreadId& thread);
  bool find_stream(const TraceEvent& e, StreamId& stream);
  OperandsId find_operands(const TraceEvent& e);
  GeometryId find_geometry(const TraceEvent& e);
  void count_ignored();

  Trace trace_;
  JsonWindow content_;
  JsonSplitter splitter_;
  EventReader events_;
  JsonTraceBuilder build_;
  kineto::OperandReader operands_{trace_.operands};
  kineto::CollectiveReader collectives_{trace_, build_};
  bool legacy_ = false;
  std::array<std::int64_t, categories.rows().size()> ignored_{};
};

Trace KinetoImport::read() {
  TraceEvent event;
  while (events_.next(event)) add(event);
  build_.finish();
  collectives_.finish();
  count_ignored();
  trace_.framework = Framework::pytorch;
  if (legacy_) trace_.format = "kineto-legacy";
  for (const auto& [key, json] : splitter_.values()) read_kineto_metadata(key, json, trace_);
  return std::move(trace_);
}

void KinetoImport::add(const TraceEvent& e) {
  if (e.cat.empty()) return add_without_category(e);
  const auto* const row = categories.find(unquote(e.cat));
  if (row == nullptr) {
    return build_.lose(
        "unknown_category", Severity::warning,
        fmt::format("events of categories this importer does not know, such as {}", e.cat));
  }
  const bool function = row->value.category == python && !unquote(e.name).starts_with(module_mark);
  if (row->value.category == ignored || function) {
    ++ignored_[static_cast<std::size_t>(row - categories.rows().data())];
    return;
  }
  if (row->value.category == instant) {
    if (e.name == memory_event) return add_memory(e);
    return build_.lose("ignored_cpu_instant_event", Severity::info,
                       "instant events other than [memory] are not used");
  }
  if (unquote(e.ph) != "X") {
    return build_.lose("unsupported_phase", Severity::data_loss,
                       "events that are no complete ones (ph X) were dropped");
  }
  legacy_ |= row->value.legacy;
  Span span;
  if (build_.span(e, e.args[arg::correlation], span)) add_row(row->value.category, e, span);
}

void KinetoImport::add_without_category(const TraceEvent& e) {
  const std::string_view phase = unquote(e.ph);
  if (phase == "M") {
    const auto pid = parse_integer(e.pid);
    const auto tid = parse_integer(e.tid);
    if (e.name == "\"thread_name\"" && pid && tid) {
      build_.name_thread(*pid, *tid, e.args[arg::thread_name]);
    }
  } else if (phase == "i" || phase == "I") {
    if (e.name == memory_event) return add_memory(e);
    build_.lose("ignored_instant", Severity::info, "instant events (marks) are not used");
  } else if (phase == "C") {
    build_.lose("ignored_counter", Severity::info, "counter events are not used");
  } else {
    build_.lose("missing_category", Severity::data_loss, "events without a category were dropped");
  }
}

void KinetoImport::add_row(Category category, const TraceEvent& e, const Span& span) {
  switch (category) {
    case kernel: return add_activity(ActivityKind::kernel, e, span);
    case memcpy: return add_activity(ActivityKind::memcpy, e, span);
    case memset: return add_activity(ActivityKind::memset, e, span);
    case sync: return add_sync(e, span);
    case overhead:
      trace_.overheads.begin.push_back(span.begin);
      trace_.overheads.duration.push_back(span.duration);
      trace_.overheads.name.push_back(build_.text(e.name));
      return;
    case python: return add_module(e, span);
    case op:
    case call:
    case annotation:
    case instant:
    case ignored: break;
  }
  ThreadId thread;
  if (!find_thread(e, thread)) return;
  if (category == call) return add_call(e, span, thread);
  // Before 2022 the profiler's steps and waits for input were operators.
  const std::string_view step = step_number(unquote(e.name), e.args[arg::step]);
  const bool is_op = category == op && step.empty() && !is_input_mark(unquote(e.name));
  is_op ? add_op(e, span, thread) : add_annotation(e, span, thread, step);
}

void KinetoImport::add_op(const TraceEvent& e, const Span& span, ThreadId thread) {
  HostOps& ops = trace_.ops;
  ops.begin.push_back(span.begin);
  ops.duration.push_back(span.duration);
  ops.thread.push_back(thread);
  ops.name.push_back(build_.text(e.name));
  ops.external_id.push_back(build_.integer(e.args[arg::external_id], -1));
  ops.sequence.push_back(build_.integer(e.args[arg::sequence], -1));
  ops.forward_thread.push_back(build_.integer(e.args[arg::forward_thread], 0));
  ops.operands.push_back(find_operands(e));
}

OperandsId KinetoImport::find_operands(const TraceEvent& e) {
  OperandsId id;
  const bool readable = operands_.read(
      {e.args[arg::dims], e.args[arg::types], e.args[arg::strides], e.args[arg::concrete]}, id);
  if (!readable) {
    build_.lose(
        "op_shapes_unreadable", Severity::warning,
        "operands that are not what PyTorch writes; taken as not recorded. " + operands_.error());
  }
  return id;
}

void KinetoImport::add_annotation(const TraceEvent& e, const Span& span, ThreadId thread,
                                  std::string_view step) {
  const std::string_view name = unquote(e.name);
  if (kineto::CollectiveReader::is_note(name)) {
    collectives_.note(name, span, thread, find_operands(e));
  }
  trace_.annotations.begin.push_back(span.begin);
  trace_.annotations.duration.push_back(span.duration);
  trace_.annotations.thread.push_back(thread);
  trace_.annotations.name.push_back(build_.text(e.name));
  trace_.annotations.step.push_back(build_.integer(step, -1));
  trace_.annotations.mark.push_back(mark_of(name));
}

void KinetoImport::add_call(const TraceEvent& e, const Span& span, ThreadId thread) {
  RuntimeCalls& calls = trace_.calls;
  calls.begin.push_back(span.begin);
  calls.duration.push_back(span.duration);
  calls.thread.push_back(thread);
  calls.name.push_back(build_.text(e.name));
  calls.api.push_back(api_kind(unquote(e.name)));
  calls.correlation.push_back(build_.integer(e.args[arg::correlation], -1));
  calls.external_id.push_back(build_.integer(e.args[arg::external_id], -1));
}

void KinetoImport::add_activity(ActivityKind kind, const TraceEvent& e, const Span& span) {
  StreamId stream;
  if (!find_stream(e, stream)) return;
  const bool is_kernel = kind == ActivityKind::kernel;
  Activities& to = trace_.activities;
  to.begin.push_back(span.begin);
  to.duration.push_back(span.duration);
  to.kind.push_back(kind);
  to.stream.push_back(stream);
  to.name.push_back(build_.text(e.name));
  to.correlation.push_back(build_.integer(e.args[arg::correlation], -1));
  to.external_id.push_back(build_.integer(e.args[arg::external_id], -1));
  to.geometry.push_back(is_kernel ? find_geometry(e) : GeometryId{});
  const CollectiveId collective = is_kernel ? collectives_.read(e) : CollectiveId{};
  to.collective.push_back(collective);
  to.bytes.push_back(collective.valid() ? trace_.collectives[collective.index()].in_bytes
                     : is_kernel        ? 0
                                        : build_.bytes(e.args[arg::bytes]));
}

void KinetoImport::add_sync(const TraceEvent& e, const Span& span) {
  // CUPTI writes "no stream" as -1 in 32 unsigned bits.
  constexpr std::int64_t no_stream = 0xffffffff;
  const std::int64_t stream = build_.integer(e.args[arg::stream], -1);
  const std::string_view kind = e.args[arg::sync_kind];
  SyncRecords& to = trace_.syncs;
  to.begin.push_back(span.begin);
  to.duration.push_back(span.duration);
  to.kind.push_back(build_.text(kind.empty() ? e.name : kind));
  to.correlation.push_back(build_.integer(e.args[arg::correlation], -1));
  to.stream.push_back(stream == no_stream ? -1 : stream);
  to.event_record_correlation.push_back(build_.integer(e.args[arg::record_correlation], -1));
}

void KinetoImport::add_module(const TraceEvent& e, const Span& span) {
  ThreadId thread;
  if (!find_thread(e, thread)) return;
  trace_.modules.begin.push_back(span.begin);
  trace_.modules.duration.push_back(span.duration);
  trace_.modules.thread.push_back(thread);
  trace_.modules.name.push_back(build_.text(unquote(e.name).substr(module_mark.size())));
}

// Memory of the host, which the profiler notes as well, is no part of the model.
void KinetoImport::add_memory(TraceEvent e) {
  constexpr std::int64_t cuda = 1;  // c10::DeviceType
  if (build_.integer(e.args[arg::device_type], -1) != cuda) {
    return build_.lose("ignored_host_memory", Severity::info,
                       "memory of the host that was given or taken is not used");
  }
  e.dur = "0";
  Span span;
  if (!build_.span(e, {}, span)) return;
  MemoryEvents& to = trace_.memory;
  to.begin.push_back(span.begin);
  to.device.push_back(build_.integer(e.args[arg::device_id], 0));
  // Negative: given back.
  const std::int64_t bytes = build_.integer(e.args[arg::bytes], 0);
  to.bytes.push_back(bytes < 0 && bytes >= -limits::bytes ? bytes
                                                          : build_.TraceBuilder::bytes(bytes));
  const std::int64_t allocated = build_.integer(e.args[arg::allocated], -1);
  to.allocated.push_back(allocated < 0 ? -1 : build_.TraceBuilder::bytes(allocated));
}

bool KinetoImport::find_thread(const TraceEvent& e, ThreadId& thread) {
  const auto pid = parse_integer(e.pid);
  const auto tid = parse_integer(e.tid);
  if (pid && tid) {
    thread = build_.thread(*pid, *tid);
    return true;
  }
  build_.lose("bad_thread", Severity::data_loss,
              "host events whose pid or tid is no number were dropped");
  return false;
}

// The args name the stream; without them pid is the device and tid the stream ("stream 7" once).
bool KinetoImport::find_stream(const TraceEvent& e, StreamId& stream) {
  std::string_view tid = unquote(e.tid);
  constexpr std::string_view prefix = "stream ";
  if (tid.starts_with(prefix)) tid.remove_prefix(prefix.size());
  const auto device = parse_integer(e.args[arg::device].empty() ? e.pid : e.args[arg::device]);
  const auto number = parse_integer(e.args[arg::stream].empty() ? tid : e.args[arg::stream]);
  if (device && number) {
    stream = build_.stream({*device, build_.integer(e.args[arg::context], 0), *number});
    return true;
  }
  build_.lose("missing_stream", Severity::data_loss,
              "device activities without a device or stream number were dropped");
  return false;
}

GeometryId KinetoImport::find_geometry(const TraceEvent& e) {
  std::array<std::int64_t, 3> grid;
  std::array<std::int64_t, 3> block;
  if (e.args[arg::grid].empty() && e.args[arg::block].empty()) {
    build_.lose("missing_geometry", Severity::warning,
                "kernels without grid and block; their occupancy is unknown");
    return {};
  }
  if (!parse_triple(e.args[arg::grid], grid) || !parse_triple(e.args[arg::block], block)) {
    grid = {};  // an impossible launch: counted as such
  }
  return build_.checked_geometry(grid, block, build_.integer(e.args[arg::registers], 0),
                                 build_.integer(e.args[arg::shared_bytes], 0));
}

void KinetoImport::count_ignored() {
  for (std::size_t i = 0; i < ignored_.size(); ++i) {
    std::string code(categories.rows()[i].name);
    std::transform(code.begin(), code.end(), code.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    trace_.losses.add("ignored_" + code, Severity::info, "events of this category are not used",
                      ignored_[i]);
  }
}

}  // namespace

bool is_kineto(std::string_view prefix) {
  constexpr std::string_view signs[] = {"\"schemaVersion\"", "\"deviceProperties\"",
                                        "\"traceEvents\"", "\"cat\""};
  return std::any_of(std::begin(signs), std::end(signs), [&](std::string_view sign) {
    return prefix.find(sign) != std::string_view::npos;
  });
}

Trace read_kineto(ByteSource& source, std::size_t most_rows) {
  return KinetoImport(source, most_rows).read();
}

}  // namespace tandem
