#include "models/whatif/batch/transform.h"

#include <algorithm>
#include <utility>

#include "models/whatif/batch/batch.h"
#include "models/whatif/batch/layers.h"
#include "models/whatif/batch/nodes.h"
#include "models/whatif/edit/collectives.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField factor{"factor", "ratio", "times the nearest traced batch"};
constexpr ReportField extrapolated{"extrapolated", "bool", "outside the traced batches"};
constexpr ReportField affine_share{"affine_share", "share",
                                   "of the GPU time in kernels without a model"};
constexpr ReportField switch_share{"switch_share", "share",
                                   "of the GPU time likely by another algorithm"};
constexpr ReportField all[] = {factor,       extrapolated,   affine_share,
                               switch_share, switched_field, main_switch_field};
}  // namespace says

TransformReport report_of(const BatchConfidence& c, AlgorithmSwitches switches, std::int64_t from,
                          std::int64_t to) {
  TransformReport out;
  out.from = std::to_string(from);
  out.to = std::to_string(to);
  out.expected_error = c.expected_error;
  out.values = {
      reported(says::factor, c.factor),
      reported(says::extrapolated, c.extrapolated),
      reported(says::affine_share, c.affine_share, true),
      reported(says::switch_share, c.switch_share, true),
  };
  report_switches(std::move(switches), out);
  return out;
}

/// Of products as the law of tiles has it, of convolutions where layers were measured. Two traces
/// tell more of a layer's time than measured ones do.
AlgorithmSwitches switch_all(const TransformInput& in, const BatchReport& report, const Step& step,
                             bool two_traces, Trace& resized) {
  AlgorithmSwitches out = report.products;
  if (in.layers.compute_major != in.traced.gpu->compute_major) return out;
  const AlgorithmSwitches layers = switch_layers(step, in.layers, !two_traces, resized);
  out.insert(out.end(), layers.begin(), layers.end());
  return out;
}

/// Steps whose kernels run on the CPU: their traces hold no shapes, so two of them must tell.
std::optional<TransformReport> apply_to_nodes(const TransformInput& in, std::int64_t from,
                                              std::int64_t to, Rewritten& out) {
  if (!out.second) {
    throw InputError(in.traced.path, "--batch", "one trace of kernels on the CPU, without shapes",
                     "a second trace of the model at another batch (--base)");
  }
  Plan plan = nodes_at_batch({out.step, from}, {*out.second, *out.second_batch}, to);
  out.step.plan = std::move(plan);
  out.changed = true;
  const auto [low, high] = std::minmax(from, *out.second_batch);
  TransformReport report;
  report.from = std::to_string(from);
  report.to = std::to_string(to);
  report.expected_error =
      to < low || to > high ? in.batch.errors.nodes_outside : in.batch.errors.nodes;
  return report;
}

/// Ranks that exchange activations exchange as many more; gradients and parameters stay.
void resize_collectives(const TransformInput& in, double factor, Step& step) {
  const std::vector<bool> resizes = exchanges_activations(step);
  Trace& trace = step.trace;
  for (std::uint32_t act = 0; act < trace.activities.size(); ++act) {
    if (!resizes[act]) continue;
    const Collective* const c = collective_of(trace, act);
    Collective next = *c;
    const auto resized = [&](std::int64_t bytes) {
      return static_cast<std::int64_t>(static_cast<double>(bytes) * factor);
    };
    next.in_bytes = resized(c->in_bytes);
    next.out_bytes = resized(c->out_bytes);
    const GpuArch& gpu = *in.traced.gpu;
    const double ratio =
        collective_ratio(in.collectives, trace, act, gpu, next, {gpu, ranks_of(trace, *c)});
    // A rank that waits for its neighbour's layers lasts as long as those take, whatever is sent.
    if (ratio <= 0 && c->kind == CollectiveKind::point_to_point) continue;
    set_collective(trace, act, next, ratio > 0 ? ratio : factor);
  }
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const std::int64_t to = parse_count("batch", in.asked.get("batch"));
  const std::int64_t from = *in.traced.batch;
  if (to == from && !out.second) return {};
  if (out.step.trace.activities.size() == 0) return apply_to_nodes(in, from, to, out);
  const BatchOptions options{to, in.traced.gpu, &in.batch};
  BatchReport report;
  Trace trace;
  const bool two_traces = out.second.has_value();
  if (!two_traces) {
    trace = with_batch({out.step.trace, out.step.links, out.step.kernels, from}, options,
                       out.losses, &report);
  } else {
    Step other = std::move(*out.second);
    trace = with_batch({out.step.trace, out.step.links, out.step.kernels, from},
                       {other.trace, other.links, other.kernels, *out.second_batch}, options,
                       out.losses, &report);
    if (report.from_second) out.step = std::move(other);
    out.from_second = report.from_second;
  }
  AlgorithmSwitches switches = switch_all(in, report, out.step, two_traces, trace);
  out.step.trace = std::move(trace);
  const std::int64_t base = out.from_second ? *out.second_batch : from;
  resize_collectives(in, static_cast<double>(to) / static_cast<double>(base), out.step);
  retime_plan(out.step);
  out.changed = true;
  return report_of(report.confidence, std::move(switches), from, to);
}

}  // namespace

Transform batch_transform() {
  return {
      .name = "batch",
      .json = "batch",
      .doc = "another batch size: what each kernel does with its batch, from one trace or two",
      .options = {{.name = "batch", .kind = OptionKind::count, .doc = "predict this batch size"}},
      .needs = {.batch = true, .device_work = false},
      .apply = apply};
}

ReportedObject batch_report() {
  return {"batch", "another batch; null: not asked", says::all, switches_list, true};
}

}  // namespace tandem
