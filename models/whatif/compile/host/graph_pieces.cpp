#include "models/whatif/compile/host/graph_pieces.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "models/runtime/graph_capture.h"
#include "models/runtime/graph_nodes.h"
#include "models/step/dataflow.h"

namespace tandem {
namespace {

/// First and one past the last item of a compiled graph; equal where there is none.
struct ItemRange {
  std::size_t begin = 0, end = 0;
  bool holds(std::size_t item) const { return item >= begin && item < end; }
};

ItemRange compiled_range(const Step& step, const Dataflow& flow, std::uint32_t pass,
                         FlowPhase phase) {
  ItemRange range;
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    const std::uint32_t i = flow.op_of_work[w], item = step.plan.works[w].item;
    if (i == no_row || item == no_index || flow.ops[i].phase != phase) continue;
    if (flow.ops[i].pass != pass) continue;
    if (!flow.ops[i].in_model && flow.ops[i].kind != OpKind::generated) continue;
    if (range.end == 0) range.begin = item;
    range.end = item + 1;
  }
  return range;
}

/// Where the host launches the compiled graphs of each pass.
struct PassItems {
  ItemRange forward, backward;
  bool holds(std::size_t item) const { return forward.holds(item) || backward.holds(item); }
};

std::vector<PassItems> passes_of(const Step& step) {
  const Dataflow flow = dataflow(step);
  std::vector<PassItems> out;
  for (std::uint32_t p = 0; p < flow.passes(); ++p) {
    out.push_back({compiled_range(step, flow, p, FlowPhase::forward),
                   compiled_range(step, flow, p, FlowPhase::backward)});
  }
  return out;
}

/// Per item: its compiled graph, or runs_eager.
std::vector<std::uint32_t> graph_of_items(const Step& step, const std::vector<GraphSpan>& spans) {
  std::vector<std::uint32_t> graphs(step.plan.items.size(), 0);
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const HostItem& item = step.plan.items[i];
    if (item.work_count > 0 && item.source != no_index) {
      const auto after =
          std::upper_bound(spans.begin(), spans.end(), step.trace.calls.begin[item.source],
                           [](TimePoint call, const GraphSpan& span) { return call < span.begin; });
      if (after != spans.begin()) last = std::prev(after)->graph;
    }
    graphs[i] = last;
  }
  return graphs;
}

/// Launches that nothing waits for but the launch itself (CUDA_LAUNCH_BLOCKING=1), which a capture
/// does not, and calls between them, which a replayed graph does not repeat.
bool capturable(const Step& step, const HostItem& item) {
  const bool issues = item.kind == ItemKind::launch || item.kind == ItemKind::call;
  const bool waits = item.wait != WaitFor::nothing && !launches_kernel(step.trace, step.plan, item);
  return issues && !waits;
}

/// The items with each piece behind one launch; `moved`: where the items of the plan went.
std::size_t merge_items(const Plan& plan, const std::vector<bool>& captured,
                        const std::vector<std::uint32_t>& graphs, std::vector<HostItem>& items,
                        std::vector<std::uint32_t>& moved) {
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    const bool open = !items.empty() && items.back().kind == ItemKind::graph_launch && i > 0 &&
                      captured[i - 1] && graphs[i - 1] == graphs[i] &&
                      items.back().thread == item.thread;
    if (open && captured[i] && item.after == no_index) {
      items.back().work_count += item.work_count;
    } else {
      items.push_back(item);
      if (captured[i] && item.work_count > 0) {
        items.back().kind = ItemKind::graph_launch, ++pieces;
        items.back().wait = WaitFor::nothing;
      }
    }
    moved[i] = static_cast<std::uint32_t>(items.size() - 1);
  }
  return pieces;
}

}  // namespace

std::size_t capture_compiled(const HostModel& host, Duration gradients,
                             const std::vector<GraphSpan>& spans, Step& step) {
  const std::vector<PassItems> passes = passes_of(step);
  Plan& plan = step.plan;
  const std::vector<std::uint32_t> graphs = graph_of_items(step, spans);
  std::vector<bool> captured(plan.items.size(), false);
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const bool of_graph = std::any_of(passes.begin(), passes.end(),
                                      [i](const PassItems& pass) { return pass.holds(i); });
    captured[i] = of_graph && graphs[i] != runs_eager && capturable(step, plan.items[i]);
  }
  for (const PassItems& pass : passes) {
    const std::size_t behind = pass.backward.end;
    if (behind > 0 && behind < plan.items.size()) plan.items[behind].gap += gradients;
  }
  std::vector<HostItem> items;
  std::vector<std::uint32_t> moved(plan.items.size(), 0);
  const std::size_t pieces = merge_items(plan, captured, graphs, items, moved);
  for (HostItem& item : items) {
    if (item.after != no_index) item.after = moved[item.after];
  }
  plan.items = std::move(items);
  for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
    HostItem& item = plan.items[i];
    if (item.kind == ItemKind::graph_launch) make_nodes(step.trace, host, item, plan.works);
    for (std::uint32_t k = 0; k < item.work_count; ++k) plan.works[item.first_work + k].item = i;
  }
  return pieces;
}

}  // namespace tandem
