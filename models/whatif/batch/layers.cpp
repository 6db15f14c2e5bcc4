#include "models/whatif/batch/layers.h"

#include <map>
#include <vector>

#include "models/ops/op_table.h"
#include "models/step/op_nesting.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

OpContext context_of(const Trace& trace, std::uint32_t row) {
  static const LaunchGeometry none;
  const Operands& operands = operands_of(trace, row);
  return {text_of(trace, trace.ops.name[row]), operands.tensors, operands.arguments, none};
}

/// The activities of each convolution's operation that run a pass of it, in the order of launches.
std::map<std::uint32_t, std::vector<std::uint32_t>> convolutions(const Step& step) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> out;
  const OpNesting nesting = nest_ops(step.trace, step.links);
  for (std::uint32_t a = 0; a < step.trace.activities.size(); ++a) {
    const std::uint32_t row = nesting.of_activity[a];
    if (row == no_row || !is_of_pass(step.kernels.of(a))) continue;
    const OpKind kind = op_row(text_of(step.trace, step.trace.ops.name[row])).kind;
    if (kind == OpKind::convolution || kind == OpKind::convolution_backward) out[row].push_back(a);
  }
  return out;
}

struct ResizedLayer {
  ConvShape before;
  double images = 0;  // now
  bool half = false;
  bool backward = false, transposed = false;
};

/// Nothing for operations without shapes and for volumes.
std::optional<ResizedLayer> layer_of(const Trace& before, const Trace& after, std::uint32_t row) {
  const OpContext was = context_of(before, row), is = context_of(after, row);
  const OpRow& op = op_row(was.op);
  const TensorShape* const image = was.tensors.at(op.arguments.at(ArgumentName::input));
  const auto shape = conv_shape(was), now = conv_shape(is);
  if (image == nullptr || image->rank > image_rank || !shape || !now) return {};
  if (image->type != DataType::fp32 && !is_half(image->type)) return {};
  return ResizedLayer{*shape, static_cast<double>(now->images), is_half(image->type),
                      op.kind == OpKind::convolution_backward, is_transposed(was)};
}

}  // namespace

AlgorithmSwitches switch_layers(const Step& step, const MeasuredLayers& layers, bool retime,
                                Trace& resized) {
  AlgorithmSwitches out;
  for (const auto& [row, activities] : convolutions(step)) {
    const auto layer = layer_of(step.trace, resized, row);
    if (!layer) continue;
    std::vector<LayerKernel> kernels;
    for (const std::uint32_t a : activities) {
      kernels.push_back({&step.kernels.of(a), to_us(step.trace.activities.duration[a])});
    }
    for (const PassKernels& p : passes_of(kernels, layer->backward, layer->transposed)) {
      const auto of_pass = std::span(kernels).subspan(p.begin, p.end - p.begin);
      const auto change = batch_change(layers, layer_shape(layer->before, p.pass), layer->images,
                                       layer->half, layer_class_of(of_pass));
      if (!change) continue;
      const bool switches = !(change->from.layer_class == change->to.layer_class);
      if (!switches && !change->known) continue;
      double was = 0, resized_us = 0;
      for (std::size_t i = p.begin; i < p.end; ++i) {
        was += kernels[i].us;
        resized_us += to_us(resized.activities.duration[activities[i]]);
      }
      if (was <= 0 || resized_us <= 0) continue;
      const double us = retime ? carried_layer_us(layers, *change, was) : resized_us;
      for (std::size_t i = p.begin; retime && i < p.end; ++i) {
        Duration& d = resized.activities.duration[activities[i]];
        d = from_us(to_us(d) * us / resized_us);
      }
      if (!switches) continue;
      add_switch(out, describe(change->from.layer_class), describe(change->to.layer_class), us);
    }
  }
  return out;
}

}  // namespace tandem
