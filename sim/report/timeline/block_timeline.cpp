#include <algorithm>
#include <utility>
#include <vector>

#include "sim/report/report.h"
#include "sim/report/timeline/event_writer.h"

namespace tandem {

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
    std::vector<Track> slots;
    for (const BlockSlice& b : by_sm[sm]) {
      const TimePoint begin{from_us(b.begin_us)};
      const TimePoint end{from_us(b.end_us)};
      if (b.slot >= slots.size()) slots.resize(b.slot + std::size_t{1});
      if (slots[b.slot].tid == 0)
        slots[b.slot] = writer.add_track(pid, fmt::format("slot {}", b.slot));
      writer.slice(slots[b.slot], "block", fmt::format("block {}", b.block),
                   writer.span(begin, end));
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

}  // namespace tandem
