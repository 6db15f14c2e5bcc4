#include "models/whatif/checkpoint/checkpointed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/whatif/checkpoint/layer_ranges.h"
#include "models/whatif/checkpoint/saved_end.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/rearranged.h"

namespace tandem {

namespace {

/// Errors: InputError for a step that has nothing to be computed again.
void check_step(const Step& step, const Dataflow& flow) {
  const auto refuse = [&](const char* found, const char* expected) {
    throw InputError(step.trace.path, "--checkpoint", found, expected);
  };
  if (!flow.trains()) refuse("no backward pass", "a step of training");
  check_eager(step, flow, "--checkpoint");
  const bool again = std::any_of(flow.ops.begin(), flow.ops.end(),
                                 [](const FlowOp& op) { return op.repeats != no_row; });
  if (again) refuse("layers that are computed again already", "a step that keeps what it computes");
}

/// An item of a thread, or none.
std::uint32_t item_of(const Step& step, ThreadId thread) {
  return first_of_thread(step, thread, 0, static_cast<std::uint32_t>(step.plan.items.size()));
}

std::vector<Recomputation> recomputations(const Step& step, const Dataflow& flow,
                                          const LayerRanges& ranges) {
  std::vector<Recomputation> out;
  for (const LayerRange& layer : ranges.layers) {
    const auto again = recomputation(step, flow, layer);
    if (!again || again->from >= again->until || again->until > again->at) continue;
    if (item_of(step, again->gradients) != no_index) out.push_back(*again);
  }
  std::sort(out.begin(), out.end(),
            [](const Recomputation& a, const Recomputation& b) { return a.at < b.at; });
  return out;
}

std::vector<HostPart> parts_with(const Step& step, const std::vector<Recomputation>& all) {
  std::vector<HostPart> parts;
  HostPart own;
  for (const Recomputation& again : all) {
    own.until = again.at;
    own.end = first_item_from(step, again.at);
    parts.push_back(own);
    HostPart copy;
    copy.copy = static_cast<std::uint32_t>(parts.size());
    copy.from = again.from;
    copy.until = again.until;
    copy.first = first_item_from(step, again.from);
    copy.end = first_item_from(step, again.until);
    copy.of = again.program;
    copy.runs_like = item_of(step, again.gradients);
    parts.push_back(copy);
    own = {.first = own.end, .end = 0, .from = again.at};
  }
  own.end = static_cast<std::uint32_t>(step.plan.items.size());
  parts.push_back(own);
  return parts;
}

/// Host time before an item.
void add_gap(std::uint32_t item, std::uint32_t end, double us, Plan& plan) {
  if (item < end) plan.items[item].gap += from_us(us);
}

/// Python's part in it: before the layer runs first, before it runs again, and where its gradients
/// ask for what it saved. `parts`: of which each copy is one of `all`.
void add_host_time(const std::vector<Recomputation>& all, const std::vector<HostPart>& parts,
                   const CheckpointOptions& o, Rearranged& out) {
  const RepeatLaw& law = o.law;
  const AddedHost host = added_host(out.step, o.host);
  const auto us = [&](double ratio) { return host.us(ratio, law.bare) - host.launch_call_us; };
  Plan& plan = out.step.plan;
  for (std::size_t p = 0, k = 0; p < parts.size(); ++p) {
    if (parts[p].copy == 0) continue;
    const auto saved = static_cast<double>(all[k++].saved);
    add_gap(out.first_item[p], out.end_item[p], us(law.layer_again + saved * law.saved_again),
            plan);
    add_gap(out.first_item[p + 1], out.end_item[p + 1], us(saved * law.saved_backward), plan);
    for (std::size_t own = 0; own < p; ++own) {
      const HostPart& from = parts[own];
      if (from.copy > 0 || parts[p].first < from.first || parts[p].first >= from.end) continue;
      const std::uint32_t first = out.first_item[own] + parts[p].first - from.first;
      add_gap(first, out.end_item[own], us(law.layer_forward + saved * law.saved_forward), plan);
    }
  }
}

}  // namespace

Step with_checkpoints(Step step, const CheckpointOptions& o, CheckpointReport& report) {
  const Dataflow flow = dataflow(step);
  check_step(step, flow);
  const LayerRanges ranges = layer_ranges(step, flow);
  const std::vector<Recomputation> all = recomputations(step, flow, ranges);
  if (all.empty()) {
    throw InputError(step.trace.path, "--checkpoint",
                     "no layers whose parameters' shapes repeat themselves",
                     "a model of layers that are alike, as transformers have, of which the trace "
                     "states gradients (record_shapes=True)");
  }
  const std::vector<HostPart> parts = parts_with(step, all);
  Rearranged out = rearranged(step, parts);
  add_host_time(all, parts, o, out);
  report.layers = static_cast<std::int64_t>(all.size());
  report.unlike = ranges.unlike;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].copy == 0) continue;
    for (std::uint32_t i = out.first_item[p]; i < out.end_item[p]; ++i) {
      const HostItem& item = out.step.plan.items[i];
      for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
        ++report.kernels;
        report.us += to_us(out.step.plan.works[w].duration);
      }
    }
  }
  return std::move(out.step);
}

}  // namespace tandem
