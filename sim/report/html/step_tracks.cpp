#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/core/text/texts.h"
#include "sim/report/html/result_sections.h"

namespace tandem::html {

namespace {

// Kinds of slices; families that take most time have a colour of their own.
constexpr std::size_t call_kind = 0;
constexpr std::size_t host_kind = 1;
constexpr std::size_t most_families = 3;

/// What each slice is drawn as.
struct Kinds {
  std::vector<std::string> names;
  std::map<KernelFamily, std::size_t> families;
  std::size_t transfer = 0, other = 0, wait = 0;
};

Kinds kinds_of(const Result& result) {
  Kinds kinds;
  kinds.names = {"launches and other calls", "host: operations and Python"};
  for (const FamilyShare& family : result.families) {
    const bool moves =
        family.family == KernelFamily::transfer || family.family == KernelFamily::collective;
    if (kinds.families.size() == most_families || moves) continue;
    kinds.families[family.family] = kinds.names.size();
    kinds.names.emplace_back(to_string(family.family));
  }
  kinds.transfer = kinds.names.size();
  kinds.other = kinds.transfer + 1;
  kinds.wait = kinds.transfer + 2;
  kinds.names.insert(kinds.names.end(),
                     {"copies, memsets, collectives",
                      kinds.families.empty() ? "kernels" : "other kernels", "waiting, gaps"});
  return kinds;
}

class TrackMaker {
 public:
  explicit TrackMaker(const ResultView& view) : view_(view), kinds_(kinds_of(view.result)) {
    const Timeline& timeline = view.step.timeline;
    for (const PlanThread& thread : view.step.plan.threads) begin_ = std::min(begin_, thread.begin);
    for (const TimePoint t : timeline.item_begin) begin_ = std::min(begin_, t);
    for (const TimePoint t : timeline.work_begin) begin_ = std::min(begin_, t);
    for (const PathLink& link : view.path) begin_ = std::min(begin_, link.begin);
  }

  Track path() const {
    Track track{"critical path: what makes the step as long as it is", {}};
    for (const PathLink& link : view_.path) add_link(link, track);
    return track;
  }

  std::vector<Track> threads() const {
    const Plan& plan = view_.step.plan;
    std::vector<Track> tracks(plan.threads.size());
    std::vector<TimePoint> free(tracks.size());
    for (std::size_t t = 0; t < tracks.size(); ++t) {
      tracks[t].name = "host: " + plan.threads[t].name;
      free[t] = plan.threads[t].begin;
    }
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
      const HostItem& item = plan.items[i];
      const TimePoint begin = view_.step.timeline.item_begin[i];
      const TimePoint end = view_.step.timeline.item_end[i];
      Track& track = tracks[item.thread];
      if (item.gap > Duration{}) {
        const TimePoint from = std::max(free[item.thread], begin - item.gap);
        add(track, from, begin,
            item.executed != no_index ? "before " + node_name(item.executed)
                                      : in_or_before(item.source),
            "", host_kind);
      }
      const bool waits = item.wait != WaitFor::nothing;
      add(track, begin, end, item_name(item), "", waits ? kinds_.wait : call_kind);
      free[item.thread] = end;
    }
    return tracks;
  }

  std::vector<Track> streams() const {
    const Plan& plan = view_.step.plan;
    std::vector<Track> tracks(plan.streams.size());
    for (std::size_t s = 0; s < tracks.size(); ++s) tracks[s].name = "GPU: " + plan.streams[s];
    for (std::size_t w = 0; w < plan.works.size(); ++w) {
      const std::uint32_t a = plan.works[w].source;
      add(tracks[plan.works[w].stream], view_.step.timeline.work_begin[w],
          view_.step.timeline.work_end[w], activity_name(a), activity_detail(a), kind_of(a));
    }
    return tracks;
  }

  const std::vector<std::string>& kinds() const { return kinds_.names; }

 private:
  static std::int64_t ns(Duration d) { return d.count() / 1000; }

  void add(Track& track, TimePoint begin, TimePoint end, std::string name, std::string detail,
           std::size_t kind) const {
    if (end <= begin) return;
    track.slices.push_back({ns(begin - begin_), std::max<std::int64_t>(1, ns(end - begin)),
                            std::move(name), std::move(detail), kind});
  }

  void add_link(const PathLink& link, Track& track) const {
    switch (link.kind) {
      case PathKind::host: return add(track, link.begin, link.end, before(link), "", host_kind);
      case PathKind::call: return add(track, link.begin, link.end, call_of(link), "", call_kind);
      case PathKind::work:
        return add(track, link.begin, link.end, activity_name(link.row), activity_detail(link.row),
                   kind_of(link.row));
      case PathKind::launch_latency: return add_wait(link, "from the launch to the start", track);
      case PathKind::device_gap: return add_wait(link, "gap between kernels", track);
      case PathKind::stream_wait: return add_wait(link, "wait for another stream", track);
      case PathKind::queue_full: return add_wait(link, "launch queue full", track);
      case PathKind::host_return: return add_wait(link, "host returns from its wait", track);
    }
  }

  void add_wait(const PathLink& link, const char* what, Track& track) const {
    add(track, link.begin, link.end, what, "", kinds_.wait);
  }

  std::string call_name(std::uint32_t row) const {
    if (row >= view_.step.trace.calls.size()) return "call";
    return std::string(view_.step.trace.strings.get(view_.step.trace.calls.name[row]));
  }

  std::string in_or_before(std::uint32_t row) const {
    if (row >= view_.op_of_call.size() || view_.op_of_call[row].empty()) return "Python";
    return "in or before " + std::string(view_.op_of_call[row]);
  }

  /// The operation of an eager runtime's queue.
  std::string node_name(std::uint32_t node) const {
    const Trace& trace = view_.step.trace;
    return std::string(trace.strings.get(trace.ops.name[trace.nodes.op[node]]));
  }

  std::string before(const PathLink& link) const {
    if (link.executed != no_index) return "before " + node_name(link.executed);
    return in_or_before(link.row);
  }

  std::string call_of(const PathLink& link) const {
    return link.executed != no_index ? node_name(link.executed) : call_name(link.row);
  }

  std::string item_name(const HostItem& item) const {
    if (item.executed != no_index) return node_name(item.executed);
    if (item.kind == ItemKind::graph_launch) return "graph launch";
    return item.source == no_index ? "synchronize" : call_name(item.source);
  }

  std::string activity_name(std::uint32_t a) const {
    if (a >= view_.step.trace.activities.size()) return "device work";
    return std::string(
        without_void(view_.step.trace.strings.get(view_.step.trace.activities.name[a])));
  }

  std::string activity_detail(std::uint32_t a) const {
    if (a >= view_.names.op.size()) return {};
    return fmt::format("{}, layer {}", view_.names.op[a], view_.names.layer[a]);
  }

  std::size_t kind_of(std::uint32_t a) const {
    const Activities& activities = view_.step.trace.activities;
    if (a >= activities.size()) return kinds_.other;
    if (activities.kind[a] != ActivityKind::kernel) return kinds_.transfer;
    if (a >= view_.counters.size()) return kinds_.other;
    const KernelFamily family = view_.counters[a].family;
    if (family == KernelFamily::collective) return kinds_.transfer;
    const auto found = kinds_.families.find(family);
    return found == kinds_.families.end() ? kinds_.other : found->second;
  }

  const ResultView& view_;
  Kinds kinds_;
  TimePoint begin_ = TimePoint::max();
};

}  // namespace

Tracks step_tracks(const ResultView& view) {
  const TrackMaker maker(view);
  Tracks out{"", maker.kinds(), {}};
  out.tracks.push_back(maker.path());
  std::vector<Track> threads = maker.threads();
  std::erase_if(threads, [](const Track& t) { return t.slices.empty(); });
  std::stable_sort(threads.begin(), threads.end(), [](const Track& a, const Track& b) {
    return a.slices.front().begin_ns < b.slices.front().begin_ns;
  });
  for (Track& track : threads) out.tracks.push_back(std::move(track));
  for (Track& track : maker.streams()) out.tracks.push_back(std::move(track));
  std::erase_if(out.tracks, [](const Track& t) { return t.slices.empty(); });
  for (Track& track : out.tracks) {
    std::stable_sort(
        track.slices.begin(), track.slices.end(),
        [](const TrackSlice& a, const TrackSlice& b) { return a.begin_ns < b.begin_ns; });
  }
  return out;
}

}  // namespace tandem::html
