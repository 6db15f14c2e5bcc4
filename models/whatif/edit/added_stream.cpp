#include "models/whatif/edit/added_stream.h"

#include <algorithm>
#include <utility>

#include "models/whatif/edit/collectives.h"

namespace tandem {

AddedStream::AddedStream(Step& step, const HostModel& host, std::string name)
    : step_(step),
      gap_(from_us(host.kernel_gap_near_us)),
      stream_(StreamId(step.trace.streams.size())) {
  Stream stream = step.trace.streams.empty() ? Stream{} : step.trace.streams.front();
  for (const Stream& s : step.trace.streams) stream.stream = std::max(stream.stream, s.stream);
  ++stream.stream;
  step.trace.streams.push_back(stream);
  step.plan.streams.push_back(std::move(name));
}

void AddedStream::take(std::uint32_t work) {
  DeviceWork& w = step_.plan.works[work];
  w.stream = static_cast<std::uint16_t>(stream_.value);
  w.gap = w.far_gap = gap_;
  w.pool_wait = w.pool_latency = Duration::zero();
  w.edge_count = 0;
  step_.trace.activities.stream[w.source] = stream_;
}

void AddedStream::take(std::uint32_t work, const Collective& message) {
  take(work);
  DeviceWork& w = step_.plan.works[work];
  w.engine = DeviceEngine::collective;
  set_collective(step_.trace, w.source, message, 1);
}

std::uint32_t before_on_stream(const Plan& plan, std::uint32_t work) {
  const std::uint16_t stream = plan.works[work].stream;
  for (std::uint32_t w = work; w-- > 0;) {
    if (plan.works[w].stream == stream) return w;
  }
  return no_index;
}

void wait_for(const WorkEdge& event, std::uint32_t work, Plan& plan) {
  DeviceWork& w = plan.works[work];
  const auto first = static_cast<std::uint32_t>(plan.edges.size());
  for (std::uint32_t e = 0; e < w.edge_count; ++e) {
    plan.edges.push_back(plan.edges[w.first_edge + e]);
  }
  plan.edges.push_back(event);
  w.first_edge = first;
  ++w.edge_count;
}

}  // namespace tandem
