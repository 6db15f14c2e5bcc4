#include "models/whatif/optimizer/verdict.h"

#include <algorithm>

#include "models/step/op_rows.h"

namespace tandem {
namespace {

/// What a work before the update is to the scaler.
class ScalerWorks {
 public:
  ScalerWorks(const Step& step, const OpNesting& nesting)
      : step_(step), nesting_(nesting), rows_(step.trace) {}

  bool checks(std::uint32_t w) {
    std::uint32_t op = op_of(w);
    while (op != no_row && !rows_.of(op).is(checks_gradients)) op = nesting_.parent[op];
    return op != no_row;
  }
  bool on_thread(std::uint32_t w, std::uint16_t thread) const {
    const std::uint32_t item = step_.plan.works[w].item;
    return item != no_index && step_.plan.items[item].thread == thread;
  }
  bool computes_gradients(std::uint32_t w) const {
    std::uint32_t op = op_of(w);
    for (; op != no_row; op = nesting_.parent[op]) {
      const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op]);
      if (has_engine_prefix(name) || is_backward_node(name)) return true;
    }
    return false;
  }
  /// No copy; one that another what-if has added stands as a kernel.
  bool is_kernel(std::uint32_t w) const {
    const std::uint32_t activity = step_.plan.works[w].source;
    return step_.trace.activities.kind[activity] == ActivityKind::kernel &&
           step_.kernels.of(activity).family != KernelFamily::transfer;
  }
  /// A kernel of one block.
  bool on_number(std::uint32_t w) const {
    const GeometryId id = step_.trace.activities.geometry[step_.plan.works[w].source];
    if (!is_kernel(w) || !id.valid()) return false;
    const auto& grid = step_.trace.geometries[id.index()].grid;
    return std::max({grid[0], grid[1], grid[2]}) <= 1;
  }
  bool fetches(std::uint32_t w) {
    const std::uint32_t op = op_of(w);
    return step_.plan.works[w].engine == DeviceEngine::copy_to_host ||
           (op != no_row && rows_.of(op).is(waits));
  }

 private:
  std::uint32_t op_of(std::uint32_t w) const {
    return nesting_.of_activity[step_.plan.works[w].source];
  }
  const Step& step_;
  const OpNesting& nesting_;
  OpRows rows_;
};

/// Waits of the thread from the first fetch on, or behind the first kernel of the update: there
/// they stand where another what-if has put the scaler.
std::vector<std::uint32_t> verdict_waits(const Plan& plan, std::uint32_t from,
                                         std::uint32_t update) {
  constexpr std::uint32_t behind = 2;  // items
  std::vector<std::uint32_t> waits;
  const std::uint32_t last = std::min<std::uint32_t>(
      plan.works[update].item + behind, static_cast<std::uint32_t>(plan.items.size()) - 1);
  for (std::uint32_t i = plan.works[from].item; i <= last; ++i) {
    const HostItem& item = plan.items[i];
    if (item.thread != plan.items[plan.works[update].item].thread) continue;
    if (item.wait != WaitFor::nothing) waits.push_back(i);
  }
  return waits;
}

}  // namespace

ScalerVerdict scaler_verdict(const Step& step, const OpNesting& nesting, std::uint32_t after,
                             std::uint32_t update) {
  ScalerVerdict out;
  const Plan& plan = step.plan;
  ScalerWorks works(step, nesting);
  const std::uint16_t thread = plan.items[plan.works[update].item].thread;
  const std::uint32_t begin = after == no_index ? 0 : after + 1;
  for (std::uint32_t w = begin; w < update; ++w) {
    if (works.on_thread(w, thread) && works.checks(w)) out.checks.push_back(w);
  }
  if (!out.found()) return out;
  std::uint32_t fetch = no_index;
  for (std::uint32_t w = out.checks.back() + 1; w < update; ++w) {
    out.apart = out.apart || (works.is_kernel(w) && !works.on_number(w));
    if (works.fetches(w) && fetch == no_index) fetch = w;
  }
  for (std::uint32_t w = out.checks.back() + 1; w < update; ++w) {
    const bool last = out.apart ? works.fetches(w) : works.fetches(w) || works.on_number(w);
    if (works.on_thread(w, thread) && last) out.scalars.push_back(w);
  }
  if (fetch != no_index) out.waits = verdict_waits(plan, fetch, update);
  for (std::uint32_t w = out.checks.front(); w-- > begin && !out.apart;) {
    if (!works.on_thread(w, thread) || works.computes_gradients(w)) break;
    if (works.is_kernel(w) && !works.on_number(w)) break;
    if (works.on_number(w)) out.prepares.push_back(w);
  }
  std::reverse(out.prepares.begin(), out.prepares.end());
  return out;
}

}  // namespace tandem
