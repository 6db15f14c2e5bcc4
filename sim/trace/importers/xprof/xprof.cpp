// TensorFlow and JAX profiler traces (XProf's *.trace.json). There are no categories: what an event
// is follows from its process, its thread and its arguments.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "sim/core/bounds/limits.h"
#include "sim/trace/importers/api_names.h"
#include "sim/trace/importers/importers.h"
#include "sim/trace/importers/step_marks.h"
#include "sim/trace/importers/xprof/executor.h"
#include "sim/trace/json/json_trace_builder.h"
#include "sim/trace/json/token.h"
#include "sim/trace/name_table.h"

namespace tandem {

namespace {

// Slots of the args that are read.
namespace arg {
enum Slot : int {
  name,
  correlation,
  context,
  kernel_details,
  memcpy_details,
  memset_details,
  step,
  hlo_module,
  batch
};
}  // namespace arg

constexpr NameTable arg_names{std::to_array<NameRow<int>>({
    {"name", arg::name},
    {"correlation_id", arg::correlation},
    {"context_id", arg::context},
    {"kernel_details", arg::kernel_details},
    {"memcpy_details", arg::memcpy_details},
    {"Memcpy_details", arg::memcpy_details},
    {"memset_details", arg::memset_details},
    {"Memset_details", arg::memset_details},
    {"hlo_module", arg::hlo_module},
    {"batch", arg::batch},  // of Trace("step", step_num=i, batch=n)
})};

// Names that XProf gives to the profiler's own spans on host threads (CUPTI overhead kinds).
constexpr std::string_view overheads[] = {"COMPILER", "BUFFER_FLUSH", "INSTRUMENTATION", "RESOURCE",
                                          "<UNKNOWN>"};

int arg_slot(std::string_view key) {
  if (const auto* const row = arg_names.find(key)) return row->value;
  return is_step_argument(key) ? arg::step : -1;
}

// The value of `key` in a text of "key:value key:value ..."; empty if it is not there.
std::string_view detail(std::string_view details, std::string_view key) {
  details = unquote(details);
  for (std::size_t at = 0; at < details.size();) {
    const std::size_t end = std::min(details.find(' ', at), details.size());
    const std::string_view item = details.substr(at, end - at);
    if (item.size() > key.size() && item.starts_with(key) && item[key.size()] == ':') {
      return item.substr(key.size() + 1);
    }
    at = end + 1;
  }
  return {};
}

// The number behind the last `mark` of a text such as "/device:GPU:0" or "Stream #14(Compute)".
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + mark.size());
  return parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")));
}

class XprofImport {
 public:
  XprofImport(ByteSource& source, std::size_t most_rows)
      : content_(source),
        splitter_(content_, {}),
        events_(splitter_, {arg_slot, [](const TraceEvent&) { return false; }}, trace_.losses),
        build_(trace_, events_, most_rows) {
    trace_.path = source.path();
  }
  Trace read();

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // pid, tid

  void add(const TraceEvent& e);
  void add_metadata(const TraceEvent& e, std::int64_t pid);
  void add_on_device(const TraceEvent& e, std::int64_t device, const Key& key);
  void add_activity(const TraceEvent& e, const Span& span, const Stream& stream);
  void add_on_host(const TraceEvent& e, const Key& key);
  void add_call(const TraceEvent& e, const Span& span, ThreadId thread);
  void add_op(StringId name, const Span& span, ThreadId thread);
  GeometryId find_geometry(const TraceEvent& e);
  void mark_launches();

  Trace trace_;
  JsonWindow content_;
  JsonSplitter splitter_;
  EventReader events_;
  JsonTraceBuilder build_;
  std::map<std::int64_t, std::int64_t> devices_;  // pid -> GPU; -1: the host
  std::map<Key, std::int64_t> streams_;           // threads of GPU processes that are streams
  bool has_jit_ = false;
  bool has_tensorflow_ = false;
};

Trace XprofImport::read() {
  TraceEvent event;
  while (events_.next(event)) add(event);
  build_.finish();
  mark_launches();
  const std::vector<std::uint32_t>& enqueued = build_.remembered_ops();
  has_tensorflow_ |= !enqueued.empty();
  match_nodes(enqueued, trace_);
  trace_.framework = has_jit_          ? Framework::jax
                     : has_tensorflow_ ? Framework::tensorflow
                                       : Framework::unknown;
  return std::move(trace_);
}

void XprofImport::add(const TraceEvent& e) {
  const std::string_view phase = unquote(e.ph);
  if (phase.empty() && e.name.empty()) {  // XProf closes its list with {}
    return build_.lose("ignored_empty_event", Severity::info, "empty events");
  }
  const auto pid = parse_integer(e.pid);
  if (phase == "M" && pid) return add_metadata(e, *pid);
  if (phase != "X") {
    return build_.lose("unsupported_phase", Severity::data_loss,
                       "events that are no complete ones (ph X) were dropped");
  }
  const auto process = pid ? devices_.find(*pid) : devices_.end();
  const auto tid = parse_integer(e.tid);
  if (process == devices_.end() || !tid) {
    return build_.lose("unknown_process", Severity::data_loss,
                       "events of a process that was not announced as host or GPU were dropped");
  }
  const Key key{*pid, *tid};
  process->second >= 0 ? add_on_device(e, process->second, key) : add_on_host(e, key);
}

void XprofImport::add_metadata(const TraceEvent& e, std::int64_t pid) {
  const std::string_view name = unquote(e.args[arg::name]);
  const auto tid = parse_integer(e.tid);
  if (e.name == "\"process_name\"") {
    const auto device = number_behind(name, "device:GPU:");
    if (!device && name.find("/host:") == std::string_view::npos) return;
    build_.check_room(devices_.size(), limits::threads, "processes");
    devices_[pid] = device.value_or(-1);
    if (!device) return;
    build_.check_room(trace_.devices.size(), limits::devices, "GPUs");
    trace_.devices.emplace_back().id = *device;
  } else if (e.name == "\"thread_name\"" && tid) {
    if (const auto stream = number_behind(name, "Stream #")) {
      build_.check_room(streams_.size(), limits::streams, "streams");
      streams_[{pid, *tid}] = *stream;
    }
    has_tensorflow_ |= name.starts_with("TensorFlow ") || name.starts_with("tf_");
    build_.name_thread(pid, *tid, e.args[arg::name]);
  }
}

void XprofImport::add_on_device(const TraceEvent& e, std::int64_t device, const Key& key) {
  const auto stream = streams_.find(key);
  if (stream == streams_.end()) {
    return build_.lose("ignored_derived_row", Severity::info,
                       "rows that XProf derives from the streams (steps, operations, name scopes)");
  }
  Span span;
  if (!build_.span(e, e.args[arg::correlation], span)) return;
  const auto context = number_behind(e.args[arg::context], "$$");
  add_activity(e, span, {device, context.value_or(0), stream->second});
}

void XprofImport::add_activity(const TraceEvent& e, const Span& span, const Stream& stream) {
  const std::string_view name = unquote(e.name);
  ActivityKind kind = ActivityKind::kernel;
  std::string_view bytes;
  if (!e.args[arg::memcpy_details].empty() || name.starts_with("Memcpy")) {
    kind = ActivityKind::memcpy;
    bytes = detail(e.args[arg::memcpy_details], "size");
  } else if (!e.args[arg::memset_details].empty() || name.starts_with("Memset")) {
    kind = ActivityKind::memset;
    bytes = detail(e.args[arg::memset_details], "num_bytes");
  }
  has_jit_ |= unquote(e.args[arg::hlo_module]).starts_with("jit_");
  Activities& to = trace_.activities;
  to.begin.push_back(span.begin);
  to.duration.push_back(span.duration);
  to.kind.push_back(kind);
  to.stream.push_back(build_.stream(stream));
  to.name.push_back(build_.text(e.name));
  to.correlation.push_back(build_.integer(e.args[arg::correlation], -1));
  to.external_id.push_back(-1);
  to.geometry.push_back(kind == ActivityKind::kernel ? find_geometry(e) : GeometryId{});
  to.bytes.push_back(build_.bytes(bytes));
  to.collective.push_back({});
}

GeometryId XprofImport::find_geometry(const TraceEvent& e) {
  const std::string_view details = e.args[arg::kernel_details];
  if (details.empty()) {
    build_.lose("missing_geometry", Severity::warning,
                "kernels without grid and block; their occupancy is unknown");
    return {};
  }
  std::array<std::int64_t, 3> grid;
  std::array<std::int64_t, 3> block;
  const auto triple = [](std::string_view text, std::array<std::int64_t, 3>& to) {
    return parse_triple(fmt::format("[{}]", text), to);
  };
  if (!triple(detail(details, "grid"), grid) || !triple(detail(details, "block"), block)) {
    grid = {};  // an impossible launch: counted as such
  }
  std::int64_t shared = 0;
  if (__builtin_add_overflow(build_.integer(detail(details, "static_shared"), 0),
                             build_.integer(detail(details, "dynamic_shared"), 0), &shared)) {
    shared = -1;  // an impossible launch
  }
  return build_.checked_geometry(grid, block, build_.integer(detail(details, "regs"), 0), shared);
}

void XprofImport::add_on_host(const TraceEvent& e, const Key& key) {
  const std::string_view name = unquote(e.name);
  if (name.starts_with('$')) {
    return build_.lose("ignored_python_function", Severity::info, "Python frames are not used");
  }
  Span span;
  if (!build_.span(e, e.args[arg::correlation], span)) return;
  if (std::find(std::begin(overheads), std::end(overheads), name) != std::end(overheads)) {
    trace_.overheads.begin.push_back(span.begin);
    trace_.overheads.duration.push_back(span.duration);
    trace_.overheads.name.push_back(build_.text(e.name));
    return;
  }
  const ThreadId thread = build_.thread(key.first, key.second);
  if (!e.args[arg::correlation].empty()) return add_call(e, span, thread);
  const std::string_view step = step_number(name, e.args[arg::step]);
  if (step.empty()) {
    const ExecutorEvent event = executor_event(name);
    switch (event.kind) {
      case ExecutorEvent::Kind::node: return add_node(span, thread, trace_.nodes);
      case ExecutorEvent::Kind::value_wait: return add_wait(span, thread, trace_.value_waits);
      case ExecutorEvent::Kind::operation:
        build_.remembered_ops().push_back(static_cast<std::uint32_t>(trace_.ops.size()));
        return add_op(build_.TraceBuilder::text(event.operation), span, thread);
      case ExecutorEvent::Kind::other: return add_op(build_.text(e.name), span, thread);
    }
  }
  trace_.annotations.begin.push_back(span.begin);
  trace_.annotations.duration.push_back(span.duration);
  trace_.annotations.thread.push_back(thread);
  trace_.annotations.name.push_back(build_.text(e.name));
  trace_.annotations.step.push_back(build_.integer(step, -1));
  trace_.annotations.mark.push_back(AnnotationMark::none);
  const std::int64_t batch = build_.integer(e.args[arg::batch], 0);
  if (batch > 0 && batch <= limits::count) trace_.stated_batch = batch;
}

void XprofImport::add_call(const TraceEvent& e, const Span& span, ThreadId thread) {
  const std::string_view name = unquote(e.name);
  ApiKind api = api_kind(name.substr(0, name.find(' ')));  // "cuGraphLaunch (CudaGraph:381)"
  if (name.starts_with("Memcpy")) {
    const bool blocking = detail(e.args[arg::memcpy_details], "async") == "0";
    api = blocking ? ApiKind::memcpy_blocking : ApiKind::memcpy_async;
  } else if (name.starts_with("Memset")) {
    api = ApiKind::memset;
  }
  RuntimeCalls& calls = trace_.calls;
  calls.begin.push_back(span.begin);
  calls.duration.push_back(span.duration);
  calls.thread.push_back(thread);
  calls.name.push_back(build_.text(e.name));
  calls.api.push_back(api);
  calls.correlation.push_back(build_.integer(e.args[arg::correlation], -1));
  calls.external_id.push_back(-1);
}

void XprofImport::add_op(StringId name, const Span& span, ThreadId thread) {
  HostOps& ops = trace_.ops;
  ops.begin.push_back(span.begin);
  ops.duration.push_back(span.duration);
  ops.thread.push_back(thread);
  ops.name.push_back(name);
  ops.external_id.push_back(-1);
  ops.sequence.push_back(-1);
  ops.forward_thread.push_back(0);
  ops.operands.push_back({});
}

// XProf names a launch call after the kernel that it launches: the correlation tells.
void XprofImport::mark_launches() {
  const Activities& activities = trace_.activities;
  std::vector<std::int64_t> kernels;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    if (activities.kind[i] == ActivityKind::kernel) kernels.push_back(activities.correlation[i]);
  }
  std::sort(kernels.begin(), kernels.end());
  RuntimeCalls& calls = trace_.calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::int64_t id = calls.correlation[i];
    if (calls.api[i] == ApiKind::other && id >= 0 &&
        std::binary_search(kernels.begin(), kernels.end(), id)) {
      calls.api[i] = ApiKind::launch_kernel;
    }
  }
}

}  // namespace

bool is_xprof(std::string_view prefix) {
  const auto has = [&](std::string_view sign) {
    return prefix.find(sign) != std::string_view::npos;
  };
  return !has("\"schemaVersion\"") && has("\"process_name\"") &&
         (has("\"/host:") || has("\"/device:"));
}

Trace read_xprof(ByteSource& source, std::size_t most_rows) {
  return XprofImport(source, most_rows).read();
}

}  // namespace tandem
