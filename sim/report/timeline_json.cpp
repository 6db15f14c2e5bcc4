#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "sim/metrics/runtime_metrics.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

// Perfetto shows one group of tracks per process id.
constexpr int traced_host = 1;
constexpr int traced_gpu = 2;
constexpr int simulated_host = 3;
constexpr int simulated_gpu = 4;
constexpr int scenario_host = 5;
constexpr int scenario_gpu = 6;

class EventWriter {
 public:
  explicit EventWriter(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":[\n"; }
  ~EventWriter() {
    flush();
    out_ << "\n],\"displayTimeUnit\":\"ns\"}\n";
  }
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void slice(int pid, std::int64_t tid, std::string_view name, TimePoint begin, TimePoint end) {
    separate();
    fmt::format_to(std::back_inserter(buffer_), R"({{"ph":"X","pid":{},"tid":{},"name":)", pid,
                   tid);
    text(name);
    fmt::format_to(std::back_inserter(buffer_), R"(,"ts":{:.3f},"dur":{:.3f}}})", to_us(begin),
                   to_us(end - begin));
  }
  void counter(int pid, std::string_view name, TimePoint time, std::int64_t value) {
    separate();
    fmt::format_to(std::back_inserter(buffer_), R"({{"ph":"C","pid":{},"name":)", pid);
    text(name);
    fmt::format_to(std::back_inserter(buffer_), R"(,"ts":{:.3f},"args":{{"value":{}}}}})",
                   to_us(time), value);
  }
  void name_process(int pid, std::string_view name) { name_track("process_name", pid, 0, name); }
  void name_thread(int pid, std::int64_t tid, std::string_view name) {
    name_track("thread_name", pid, tid, name);
  }

 private:
  void name_track(std::string_view what, int pid, std::int64_t tid, std::string_view name) {
    separate();
    fmt::format_to(std::back_inserter(buffer_),
                   R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":)", pid, tid, what);
    text(name);
    fmt::format_to(std::back_inserter(buffer_), "}}}}");
  }
  void separate() {
    if (!first_) fmt::format_to(std::back_inserter(buffer_), ",\n");
    first_ = false;
    if (buffer_.size() > 1U << 20U) flush();
  }
  void text(std::string_view s) {
    buffer_.push_back('"');
    for (const char c : s) {
      const auto u = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        buffer_.push_back('\\');
        buffer_.push_back(c);
      } else if (u < 0x20) {
        fmt::format_to(std::back_inserter(buffer_), "\\u{:04x}", u);
      } else {
        buffer_.push_back(c);
      }
    }
    buffer_.push_back('"');
  }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

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

void write_traced(EventWriter& out, const Trace& trace) {
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    out.slice(traced_host, trace.calls.thread[i].value, trace.strings.get(trace.calls.name[i]),
              trace.calls.begin[i], trace.calls.begin[i] + trace.calls.duration[i]);
  }
  for (std::size_t i = 0; i < trace.annotations.size(); ++i) {
    if (trace.annotations.step[i] < 0) continue;
    out.slice(traced_host, trace.annotations.thread[i].value,
              trace.strings.get(trace.annotations.name[i]), trace.annotations.begin[i],
              trace.annotations.begin[i] + trace.annotations.duration[i]);
  }
  for (std::size_t i = 0; i < trace.activities.size(); ++i) {
    out.slice(traced_gpu, trace.activities.stream[i].value,
              trace.strings.get(trace.activities.name[i]), trace.activities.begin[i],
              trace.activities.begin[i] + trace.activities.duration[i]);
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
  for (const QueueDepth& point : curve_of(std::move(changes))) {
    out.counter(pid, name, point.time, std::min<std::int64_t>(point.depth, 1000) / 10);
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
  for (std::size_t i = 0; i < run.plan.items.size(); ++i) {
    const HostItem& item = run.plan.items[i];
    out.slice(host, item.thread, item_name(run.trace, item), run.timeline.item_begin[i],
              run.timeline.item_end[i]);
  }
  for (std::size_t w = 0; w < run.plan.works.size(); ++w) {
    const DeviceWork& work = run.plan.works[w];
    out.slice(gpu, work.stream, run.trace.strings.get(run.trace.activities.name[work.source]),
              run.timeline.work_begin[w], run.timeline.work_end[w]);
  }
  for (const QueueDepth& point : queue_depth(run.plan, run.timeline)) {
    out.counter(gpu, "launches waiting", point.time, point.depth);
  }
  for (const QueueDepth& point : scheduling_queue(run.plan, run.timeline)) {
    out.counter(host, "nodes in the scheduling queue", point.time, point.depth);
  }
  write_busy(out, gpu, run.timeline);
  write_shares(out, gpu, run);
}

void name_tracks(EventWriter& out, const Plan& plan) {
  out.name_process(traced_host, "1 traced: host");
  out.name_process(traced_gpu, "2 traced: GPU");
  out.name_process(simulated_host, "3 re-simulated: host");
  out.name_process(simulated_gpu, "4 re-simulated: GPU");
  out.name_process(scenario_host, "5 scenario, one step: host");
  out.name_process(scenario_gpu, "6 scenario, one step: GPU");
  for (const int pid : {traced_host, simulated_host, scenario_host}) {
    for (std::size_t t = 0; t < plan.threads.size(); ++t) {
      out.name_thread(pid, static_cast<std::int64_t>(t), plan.threads[t].name);
    }
  }
  for (const int pid : {traced_gpu, simulated_gpu, scenario_gpu}) {
    for (std::size_t s = 0; s < plan.streams.size(); ++s) {
      out.name_thread(pid, static_cast<std::int64_t>(s), plan.streams[s]);
    }
  }
}

}  // namespace

void write_block_timeline(std::ostream& out, std::string_view kernel,
                          std::span<const BlockSlice> blocks) {
  EventWriter writer(out);
  constexpr int all_sms = 1;
  constexpr int first_sm = 2;
  writer.name_process(all_sms, kernel);
  std::vector<std::pair<TimePoint, std::int64_t>> changes;
  std::vector<std::vector<BlockSlice>> by_sm;
  for (const BlockSlice& b : blocks) {
    if (by_sm.size() <= b.sm) by_sm.resize(b.sm + std::size_t{1});
    by_sm[b.sm].push_back(b);
  }
  for (std::size_t sm = 0; sm < by_sm.size(); ++sm) {
    const int pid = first_sm + static_cast<int>(sm);
    writer.name_process(pid, fmt::format("SM {}", sm));
    for (const BlockSlice& b : by_sm[sm]) {
      const TimePoint begin{from_us(b.begin_us)};
      const TimePoint end{from_us(b.end_us)};
      writer.slice(pid, b.slot, fmt::format("block {}", b.block), begin, end);
      changes.emplace_back(begin, +1);
      changes.emplace_back(end, -1);
    }
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t resident = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    resident += changes[i].second;
    const bool last_of_time = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
    if (last_of_time) writer.counter(all_sms, "resident blocks", changes[i].first, resident);
  }
}

void write_timeline(std::ostream& out, const Trace& trace, const SimulatedRun& measured,
                    const SimulatedRun& scenario, std::span<const SimulatedRun> ranks) {
  EventWriter writer(out);
  name_tracks(writer, measured.plan);
  write_traced(writer, trace);
  write_simulated(writer, measured, simulated_host, simulated_gpu);
  write_simulated(writer, scenario, scenario_host, scenario_gpu);
  int pid = scenario_gpu;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const int host = ++pid;
    const int gpu = ++pid;
    writer.name_process(host, fmt::format("{} ranks together, {}: host", host, r));
    writer.name_process(gpu, fmt::format("{} ranks together, {}: GPU", gpu, r));
    write_simulated(writer, ranks[r], host, gpu);
  }
}

}  // namespace tandem
