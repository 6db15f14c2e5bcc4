#include "models/runtime/graph_nodes.h"

namespace tandem {

namespace {

bool is_memset(const Trace& trace, const DeviceWork& work) {
  return trace.activities.kind[work.source] == ActivityKind::memset;
}

/// Whether it has more blocks than run at once, so that the next node waits for the last of them.
bool hides_the_next(const Trace& trace, const HostModel& host, const DeviceWork& work) {
  const GeometryId id = trace.activities.geometry[work.source];
  return id.valid() && threads(trace.geometries[id.index()]) >= double(host.graph_hiding_threads);
}

/// Calls visit(before, node) for every node that follows another one of its stream.
template <typename Visit>
void each_pair(const HostItem& launch, std::vector<DeviceWork>& works, Visit visit) {
  std::vector<std::uint32_t> last;  // of each stream
  for (std::uint32_t w = launch.first_work; w < launch.first_work + launch.work_count; ++w) {
    DeviceWork& node = works[w];
    if (node.stream >= last.size()) last.resize(node.stream + 1, no_index);
    if (last[node.stream] != no_index) visit(works[last[node.stream]], node);
    last[node.stream] = w;
  }
}

}  // namespace

void remove_profiler_from_nodes(const Trace& trace, const HostModel& host, const HostItem& launch,
                                std::vector<DeviceWork>& works) {
  each_pair(launch, works, [&](const DeviceWork& before, DeviceWork& node) {
    if (is_memset(trace, before)) {
      node.gap -= from_us(host.graph_profiler_memset_us);
    } else if (!is_memset(trace, node) && hides_the_next(trace, host, before)) {
      node.gap -= from_us(host.graph_hidden_us);
    }
    node.far_gap = node.gap;
  });
}

void make_nodes(const Trace& trace, const HostModel& host, HostItem& launch,
                std::vector<DeviceWork>& works) {
  launch.call = launch.submit =
      from_us(host.graph_launch_call_us + host.graph_launch_node_us * double(launch.work_count));
  for (std::uint32_t k = 0; k < launch.work_count; ++k) {
    DeviceWork& work = works[launch.first_work + k];
    work.graph_node = true;
    work.takes_slot = k + 1 == launch.work_count;
    work.pool_wait = work.pool_latency = Duration::zero();
    work.latency = from_us(host.launch_latency_us);
    work.gap = work.far_gap = from_us(k == 0 ? host.graph_launch_gap_us : host.graph_node_gap_us);
  }
  each_pair(launch, works, [&](const DeviceWork& before, DeviceWork& node) {
    const bool memset = is_memset(trace, before) || is_memset(trace, node);
    if (memset) node.gap = node.far_gap = from_us(host.graph_memset_gap_us);
  });
  remove_profiler_from_nodes(trace, host, launch, works);
}

}  // namespace tandem
