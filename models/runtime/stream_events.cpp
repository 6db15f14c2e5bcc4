#include "models/runtime/stream_events.h"

#include <algorithm>

namespace tandem {

namespace {

/// Events that one launch waits for: more than programs have streams. Every launch may wait for
/// all.
constexpr std::size_t most_awaited = 64;

/// The calls in host order, as far as they have been read.
class CallOrder {
 public:
  explicit CallOrder(std::size_t streams) : last_launch_(streams, 0), last_work_(streams, no_row) {}

  void record() {
    if (launches_ != recorded_after_) {
      behind_ = latest_works();
      recorded_after_ = launches_;
      records_ = 0;
    }
    ++records_;
  }

  void wait() {
    if (waited_after_ != launches_) awaited_.clear();
    waited_after_ = launches_;
    any_wait_ = true;
    const std::size_t n = std::min(records_, behind_.size());
    for (std::size_t i = 0; i < n; ++i) {
      if (std::find(awaited_.begin(), awaited_.end(), behind_[i]) != awaited_.end()) continue;
      if (awaited_.size() == most_awaited) {
        dropped_ += static_cast<std::int64_t>(n - i);
        break;
      }
      awaited_.push_back(behind_[i]);
    }
  }

  /// Whether the last waits came after the launch before on `stream`.
  bool waits(std::size_t stream) const {
    return any_wait_ && waited_after_ >= last_launch_[stream];
  }
  const std::vector<std::uint32_t>& awaited() const { return awaited_; }
  std::int64_t dropped() const { return dropped_; }

  void launch(std::size_t stream, std::uint32_t work) {
    last_launch_[stream] = ++launches_;
    last_work_[stream] = work;
  }

 private:
  /// The last work of each stream, latest launch first.
  std::vector<std::uint32_t> latest_works() const {
    std::vector<std::size_t> streams;
    for (std::size_t s = 0; s < last_work_.size(); ++s) {
      if (last_work_[s] != no_row) streams.push_back(s);
    }
    std::sort(streams.begin(), streams.end(),
              [&](std::size_t a, std::size_t b) { return last_launch_[a] > last_launch_[b]; });
    std::vector<std::uint32_t> works;
    for (const std::size_t s : streams) works.push_back(last_work_[s]);
    return works;
  }

  std::uint64_t launches_ = 0;
  std::uint64_t recorded_after_ = ~0ULL;  // launches before the last record
  std::uint64_t waited_after_ = 0;        // launches before the last wait
  bool any_wait_ = false;
  std::size_t records_ = 0;                 // in a row
  std::int64_t dropped_ = 0;                // events beyond most_awaited
  std::vector<std::uint32_t> behind_;       // of these records
  std::vector<std::uint32_t> awaited_;      // of the last waits in a row
  std::vector<std::uint64_t> last_launch_;  // per stream: number of its last launch
  std::vector<std::uint32_t> last_work_;    // per stream
};

}  // namespace

StreamEvents::StreamEvents(const Trace& trace, const Links& links)
    : waits_(trace.activities.size(), false),
      first_(trace.activities.size(), 0),
      count_(trace.activities.size(), 0) {
  const Activities& acts = trace.activities;
  CallOrder order(trace.streams.size());
  for (const std::uint32_t call : links.calls_in_order) {
    if (trace.calls.api[call] == ApiKind::event_record) order.record();
    if (trace.calls.api[call] == ApiKind::stream_wait_event) order.wait();
    for (const std::uint32_t act : links.activities_of_call.of(call)) {
      const std::size_t stream = acts.stream[act].index();
      waits_[act] = order.waits(stream);
      first_[act] = static_cast<std::uint32_t>(awaited_.size());
      if (waits_[act]) {
        for (const std::uint32_t other : order.awaited()) {
          const bool ended = end_of(acts, other) <= acts.begin[act];
          if (ended && acts.stream[other] != acts.stream[act]) awaited_.push_back(other);
        }
      }
      count_[act] = static_cast<std::uint32_t>(awaited_.size()) - first_[act];
      order.launch(stream, act);
    }
  }
  dropped_ = order.dropped();
}

}  // namespace tandem
