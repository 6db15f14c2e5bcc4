#include "models/whatif/optimizer/transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/whatif/edit/live_memory.h"
#include "models/whatif/optimizer/rewrite.h"
#include "models/whatif/optimizer/update.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField rule{"rule", "text", "of torch.optim updates the parameters"};
constexpr ReportField update_us{"update_us", "us", "in kernels of the update"};
constexpr ReportField traced_update_us{"traced_update_us", "us", "in those of the traced step"};
constexpr ReportField kernels{"kernels", "count", "kernels of the update"};
constexpr ReportField traced_kernels{"traced_kernels", "count", "kernels of the traced update"};
constexpr ReportField tensors{"tensors", "count", "tensors updated"};
constexpr ReportField elements{"elements", "count", "elements updated"};
constexpr ReportField waits{"waits", "count", "waits of the host for the gradient scaler less"};
constexpr ReportField all[] = {rule,           update_us, traced_update_us, kernels,
                               traced_kernels, tensors,   elements,         waits};
}  // namespace says

/// `--optimizer` names the optimizer of an ONNX file.
constexpr std::string_view option_name = "update";

/// The worst moment of the update holds what one way allocates for all parameters and the other
/// does not; where the peak lies elsewhere, it stays.
void change_memory(const TransformInput& in, UpdateWay to, double results_bytes, Rewritten& out) {
  if (!in.traced.batch || in.memory == nullptr || results_bytes <= 0) return;
  const std::int64_t traced = *in.traced.batch;
  const std::int64_t asked =
      in.asked.has("batch") ? parse_count("batch", in.asked.get("batch")) : traced;
  PeakMemory held = held_memory(in, out);
  const std::optional<PeakMemory> as_before = step_memory(held, out.step, traced);
  const double change = to == UpdateWay::fused ? -results_bytes : results_bytes;
  held.update_bytes = std::max(0.0, held.update_bytes + change);
  const std::optional<PeakMemory> after = step_memory(std::move(held), out.step, traced);
  if (!as_before || !after || peak_bytes(*as_before, asked) == peak_bytes(*after, asked)) return;
  if (!out.memory.before) out.memory.before = as_before;
  out.memory.after = after;
}

void count_losses(const UpdateReport& report, LossList& losses) {
  losses.add("update_order_guessed", Severity::info,
             "updates whose trace does not state the order of their parameters: that of the "
             "forward pass decides which of them share a launch",
             report.guessed);
  losses.add("update_skipped", Severity::warning,
             "fused updates that did nothing while they were traced, since gradients were not "
             "finite: the others are timed by the law of their kernels alone",
             report.skipped);
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const UpdateWay to = parse_update_way(in.asked.get(option_name));
  const OpNesting nesting = nest_ops(out.step.trace, out.step.links);
  std::vector<Update> updates = find_updates(out.step, nesting, in.traced.path);
  std::erase_if(updates, [&](const Update& update) { return update.way == to; });
  if (updates.empty()) return {};
  UpdateReport done;
  const UpdateContext context{*out.gpu, in.optimizer, in.libraries, in.host};
  out.step = with_updates(std::move(out.step), nesting, updates, to, context, done);
  out.changed = true;
  change_memory(in, to, done.results_bytes, out);
  count_losses(done, out.losses);
  TransformReport report;
  report.from = to_string(updates.front().way);
  report.to = to_string(to);
  const double all_us = gpu_us(out.step);
  report.expected_error = all_us > 0 ? in.optimizer.expected_error * done.us / all_us : 0;
  report.values = {
      reported(says::rule, std::string(to_string(updates.front().recipe.rule))),
      reported(says::update_us, done.us, true),
      reported(says::traced_update_us, done.traced_us),
      reported(says::kernels, done.kernels, true),
      reported(says::traced_kernels, done.traced_kernels),
      reported(says::tensors, done.tensors),
      reported(says::elements, done.elements),
      reported(says::waits, done.waits, done.waits > 0),
  };
  return report;
}

}  // namespace

Transform optimizer_transform() {
  return {.name = option_name,
          .json = "update_change",
          .doc =
              "PyTorch's optimizers with fused=True, a few kernels that do all of the update, or "
              "with foreach=True, a kernel an operation of it; SGD, Adam and AdamW",
          .options = {{.name = option_name,
                       .kind = OptionKind::name,
                       .doc = "update parameters this way",
                       .names = {to_string(UpdateWay::fused), to_string(UpdateWay::foreach)}}},
          .needs = {.pytorch = true},
          .each_base = true,
          .apply = apply};
}

ReportedObject optimizer_report() {
  return {"update_change", "another way to update parameters", says::all};
}

}  // namespace tandem
