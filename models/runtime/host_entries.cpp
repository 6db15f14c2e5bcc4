#include "models/runtime/host_entries.h"

#include <algorithm>

namespace tandem {

ItemKind item_kind(ApiKind api, bool has_work) {
  switch (api) {
    case ApiKind::stream_synchronize:
    case ApiKind::device_synchronize:
    case ApiKind::event_synchronize: return ItemKind::sync;
    case ApiKind::launch_graph: return has_work ? ItemKind::graph_launch : ItemKind::call;
    default: return has_work ? ItemKind::launch : ItemKind::call;
  }
}

std::vector<HostEntry> call_entries(const Trace& trace, const Links& links) {
  std::vector<HostEntry> list;
  list.reserve(links.calls_in_order.size() + 2 * links.steps.size());
  for (const StepWindow& step : links.steps) {
    list.push_back({step.begin, step.begin, step.thread, no_row, ItemKind::step_begin});
    list.push_back({step.end, step.end, step.thread, no_row, ItemKind::step_end});
  }
  for (const std::uint32_t call : links.calls_in_order) {
    const TimePoint begin = trace.calls.begin[call];
    const bool has_work = !links.activities_of_call.of(call).empty();
    list.push_back({begin, begin + trace.calls.duration[call], trace.calls.thread[call], call,
                    item_kind(trace.calls.api[call], has_work)});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const HostEntry& a, const HostEntry& b) { return a.begin < b.begin; });
  return list;
}

}  // namespace tandem
