// Nsight Systems reports as `nsys export --type sqlite` writes them. Names of tables and columns
// are those of NVIDIA's "SQLite Schema Reference" (export schema 3.16, nsys 2024.6); tables are
// there only if they have rows. Times are in nanoseconds.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/core/sqlite/database.h"
#include "sim/core/text/numbers.h"
#include "sim/trace/importers/api_names.h"
#include "sim/trace/importers/importers.h"
#include "sim/trace/importers/kineto/operands.h"
#include "sim/trace/importers/marks.h"
#include "sim/trace/importers/nsys/kernel_names.h"
#include "sim/trace/importers/nsys/ranges.h"
#include "sim/trace/importers/step_marks.h"
#include "sim/trace/trace_builder.h"

namespace tandem {

namespace {

using sqlite::Database;
using sqlite::Statement;

constexpr std::string_view file_magic{"SQLite format 3\0", 16};

constexpr const char* kernels_table = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* calls_table = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* copies_table = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* sets_table = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* syncs_table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
constexpr const char* ranges_table = "NVTX_EVENTS";
constexpr const char* graphs_table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* gpus_table = "TARGET_INFO_GPU";
constexpr const char* texts_table = "StringIds";

/// As PyTorch's profiler names them: ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND by number.
constexpr std::array copy_kinds{"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
constexpr std::array memory_kinds{"Pageable", "Pinned",        "Device",         "Array",
                                  "Managed",  "Device Static", "Managed Static", "Unknown"};
constexpr std::array sync_kinds{"Unknown", "Event Sync", "Stream Wait Event", "Stream Sync",
                                "Context Sync"};

template <class Names>
std::string_view name_of(const Names& names, std::optional<std::int64_t> kind) {
  const auto i = static_cast<std::size_t>(kind.value_or(-1));
  return i < names.size() ? names[i] : "Unknown";
}

// A GlobalId holds the process and the thread in 24 bits each, the thread lowest.
constexpr std::int64_t id_range = 1 << 24;

class NsysImport {
 public:
  NsysImport(Database database, std::size_t most_rows)
      : database_(std::move(database)),
        build_(
            trace_, [this] { return place_; }, most_rows) {
    trace_.path = database_.path();
  }
  Trace read();

 private:
  /// `wanted`: columns, those behind '?' only where the report has them, NULL elsewhere.
  Statement select(const char* table, const std::vector<std::string>& wanted);
  bool has(const char* table) { return !database_.columns(table).empty(); }
  void need(const char* table, const char* record);
  void each_row(const char* table, const std::vector<std::string>& wanted,
                const std::function<void(const Statement&, const Span&)>& add);

  void read_texts();
  void read_gpus();
  void count_graphs();
  /// `joined_by`: the column that joins a call to its device work; -1: none.
  bool span(const Statement& row, int joined_by, Span& span);
  std::string_view text(std::optional<std::int64_t> id);
  std::string_view words(const Statement& row, int column);
  std::int64_t number(const Statement& row, int column, std::int64_t absent);
  ThreadId thread(const Statement& row, int column);
  void add_call(const Statement& row, const Span& span);
  void add_range(const Statement& row, const Span& span);
  void add_op(const nsys::Range& range, const Span& span, ThreadId thread);
  void add_sync(const Statement& row, const Span& span);
  void add_activity(const Statement& row, const Span& span, ActivityKind kind,
                    std::string_view name, GeometryId geometry, std::int64_t bytes);
  void add_kernel(const Statement& row, const Span& span);
  void add_copy(const Statement& row, const Span& span);
  void add_set(const Statement& row, const Span& span);

  Database database_;
  Trace trace_;
  std::string place_;
  TraceBuilder build_;
  std::vector<std::pair<std::int64_t, StringId>> texts_;  // by id of the report
  kineto::OperandReader operands_{trace_.operands};
  bool has_ops_ = false;
};

// The columns that say which stream and which call an activity belongs to come first everywhere.
const std::vector<std::string> activity_columns{"start",     "end",      "deviceId",
                                                "contextId", "streamId", "correlationId"};

std::vector<std::string> activity_with(std::initializer_list<const char*> more) {
  std::vector<std::string> columns = activity_columns;
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

Trace NsysImport::read() {
  need(texts_table, "a report of nsys export --type sqlite");
  need(calls_table, "CUDA calls: nsys profile --trace=cuda,nvtx");
  need(kernels_table, "kernels: nsys profile --trace=cuda,nvtx --cuda-graph-trace=node");
  read_texts();
  const auto add = [this](auto member) {
    return [this, member](const Statement& row, const Span& s) { (this->*member)(row, s); };
  };
  each_row(calls_table, {"start", "end", "globalTid", "correlationId", "nameId"},
           add(&NsysImport::add_call));
  each_row(kernels_table,
           activity_with({"demangledName", "registersPerThread", "staticSharedMemory",
                          "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY",
                          "blockZ"}),
           add(&NsysImport::add_kernel));
  each_row(copies_table, activity_with({"bytes", "copyKind", "?srcKind", "?dstKind"}),
           add(&NsysImport::add_copy));
  each_row(sets_table, activity_with({"bytes", "?memKind"}), add(&NsysImport::add_set));
  each_row(syncs_table, activity_with({"syncType"}), add(&NsysImport::add_sync));
  each_row(ranges_table, {"start", "end", "eventType", "text", "?textId", "globalTid"},
           add(&NsysImport::add_range));
  read_gpus();
  count_graphs();
  build_.finish();
  trace_.framework = has_ops_ ? Framework::pytorch : Framework::unknown;
  return std::move(trace_);
}

void NsysImport::need(const char* table, const char* record) {
  if (has(table)) return;
  throw InputError(database_.path(), table, "no such table", record);
}

Statement NsysImport::select(const char* table, const std::vector<std::string>& wanted) {
  const std::vector<std::string> there = database_.columns(table);
  std::vector<std::string> columns;
  for (std::string name : wanted) {
    const bool optional = name.front() == '?';
    if (optional) name.erase(0, 1);
    const bool found = std::find(there.begin(), there.end(), name) != there.end();
    if (!found && !optional) {
      throw InputError(database_.path(), table, "no column \"" + name + "\"",
                       fmt::format("the columns {} (export schema 3)", fmt::join(wanted, ", ")));
    }
    columns.push_back(found ? sqlite::quoted_name(name) : "NULL");
  }
  return database_.prepare(fmt::format("SELECT {} FROM {}", fmt::join(columns, ", "), table));
}

void NsysImport::each_row(const char* table, const std::vector<std::string>& wanted,
                          const std::function<void(const Statement&, const Span&)>& add) {
  if (!has(table)) return;
  Statement rows = select(table, wanted);
  const auto correlation = std::find(wanted.begin(), wanted.end(), "correlationId");
  const int joined_by =
      correlation == wanted.end() ? -1 : static_cast<int>(correlation - wanted.begin());
  for (std::int64_t row = 1; rows.next(); ++row) {
    place_ = fmt::format("{} row {}", table, row);
    Span span;
    if (this->span(rows, joined_by, span)) add(rows, span);
  }
}

void NsysImport::read_texts() {
  Statement rows = select(texts_table, {"id", "value"});
  for (std::int64_t row = 1; rows.next(); ++row) {
    place_ = fmt::format("{} row {}", texts_table, row);
    build_.check_room(texts_.size(), limits::rows, "texts");
    texts_.emplace_back(rows.integer(0).value_or(-1), build_.text(words(rows, 1)));
  }
  std::sort(texts_.begin(), texts_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

/// SQLite keeps texts as it was given them; all that is written of a trace is UTF-8.
std::string_view NsysImport::words(const Statement& row, int column) {
  const std::string_view text = row.text(column);
  if (simdjson::validate_utf8(text)) return text;
  throw InputError(database_.path(), place_, "text that is not valid UTF-8", "text in UTF-8");
}

std::string_view NsysImport::text(std::optional<std::int64_t> id) {
  const auto at =
      std::lower_bound(texts_.begin(), texts_.end(), id.value_or(-1),
                       [](const auto& text, std::int64_t wanted) { return text.first < wanted; });
  if (id && at != texts_.end() && at->first == *id) return trace_.strings.get(at->second);
  build_.lose("missing_name", Severity::warning, "events without a name were kept");
  return "unknown";
}

std::int64_t NsysImport::number(const Statement& row, int column, std::int64_t absent) {
  if (const auto value = row.integer(column)) return *value;
  if (!row.is_null(column)) {
    build_.lose("bad_argument", Severity::data_loss,
                "arguments that are no whole number; taken as absent");
  }
  return absent;
}

bool NsysImport::span(const Statement& row, int joined_by, Span& span) {
  constexpr std::int64_t ns_per_us = 1000;
  constexpr std::int64_t ps_per_ns = 1000;
  const auto begin = row.integer(0);
  const auto end = row.integer(1);
  const auto lost = [&](const char* code, const char* text) {
    build_.lose(code, Severity::data_loss, text);
    return false;
  };
  if (!begin) return lost("bad_timestamp", "events whose start is no whole number were dropped");
  if (!end && row.is_null(1)) {
    build_.lose("ignored_instant", Severity::info, "events without an end (marks) are not used");
    return false;
  }
  if (!end) return lost("bad_duration", "events whose end is no whole number were dropped");
  if (*begin < 0) return lost("negative_timestamp", "events whose start is negative were dropped");
  if (*end < *begin)
    return lost("negative_duration", "events that end before they start were dropped");
  const auto time = [](std::int64_t ns) {
    return ExactTime{ns / ns_per_us, ns % ns_per_us * ps_per_ns};
  };
  if (!build_.is_late(time(*begin))) return build_.span(time(*begin), time(*end - *begin), span);
  build_.drop_late(joined_by < 0 ? -1 : number(row, joined_by, -1));
  return false;
}

ThreadId NsysImport::thread(const Statement& row, int column) {
  const std::int64_t id = number(row, column, 0);
  return build_.thread(id / id_range % id_range, id % id_range);
}

void NsysImport::add_call(const Statement& row, const Span& span) {
  const std::string_view name = plain_api_name(text(row.integer(4)));
  RuntimeCalls& calls = trace_.calls;
  calls.begin.push_back(span.begin);
  calls.duration.push_back(span.duration);
  calls.thread.push_back(thread(row, 2));
  calls.api.push_back(api_kind(name));
  calls.name.push_back(build_.text(std::string(name)));
  calls.correlation.push_back(number(row, 3, -1));
  calls.external_id.push_back(-1);
}

void NsysImport::add_activity(const Statement& row, const Span& span, ActivityKind kind,
                              std::string_view name, GeometryId geometry, std::int64_t bytes) {
  Activities& to = trace_.activities;
  to.begin.push_back(span.begin);
  to.duration.push_back(span.duration);
  to.kind.push_back(kind);
  to.stream.push_back(build_.stream({number(row, 2, 0), number(row, 3, 0), number(row, 4, 0)}));
  to.name.push_back(build_.text(std::string(name)));
  to.correlation.push_back(number(row, 5, -1));
  to.external_id.push_back(-1);
  to.geometry.push_back(geometry);
  to.bytes.push_back(bytes);
  to.collective.push_back({});
}

void NsysImport::add_kernel(const Statement& row, const Span& span) {
  constexpr int registers = 7, fixed = 8, dynamic = 9, grid = 10, block = 13;
  const auto three = [&](int column) {
    return std::array{number(row, column, 0), number(row, column + 1, 0),
                      number(row, column + 2, 0)};
  };
  std::int64_t shared = 0;
  if (__builtin_add_overflow(number(row, fixed, 0), number(row, dynamic, 0), &shared)) shared = -1;
  add_activity(
      row, span, ActivityKind::kernel, nsys::kernel_name(text(row.integer(6))),
      build_.checked_geometry(three(grid), three(block), number(row, registers, 0), shared), 0);
}

void NsysImport::add_copy(const Statement& row, const Span& span) {
  add_activity(
      row, span, ActivityKind::memcpy,
      fmt::format("Memcpy {} ({} -> {})", name_of(copy_kinds, row.integer(7)),
                  name_of(memory_kinds, row.integer(8)), name_of(memory_kinds, row.integer(9))),
      {}, build_.bytes(number(row, 6, 0)));
}

void NsysImport::add_set(const Statement& row, const Span& span) {
  add_activity(row, span, ActivityKind::memset,
               fmt::format("Memset ({})", name_of(memory_kinds, row.integer(7))), {},
               build_.bytes(number(row, 6, 0)));
}

void NsysImport::add_sync(const Statement& row, const Span& span) {
  // CUPTI writes "no stream" as -1 in 32 unsigned bits.
  constexpr std::int64_t no_stream = 0xffffffff;
  const std::int64_t stream = number(row, 4, -1);
  SyncRecords& to = trace_.syncs;
  to.begin.push_back(span.begin);
  to.duration.push_back(span.duration);
  to.kind.push_back(build_.text(name_of(sync_kinds, row.integer(6))));
  to.correlation.push_back(number(row, 5, -1));
  to.stream.push_back(stream == no_stream ? -1 : stream);
  to.event_record_correlation.push_back(-1);
}

void NsysImport::add_range(const Statement& row, const Span& span) {
  constexpr std::int64_t push_pop = 59, start_end = 60;  // ENUM_NSYS_EVENT_TYPE
  const std::int64_t type = number(row, 2, 0);
  if (type != push_pop && type != start_end) {
    return build_.lose("ignored_nvtx_event", Severity::info,
                       "NVTX events other than ranges are not used");
  }
  const std::string_view text = row.is_null(3) ? this->text(row.integer(4)) : words(row, 3);
  const nsys::Range range = nsys::read_range(text);
  const ThreadId on = thread(row, 5);
  if (range.is_op) return add_op(range, span, on);
  Annotations& to = trace_.annotations;
  const std::string_view step = step_number(text, "");
  to.begin.push_back(span.begin);
  to.duration.push_back(span.duration);
  to.thread.push_back(on);
  to.name.push_back(build_.text(std::string(range.op < 0 ? text : range.name)));
  to.step.push_back(step.empty() ? -1 : plain_number<std::int64_t>(step).value_or(-1));
  to.mark.push_back(mark_of(text));
}

void NsysImport::add_op(const nsys::Range& range, const Span& span, ThreadId thread) {
  has_ops_ = true;
  OperandsId operands;
  if (!operands_.read({range.sizes, "", "", ""}, operands)) {
    build_.lose(
        "op_shapes_unreadable", Severity::warning,
        "operands that are not what PyTorch writes; taken as not recorded. " + operands_.error());
  }
  if (!range.sizes.empty()) {
    build_.lose("operand_types_unknown", Severity::warning,
                "operations whose ranges state shapes and no types: those follow from the names "
                "of their kernels and from what was computed before");
  }
  HostOps& ops = trace_.ops;
  ops.begin.push_back(span.begin);
  ops.duration.push_back(span.duration);
  ops.thread.push_back(thread);
  ops.name.push_back(build_.text(std::string(range.name)));
  ops.external_id.push_back(range.op);
  ops.sequence.push_back(range.sequence);
  ops.forward_thread.push_back(range.is_backward ? 1 : 0);
  ops.operands.push_back(operands);
}

/// The device of the first activity comes first: that one names the GPU of the trace.
void NsysImport::read_gpus() {
  if (!has(gpus_table)) return;
  Statement rows = select(gpus_table, {"id", "name", "?totalMemory", "?computeMajor",
                                       "?computeMinor", "?smCount", "?cuDevice"});
  const auto small = [&](int column) {
    return static_cast<int>(std::clamp<std::int64_t>(number(rows, column, 0), 0, 1 << 20));
  };
  for (std::int64_t row = 1; rows.next(); ++row) {
    place_ = fmt::format("{} row {}", gpus_table, row);
    build_.check_room(trace_.devices.size(), limits::devices, "GPUs");
    const std::int64_t id = number(rows, 6, number(rows, 0, 0));
    trace_.devices.push_back({id, std::string(words(rows, 1)), build_.bytes(number(rows, 2, 0)),
                              small(3), small(4), small(5)});
  }
}

void NsysImport::count_graphs() {
  if (!has(graphs_table)) return;
  Statement rows = select(graphs_table, {"start"});
  while (rows.next()) {
    build_.lose("graph_without_kernels", Severity::data_loss,
                "launches of CUDA graphs whose kernels were not recorded "
                "(nsys profile --cuda-graph-trace=node records them)");
  }
}

/// Whether SQLite can open it: no pipe, whose bytes are gone once they are read.
bool is_plain_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::array<char, file_magic.size()> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == file_magic;
}

/// A plain file is read where it lies, a compressed one or a pipe in memory.
Database open_report(ByteSource& source) {
  if (is_plain_file(source.path())) return Database::open(source.path());
  std::string content;
  std::size_t read = 0;
  do {
    if (content.size() > limits::database_bytes) {
      throw InputError(source.path(), "", "a compressed report of more than 1 GiB",
                       "the same report uncompressed, which is read where it lies");
    }
    content.resize(content.size() + ByteSource::prefix_bytes);
    read = source.read(std::span(content).last(ByteSource::prefix_bytes));
  } while (read == ByteSource::prefix_bytes);
  content.resize(content.size() - ByteSource::prefix_bytes + read);
  return Database::open_bytes(source.path(), content);
}

}  // namespace

bool is_nsys(std::string_view prefix) { return prefix.starts_with(file_magic); }

Trace read_nsys(ByteSource& source, std::size_t most_rows) {
  return NsysImport(open_report(source), most_rows).read();
}

}  // namespace tandem
