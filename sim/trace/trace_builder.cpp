#include "sim/trace/trace_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/bounds/limits.h"
#include "sim/core/bounds/trace_size.h"

namespace tandem {

namespace {

constexpr std::int64_t max_span_us = limits::trace_ps / ps_per_us;
constexpr std::int64_t max_duration_us = limits::event_ps / ps_per_us;
constexpr Duration max_all_events{limits::all_events_ps};
constexpr std::int64_t max_grid_x = 2'147'483'647;
constexpr std::int64_t max_grid_yz = 65'535;
constexpr std::int64_t max_threads = 1024;  // of a block
constexpr std::int64_t max_block_z = 64;

bool launchable(const std::array<std::int64_t, 3>& grid, const std::array<std::int64_t, 3>& block) {
  const auto within = [](std::int64_t n, std::int64_t max) { return n >= 1 && n <= max; };
  return within(grid[0], max_grid_x) && within(grid[1], max_grid_yz) &&
         within(grid[2], max_grid_yz) && within(block[0], max_threads) &&
         within(block[1], max_threads) && within(block[2], max_block_z) &&
         block[0] * block[1] * block[2] <= max_threads &&
         grid[0] * grid[1] <= limits::blocks / grid[2];
}

std::size_t hash_of(const LaunchGeometry& g) {
  std::uint64_t h = 0;
  const auto mix = [&h](std::uint32_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 29; };
  for (const std::uint32_t v : g.grid) mix(v);
  for (const std::uint32_t v : g.block) mix(v);
  mix(g.registers_per_thread);
  mix(g.shared_bytes);
  return h;
}

}  // namespace

void TraceBuilder::lose(std::string_view code, Severity severity, std::string_view description) {
  if (trace_.losses.count(code) > 0) return trace_.losses.add(code, severity, {});
  trace_.losses.add(code, severity, fmt::format("{}; first at {}", description, place_()));
}

bool TraceBuilder::span(const ExactTime& begin, const ExactTime& length, Span& span) {
  if (length.whole_us >= max_duration_us) {
    lose("absurd_duration", Severity::data_loss, "events of 1000 s or more were dropped");
    return false;
  }
  if (!has_origin_) trace_.origin_us = begin.whole_us;
  has_origin_ = true;
  std::int64_t us = 0;
  if (__builtin_sub_overflow(begin.whole_us, trace_.origin_us, &us) || us > max_span_us ||
      us < -max_span_us) {
    lose("absurd_timestamp", Severity::data_loss,
         "events more than a day from the first one were dropped");
    return false;
  }
  span.begin = TimePoint{picoseconds(us * ps_per_us + begin.ps)};
  span.duration = picoseconds(length.whole_us * ps_per_us + length.ps);
  if (all_events_ + span.duration > max_all_events) {
    lose("absurd_duration_sum", Severity::data_loss,
         "events after those that last 30 days together were dropped");
    return false;
  }
  all_events_ += span.duration;
  beginning_.count_row();
  return true;
}

void TraceBuilder::check_room(std::size_t count, std::size_t most, std::string_view what) const {
  if (count < most) return;
  throw InputError(trace_.path, place_(), fmt::format("more than {} {}", most, what),
                   fmt::format("at most {}", most));
}

StringId TraceBuilder::text(std::string_view text) {
  const StringId id = trace_.strings.intern(text);
  check_room(trace_.strings.bytes(), limits::text_bytes, "bytes of different names");
  return id;
}

ThreadId TraceBuilder::thread(std::int64_t pid, std::int64_t tid) {
  if (last_thread_.valid()) {
    const Thread& last = trace_.threads[last_thread_.index()];
    if (last.pid == pid && last.tid == tid) return last_thread_;
  }
  const auto [at, is_new] = threads_.try_emplace({pid, tid}, ThreadId{trace_.threads.size()});
  if (is_new) {
    check_room(trace_.threads.size(), limits::threads, "threads");
    trace_.threads.push_back({pid, tid, ""});
  }
  return last_thread_ = at->second;
}

StreamId TraceBuilder::stream(const Stream& s) {
  if (last_stream_.valid()) {
    const Stream& last = trace_.streams[last_stream_.index()];
    if (last.stream == s.stream && last.device == s.device && last.context == s.context) {
      return last_stream_;
    }
  }
  const auto [at, is_new] =
      streams_.try_emplace({s.device, s.context, s.stream}, StreamId{trace_.streams.size()});
  if (is_new) {
    check_room(trace_.streams.size(), limits::streams, "streams");
    trace_.streams.push_back(s);
  }
  return last_stream_ = at->second;
}

// Where `geometry` is or belongs. A std::unordered_map would need more memory than the geometries.
std::size_t TraceBuilder::geometry_slot(const LaunchGeometry& geometry) const {
  const std::size_t mask = geometry_slots_.size() - 1;
  std::size_t at = hash_of(geometry) & mask;
  while (geometry_slots_[at].valid() &&
         trace_.geometries[geometry_slots_[at].index()] != geometry) {
    at = (at + 1) & mask;
  }
  return at;
}

GeometryId TraceBuilder::geometry(const LaunchGeometry& geometry) {
  const std::size_t count = trace_.geometries.size();
  if ((count + 1) * 2 > geometry_slots_.size()) {
    geometry_slots_.assign(std::max<std::size_t>(256, geometry_slots_.size() * 2), {});
    for (std::size_t i = 0; i < count; ++i) {
      geometry_slots_[geometry_slot(trace_.geometries[i])] = GeometryId{i};
    }
  }
  GeometryId& slot = geometry_slots_[geometry_slot(geometry)];
  if (!slot.valid()) {
    check_room(count, limits::rows, "shapes of grids");
    slot = GeometryId{count};
    trace_.geometries.push_back(geometry);
  }
  return slot;
}

GeometryId TraceBuilder::checked_geometry(const std::array<std::int64_t, 3>& grid,
                                          const std::array<std::int64_t, 3>& block,
                                          std::int64_t registers, std::int64_t shared_bytes) {
  constexpr std::int64_t max_registers = 255;
  constexpr std::int64_t max_shared_bytes = 1 << 20;
  const bool resources = registers >= 0 && registers <= max_registers && shared_bytes >= 0 &&
                         shared_bytes <= max_shared_bytes;
  if (!launchable(grid, block) || !resources) {
    lose("bad_geometry", Severity::data_loss,
         "kernels whose grid, block, registers or shared memory no GPU can launch; kept without");
    return {};
  }
  LaunchGeometry g;
  for (std::size_t i = 0; i < 3; ++i) {
    g.grid[i] = static_cast<std::uint32_t>(grid[i]);
    g.block[i] = static_cast<std::uint32_t>(block[i]);
  }
  g.registers_per_thread = static_cast<std::uint32_t>(registers);
  g.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  return geometry(g);
}

void TraceBuilder::name_thread(std::int64_t pid, std::int64_t tid, std::string_view name) {
  // Some profilers announce threads that have no events, so there may be more of them.
  check_room(thread_names_.size(), 4 * limits::threads, "names of threads");
  check_room(thread_name_bytes_ += name.size(), limits::text_bytes, "bytes of names of threads");
  thread_names_[{pid, tid}] = name;
}

std::int64_t TraceBuilder::bytes(std::int64_t n) {
  if (n >= 0 && n <= limits::bytes) return n;
  if (n < 0) {
    lose("negative_bytes", Severity::data_loss, "negative byte counts; taken as 0");
  } else {
    lose("absurd_bytes", Severity::data_loss, "byte counts of more than 1 PiB; taken as 0");
  }
  return 0;
}

void TraceBuilder::finish() {
  for (Thread& thread : trace_.threads) {
    const auto at = thread_names_.find({thread.pid, thread.tid});
    if (at != thread_names_.end()) thread.name = at->second;
  }
  beginning_.finish();
}

}  // namespace tandem
