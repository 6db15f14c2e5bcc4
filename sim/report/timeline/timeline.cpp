#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/metrics/runtime_metrics.h"
#include "sim/report/report.h"
#include "sim/report/timeline/event_writer.h"
#include "sim/report/timeline/host_ranges.h"
#include "sim/report/timeline/lanes.h"

namespace tandem {

namespace {

// Perfetto shows one group of tracks per process id.
constexpr int traced_host = 1;
constexpr int traced_gpu = 2;
constexpr int simulated_host = 3;
constexpr int simulated_gpu = 4;
constexpr int scenario_host = 5;
constexpr int scenario_gpu = 6;

std::string_view item_name(const Trace& trace, const HostItem& item) {
  switch (item.kind) {
    case ItemKind::step_begin: return "step begin";
    case ItemKind::step_end: return "step end";
    case ItemKind::graph_launch: return "cudaGraphLaunch";
    case ItemKind::value_wait: return "wait for a value";
    case ItemKind::enqueue:
    case ItemKind::node: return trace.strings.get(trace.ops.name[trace.nodes.op[item.executed]]);
    default: break;
  }
  if (item.source == no_index && item.executed != no_index) return "end of node";
  return item.source == no_index ? "synchronize" : trace.strings.get(trace.calls.name[item.source]);
}

/// One thread or stream of a run, with more lanes where its slices overlap.
class LanedTrack {
 public:
  LanedTrack(EventWriter& out, int pid, std::string_view name, std::vector<TrackSlice> slices,
             bool nested)
      : slices_(std::move(slices)) {
    const std::size_t lanes = std::max<std::size_t>(set_lanes(slices_, nested), 1);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      tracks_.push_back(out.add_track(
          pid, lane == 0 ? std::string(name) : fmt::format("{} ({})", name, lane + 1)));
    }
  }
  const std::vector<TrackSlice>& slices() const { return slices_; }
  const Track& of(const TrackSlice& slice) const { return tracks_[slice.lane]; }
  const Track& first() const { return tracks_.front(); }

 private:
  std::vector<TrackSlice> slices_;
  std::vector<Track> tracks_;
};

/// What is known of a piece of device work.
std::string work_args(const SimulatedRun& run, std::uint32_t a, bool critical) {
  const Activities& acts = run.trace.activities;
  EventArgs args;
  if (!run.names.op.empty()) args.text("op", run.names.op[a]);
  if (!run.names.layer.empty()) args.text("layer", run.names.layer[a]);
  if (acts.geometry[a].valid()) {
    const LaunchGeometry& g = run.trace.geometries[acts.geometry[a].index()];
    args.size("grid", g.grid).size("block", g.block);
    args.number("registers_per_thread", g.registers_per_thread);
    args.number("shared_bytes", g.shared_bytes);
  }
  if (acts.bytes[a] > 0) args.number("bytes", static_cast<double>(acts.bytes[a]));
  if (critical) args.text("critical_path", "yes");
  if (run.counters.empty() || acts.kind[a] != ActivityKind::kernel) return args.json();
  const WorkCounters& c = run.counters[a];
  const KernelUse use = kernel_use(c, run.gpu);
  args.text("bound", to_string(use.bound)).number("waves", c.waves);
  args.number("theoretical_occupancy", c.theoretical_occupancy);
  args.number("achieved_occupancy", use.achieved_occupancy);
  args.number("smsp_active_utilization", use.smsp_active_utilization);
  args.number("smsp_issue_utilization", use.smsp_issue_utilization);
  args.number("tc_active_utilization", use.tc_active_utilization);
  args.number("dram_utilization", use.dram_utilization);
  if (c.flops > 0) args.number("gflop", c.flops * 1e-9).number("tflops", use.tflops);
  args.text("reason", to_string(use.reason));
  if (!run.power.empty()) args.number("energy_mj", c.energy_j * 1e3);
  return args.json();
}

/// Per row of Trace::activities, or of Trace::calls: whether it stands on the critical path.
std::vector<bool> on_path(const SimulatedRun& run, bool device) {
  std::vector<bool> rows(device ? run.trace.activities.size() : run.trace.calls.size());
  for (const PathLink& link : run.path) {
    const bool works = link.kind == PathKind::work;
    if (link.row != no_index && works == device && (device || link.kind == PathKind::call)) {
      rows[link.row] = true;
    }
  }
  return rows;
}

/// Ids of the arrows from launches to the first work of each; 0: none.
using Arrows = std::vector<std::uint64_t>;

/// Writes the launch's end of an arrow to `work`, which begins at `work_ns`. Clocks of profilers
/// may put a kernel before its launch: no arrow points backwards.
void begin_arrow(EventWriter& out, const Track& track, const FileSpan& launch, std::uint32_t work,
                 std::int64_t work_ns, Arrows& arrows) {
  if (work_ns < launch.begin_ns) return;
  arrows[work] = out.new_flow();
  out.flow_out(track, launch.begin_ns, arrows[work]);
}

template <class Rows>
void add_slices(const EventWriter& out, const Rows& rows, SliceKind kind,
                std::vector<std::vector<TrackSlice>>& threads) {
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (!rows.thread[i].valid()) continue;
    threads[rows.thread[i].index()].push_back(
        {out.span(rows.begin[i], rows.begin[i] + rows.duration[i]), i, kind});
  }
}

void write_range(EventWriter& out, const Trace& trace, const Track& track, const TrackSlice& s) {
  const bool op = s.kind == SliceKind::op;
  const StringId name = op ? trace.ops.name[s.row] : trace.annotations.name[s.row];
  out.slice(track, op ? "op" : "range", text_of(trace, name), s.span);
}

/// Per call of the measured trace the first work that it launched, or no_index.
std::vector<std::uint32_t> first_works(const SimulatedRun& run) {
  std::vector<std::uint32_t> first(run.trace.calls.size(), no_index);
  for (const HostItem& item : run.plan.items) {
    if (item.source != no_index && item.work_count > 0) first[item.source] = item.first_work;
  }
  return first;
}

/// The host as it was measured: user ranges, operations and calls.
void write_traced_host(EventWriter& out, const SimulatedRun& run, Arrows& arrows) {
  const Trace& trace = run.trace;
  const std::vector<std::uint32_t> launched = first_works(run);
  std::vector<std::vector<TrackSlice>> threads(trace.threads.size());
  add_slices(out, trace.annotations, SliceKind::range, threads);
  add_slices(out, trace.ops, SliceKind::op, threads);
  add_slices(out, trace.calls, SliceKind::call, threads);
  for (std::size_t t = 0; t < threads.size(); ++t) {
    if (threads[t].empty()) continue;
    const Thread& thread = trace.threads[t];
    const std::string name =
        thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name;
    const LanedTrack track(out, traced_host, name, std::move(threads[t]), true);
    for (const TrackSlice& s : track.slices()) {
      if (s.kind != SliceKind::call) {
        write_range(out, trace, track.of(s), s);
        continue;
      }
      out.slice(track.of(s), "cuda_runtime", text_of(trace, trace.calls.name[s.row]), s.span);
      const std::uint32_t work = launched[s.row];
      if (work == no_index) continue;
      const TimePoint begin = trace.activities.begin[run.plan.works[work].source];
      begin_arrow(out, track.of(s), s.span, work, out.ns(begin), arrows);
    }
  }
}

bool is_instant(const HostItem& item) {
  return item.kind == ItemKind::step_begin || item.kind == ItemKind::step_end;
}

/// The host as it was simulated: the plan's items, and what of the trace is still around them.
void write_simulated_host(EventWriter& out, const SimulatedRun& run, int pid, Arrows& arrows) {
  std::vector<std::vector<TrackSlice>> threads(run.plan.threads.size());
  for (const PlacedRange& range : host_ranges(run.trace, run.plan, run.timeline)) {
    threads[range.thread].push_back({out.span(range.begin, range.end), range.row,
                                     range.is_op ? SliceKind::op : SliceKind::range});
  }
  const std::vector<HostItem>& items = run.plan.items;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (is_instant(items[i])) continue;
    threads[items[i].thread].push_back(
        {out.span(run.timeline.item_begin[i], run.timeline.item_end[i]), i, SliceKind::call});
  }
  const std::vector<bool> critical = on_path(run, false);
  std::vector<Track> first;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    const LanedTrack track(out, pid, run.plan.threads[t].name, std::move(threads[t]), true);
    first.push_back(track.first());
    for (const TrackSlice& s : track.slices()) {
      if (s.kind != SliceKind::call) {
        write_range(out, run.trace, track.of(s), s);
        continue;
      }
      const HostItem& item = items[s.row];
      const bool on = item.source != no_index && critical[item.source];
      out.slice(track.of(s), "cuda_runtime", item_name(run.trace, item), s.span,
                on ? R"({"critical_path":"yes"})" : "");
      if (item.work_count == 0) continue;
      begin_arrow(out, track.of(s), s.span, item.first_work,
                  out.ns(run.timeline.work_begin[item.first_work]), arrows);
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!is_instant(items[i])) continue;
    out.instant(first[items[i].thread], "step", item_name(run.trace, items[i]),
                out.ns(run.timeline.item_begin[i]));
  }
}

/// Work on its streams; `traced`: when it ran in the trace.
void write_device(EventWriter& out, const SimulatedRun& run, int pid, bool traced,
                  const Arrows& arrows) {
  const Activities& acts = run.trace.activities;
  std::vector<std::vector<TrackSlice>> streams(run.plan.streams.size());
  for (std::uint32_t w = 0; w < run.plan.works.size(); ++w) {
    const DeviceWork& work = run.plan.works[w];
    const TimePoint begin = acts.begin[work.source];
    const FileSpan span = traced ? out.span(begin, begin + acts.duration[work.source])
                                 : out.span(run.timeline.work_begin[w], run.timeline.work_end[w]);
    streams[work.stream].push_back({span, w, SliceKind::work});
  }
  const std::vector<bool> critical = on_path(run, true);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const LanedTrack track(out, pid, run.plan.streams[i], std::move(streams[i]), false);
    for (const TrackSlice& s : track.slices()) {
      const std::uint32_t a = run.plan.works[s.row].source;
      out.slice(track.of(s), to_string(acts.kind[a]), text_of(run.trace, acts.name[a]), s.span,
                work_args(run, a, critical[a]));
      if (arrows[s.row] != 0) out.flow_in(track.of(s), s.span.begin_ns, arrows[s.row]);
    }
  }
}

/// The links of the critical path, one after the other.
void write_path(EventWriter& out, const SimulatedRun& run, int pid) {
  if (run.path.empty()) return;
  std::vector<TrackSlice> links;
  for (std::uint32_t i = 0; i < run.path.size(); ++i) {
    links.push_back({out.span(run.path[i].begin, run.path[i].end), i, SliceKind::work});
  }
  const LanedTrack track(out, pid, "critical path", std::move(links), false);
  for (const TrackSlice& s : track.slices()) {
    const PathLink& link = run.path[s.row];
    out.slice(track.of(s), "critical_path", link_name(run.trace, run.names.op_of_call, link),
              s.span, EventArgs().text("kind", to_string(link.kind)).json());
  }
}

/// The number of streams with work in flight, as steps of a curve.
void write_busy(EventWriter& out, int pid, const Timeline& timeline) {
  std::vector<QueueDepth> changes;
  for (std::size_t w = 0; w < timeline.work_begin.size(); ++w) {
    changes.push_back({timeline.work_begin[w], +1});
    changes.push_back({timeline.work_end[w], -1});
  }
  for (const QueueDepth& point : curve_of(std::move(changes))) {
    out.counter(pid, "busy streams", point.time, point.depth);
  }
}

/// One DCGM metric over time: the sum over the work that runs, at most the whole device.
void write_share(EventWriter& out, int pid, std::string_view name, const SimulatedRun& run,
                 double DcgmShares::*member) {
  constexpr double per_mille = 1000;  // integers keep the file small
  std::vector<QueueDepth> changes;
  for (std::size_t w = 0; w < run.shares.size(); ++w) {
    const double share = member == nullptr ? 1 : run.shares[w].*member;
    const auto value = static_cast<std::int64_t>(std::lround(share * per_mille));
    changes.push_back({run.timeline.work_begin[w], value});
    changes.push_back({run.timeline.work_end[w], -value});
  }
  std::int64_t last = -1;
  for (const QueueDepth& point : curve_of(std::move(changes))) {
    const std::int64_t percent = std::min<std::int64_t>(point.depth, 1000) / 10;
    if (percent != std::exchange(last, percent)) out.counter(pid, name, point.time, percent);
  }
}

void write_shares(EventWriter& out, int pid, const SimulatedRun& run) {
  for (const BoardPower& sample : run.power) {
    out.counter(pid, "power W", TimePoint{from_us(sample.time_us)}, std::llround(sample.power_w));
  }
  if (run.shares.empty()) return;
  write_share(out, pid, "GRACT %", run, nullptr);
  write_share(out, pid, "SMACT %", run, &DcgmShares::smact);
  write_share(out, pid, "SMOCC %", run, &DcgmShares::smocc);
  write_share(out, pid, "TENSO %", run, &DcgmShares::tenso);
  write_share(out, pid, "DRAMA %", run, &DcgmShares::drama);
  write_share(out, pid, "SMSP active %", run, &DcgmShares::smsp_active);
  write_share(out, pid, "issue slots %", run, &DcgmShares::smsp_issue);
}

void write_simulated(EventWriter& out, const SimulatedRun& run, int host, int gpu) {
  Arrows arrows(run.plan.works.size());
  write_simulated_host(out, run, host, arrows);
  write_device(out, run, gpu, false, arrows);
  write_path(out, run, gpu);
  for (const QueueDepth& point : queue_depth(run.plan, run.timeline)) {
    out.counter(gpu, "launches waiting", point.time, point.depth);
  }
  for (const QueueDepth& point : scheduling_queue(run.plan, run.timeline)) {
    out.counter(host, "nodes in the scheduling queue", point.time, point.depth);
  }
  write_busy(out, gpu, run.timeline);
  write_shares(out, gpu, run);
}

void write_traced(EventWriter& out, const SimulatedRun& run) {
  Arrows arrows(run.plan.works.size());
  write_traced_host(out, run, arrows);
  const SimulatedRun without_path{run.trace, run.plan,  run.timeline, {},
                                  {},        run.names, run.counters, run.gpu};
  write_device(out, without_path, traced_gpu, true, arrows);
}

template <class Rows>
TimePoint earliest(const Rows& rows, TimePoint known) {
  for (const TimePoint begin : rows) known = std::min(known, begin);
  return known;
}

/// No later than anything that a run shows; zero unless something is before it.
TimePoint origin_of(const SimulatedRun& run, bool traced) {
  TimePoint first = earliest(run.timeline.item_begin, TimePoint{});
  first = earliest(run.timeline.work_begin, first);
  for (const PlanThread& thread : run.plan.threads) first = std::min(first, thread.begin);
  if (!traced) return first;
  first = earliest(run.trace.annotations.begin, first);
  first = earliest(run.trace.ops.begin, first);
  first = earliest(run.trace.calls.begin, first);
  return earliest(run.trace.activities.begin, first);
}

}  // namespace

void write_timeline(std::ostream& out, const SimulatedRun& measured, const SimulatedRun& scenario,
                    std::span<const SimulatedRun> ranks) {
  EventWriter writer(out);
  writer.name_process(traced_host, "1 traced: host");
  writer.name_process(traced_gpu, "2 traced: GPU");
  writer.name_process(simulated_host, "3 re-simulated: host");
  writer.name_process(simulated_gpu, "4 re-simulated: GPU");
  writer.name_process(scenario_host, "5 scenario, one step: host");
  writer.name_process(scenario_gpu, "6 scenario, one step: GPU");
  writer.set_origin(origin_of(measured, true));
  write_traced(writer, measured);
  write_simulated(writer, measured, simulated_host, simulated_gpu);
  writer.set_origin(origin_of(scenario, false));
  write_simulated(writer, scenario, scenario_host, scenario_gpu);
  TimePoint together{};
  for (const SimulatedRun& run : ranks) together = std::min(together, origin_of(run, false));
  writer.set_origin(together);
  int pid = scenario_gpu;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const int host = ++pid;
    const int gpu = ++pid;
    writer.name_process(host, fmt::format("{} ranks together, {}: host", host, r));
    writer.name_process(gpu, fmt::format("{} ranks together, {}: GPU", gpu, r));
    write_simulated(writer, ranks[r], host, gpu);
  }
}

void write_side_by_side(std::ostream& out, std::span<const NamedRun> runs) {
  EventWriter writer(out);
  int pid = 0;
  for (const NamedRun& named : runs) {
    const int host = ++pid;
    const int gpu = ++pid;
    writer.name_process(host, fmt::format("{} {}: host", host, named.name));
    writer.name_process(gpu, fmt::format("{} {}: GPU", gpu, named.name));
    writer.set_origin(origin_of(named.run, false));
    write_simulated(writer, named.run, host, gpu);
  }
}

}  // namespace tandem
