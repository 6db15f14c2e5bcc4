#include "models/whatif/precision/precision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "models/whatif/precision/kernels.h"
#include "models/whatif/precision/one_call.h"
#include "models/whatif/precision/rewrite.h"
#include "models/whatif/precision/scaler.h"
#include "models/whatif/precision/types/types.h"
#include "models/whatif/precision/types/whole.h"

namespace tandem {
namespace {

constexpr Named<Precision> names[] = {{Precision::fp32, "fp32"},   {Precision::tf32, "tf32"},
                                      {Precision::amp, "amp"},     {Precision::bf16, "bf16"},
                                      {Precision::fp16w, "fp16w"}, {Precision::bf16w, "bf16w"}};

/// Biases and states may have another type than the factors: the last operand is a factor. Behind
/// it may stand what cuDNN keeps for the backward pass, bytes.
DataType factor_type(const Dataflow& flow, const FlowOp& op) {
  const auto inputs = flow.inputs_of(op);
  for (std::size_t i = inputs.size(); i-- > 0;) {
    const DataType type = flow.tensors[inputs[i].tensor].type;
    if (type == DataType::fp16 || type == DataType::bf16 || type == DataType::fp32) return type;
  }
  return flow.tensors[inputs.back().tensor].type;
}

/// Of the operations that autocast lowers, by their number: the few that it leaves in FP32
/// (attention by products) may take most of the time.
Precision detect(const Step& step, const Dataflow& flow) {
  std::array<std::size_t, 3> count{};  // FP32, FP16, BF16
  Duration product{}, tf32{};
  for (const FlowOp& op : flow.ops) {
    if (op.row->autocast != CastPolicy::lower || op.input_count == 0) continue;
    const DataType type = factor_type(flow, op);
    const bool lowered = op.in_graph || !fills_given_result(step.trace, op);
    if (lowered) ++count[type == DataType::fp16 ? 1 : type == DataType::bf16 ? 2 : 0];
    if (op.kind != OpKind::matmul || type != DataType::fp32) continue;
    Duration sum{};
    for (const std::uint32_t w : flow.works_of(op)) sum += step.plan.works[w].duration;
    product += sum;
    if (uses_tf32(step, flow, op)) tf32 += sum;
  }
  const bool fp16 = count[1] > count[0] && count[1] >= count[2];
  if (fp16 || count[2] > count[0]) {
    if (is_all_in_16_bits(step.trace, flow)) return fp16 ? Precision::fp16w : Precision::bf16w;
    return fp16 ? Precision::amp : Precision::bf16;
  }
  return tf32 * 2 > product ? Precision::tf32 : Precision::fp32;
}

bool is_autocast(Precision precision) {
  return precision == Precision::amp || precision == Precision::bf16;
}

bool any_operands(const Dataflow& flow) {
  return std::any_of(flow.ops.begin(), flow.ops.end(),
                     [](const FlowOp& op) { return op.input_count > 0; });
}

void require_shapes(const Step& step, const Dataflow& flow) {
  if (any_operands(flow)) return;
  throw InputError("trace", step.name, "no operand shapes and types of operations",
                   "operator shapes (record_shapes=True) for --precision");
}

TypeChange type_change(const Trace& trace, const Dataflow& flow, Precision from, Precision to,
                       std::int64_t fused_width) {
  if (is_whole(from) && is_whole(to)) return with_half(flow, half_of(to));
  if (is_whole(from) && is_autocast(to)) {
    return autocast_of_whole(trace, flow, half_of(to), fused_width);
  }
  if (is_whole(from)) return without_whole(flow);
  if (is_whole(to)) return whole(trace, flow, half_of(to), fused_width);
  if (is_autocast(from) && is_autocast(to)) return with_half(flow, half_of(to));
  if (is_autocast(from)) return without_autocast(flow);
  if (is_autocast(to)) return autocast(trace, flow, half_of(to), fused_width);
  return with_half(flow, DataType::fp16);  // no type changes, only the pipes
}

/// Errors: InputError for compiled steps, whose generated kernels convert on their own.
void require_eager(const Step& step, const Dataflow& flow, Precision to) {
  if (!flow.has_graphs()) return;
  throw InputError("trace", step.name, "operations of compiled graphs",
                   "a trace of eager operations for --precision " + std::string(to_string(to)));
}

std::int64_t fused_width(const PrecisionLaw& law, const GpuArch& gpu) {
  return gpu.compute_major < law.shared_keys_major ? 0 : std::llround(law.shared_keys_width);
}

}  // namespace

std::span<const Named<Precision>> precisions() { return names; }

std::string_view to_string(Precision precision) { return name_of(names, precision); }

Precision parse_precision(std::string_view name) {
  return parse_named(names, name, "command line", "--precision");
}

void require_precision(const GpuArch& gpu, Precision precision) {
  if (precision == Precision::fp32) return;
  const DataType type = precision == Precision::tf32 ? DataType::tf32 : half_of(precision);
  if (tensor_fma_per_clk(gpu, math_type(type)) > 0) return;
  throw InputError("command line", "--precision",
                   "\"" + std::string(to_string(precision)) + "\" on \"" + gpu.name +
                       "\", which has no tensor cores for it",
                   "a precision that the GPU has, e.g. fp32");
}

bool is_whole(Precision precision) {
  return precision == Precision::fp16w || precision == Precision::bf16w;
}

DataType half_of(Precision precision) {
  const bool brain = precision == Precision::bf16 || precision == Precision::bf16w;
  return brain ? DataType::bf16 : DataType::fp16;
}

Precision traced_precision(const Step& step) { return detect(step, dataflow(step)); }

bool states_types(const Step& step) { return any_operands(dataflow(step)); }

Step with_precision(Step step, Precision to, const GpuArch& gpu, const PrecisionLaw& law,
                    const TimeConstants& time, const LibraryNames& names,
                    const MeasuredLayers& layers, const HostModel& host, LossList& losses,
                    PrecisionReport* report, bool compiled) {
  PrecisionReport local;
  PrecisionReport& r = report != nullptr ? *report : local;
  const Dataflow flow = dataflow(step);
  require_shapes(step, flow);
  r = {};
  r.from = detect(step, flow), r.to = to;
  if (r.from == to) return step;
  require_precision(gpu, to);
  if (is_whole(to)) require_eager(step, flow, to);
  const RetimeContext context{gpu, law, time, names, layers};
  const TypeChange change = type_change(step.trace, flow, r.from, to, fused_width(law, gpu));
  const bool exchanges = !compiled && is_autocast(r.from) != is_autocast(to) &&
                         exchanges_calls(step.trace, flow, is_autocast(to));
  const auto scaler = gradient_scaler(flow);
  if (to != Precision::amp) forget_scaler_wait(flow, scaler, step);
  const double gradients = gradient_elements(flow);
  const double before_us = gpu_us(step);
  const AddedHost added = added_host(step, host);
  StepEdit edit(std::move(step), host.launch_call_us);
  TypedStep typed{context, flow, change, to, added, edit, r};
  rewrite_types(typed);
  const int exchanged = exchanges ? exchange_calls(typed, is_autocast(to)) : 0;
  if (compiled && is_autocast(to) && !is_autocast(r.from)) apply_behind_products(typed);
  if (to == Precision::amp) {
    if (scaler.empty()) add_gradient_scaler(context, flow, added, host, gradients, edit);
  } else {
    remove_gradient_scaler(flow, scaler, edit);
  }
  if (exchanges && exchanged == 0) {
    losses.add("attention_in_one_call", Severity::warning,
               "layers of attention that may be one call without autocast and pieces under it, of "
               "another form than torch.nn.MultiheadAttention's: predicted as traced");
  }
  Step out = std::move(edit).finish();
  const double total = std::max(1e-9, gpu_us(out));
  // What switched may have gone since, as a kernel of its own.
  r.switch_share = std::min(1.0, typed.switched_us / total);
  r.unmodelled_share = typed.unmodelled_us / std::max(1e-9, before_us);
  r.expected_error = law.expected_error;
  if (r.unmodelled_share > 0.01) {
    losses.add("precision_without_model", Severity::info,
               "operations whose time in another precision has no law of its own");
  }
  return out;
}

}  // namespace tandem
