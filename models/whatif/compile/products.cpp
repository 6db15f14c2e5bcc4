#include "models/whatif/compile/products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/ops/op_table.h"
#include "models/step/one_call.h"
#include "models/whatif/compile/library.h"
#include "sim/core/tensors/data_type.h"
#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

/// Of most of the forward products and convolutions; FP32 without autocast.
DataType autocast_type(const Dataflow& flow) {
  std::size_t all = 0, half = 0;
  DataType type = DataType::fp32;
  for (const FlowOp& op : flow.ops) {
    if (!op.in_model || op.phase != FlowPhase::forward || op.output_count == 0) continue;
    if (op.kind != OpKind::matmul && op.kind != OpKind::convolution) continue;
    const DataType made = flow.tensors[flow.outputs_of(op)[0]].type;
    ++all;
    if (!is_half(made)) continue;
    ++half;
    type = made;
  }
  return 2 * half > all ? type : DataType::fp32;
}

bool is_wide_product(const Dataflow& flow, const FlowOp& op) {
  return op.kind == OpKind::matmul && op.in_model && op.phase == FlowPhase::backward &&
         op.output_count > 0 && flow.tensors[flow.outputs_of(op)[0]].type == DataType::fp32;
}

/// Whether the operand with as many elements is a cast that the step makes.
bool reads_cast_of(const Dataflow& flow, const FlowOp& op, const TensorShape& matrix) {
  const auto inputs = flow.inputs_of(op);
  return std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
    const FlowTensor& t = flow.tensors[use.tensor];
    return t.elements == matrix.elements() && t.producer != no_row &&
           flow.ops[t.producer].kind == OpKind::cast;
  });
}

/// [positions][items][inner] as the pieces of a layer of attention read it, of the product for
/// queries, keys and values that the framework ran in one call: --precision has put it under
/// autocast since, which has pieces only.
std::optional<TensorShape> turned_input(const Trace& trace, const Dataflow& flow, const FlowOp& op,
                                        const ProductOperands& product) {
  if (product.columns != 3 * product.inner) return {};
  const std::uint32_t call = layer_in_one_call(trace, flow, op);
  const TensorShape* input = call == no_row ? nullptr : operands_of(trace, call).tensors.at(0);
  if (input == nullptr || input->rank != 3) return {};
  TensorShape turned = *input;
  std::swap(turned.dims[0], turned.dims[1]);
  return turned;
}

/// The operand of several dimensions of a product with one matrix, if its rows do not lie behind
/// each other.
std::optional<TensorShape> scattered_batch(const Trace& trace, const Dataflow& flow,
                                           const FlowOp& op) {
  const OpTensors* operands = product_of_batch(trace, flow, op);
  if (operands == nullptr) return {};
  const TensorShape *batch = operands->at(0), *matrix = operands->at(1);
  if (batch == nullptr || matrix == nullptr || batch->rank < 3 || matrix->rank != 2) return {};
  if (!states_strides(*batch) || is_contiguous(*batch)) return {};
  return *batch;
}

}  // namespace

void lower_backward_products(Dataflow& flow) {
  const DataType type = autocast_type(flow);
  if (!is_half(type)) return;
  std::vector<bool> lowered(flow.ops.size(), false);
  std::vector<bool> read_wide(flow.tensors.size(), false);
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    lowered[i] = is_wide_product(flow, flow.ops[i]);
    if (lowered[i]) continue;
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) read_wide[use.tensor] = true;
  }
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (!lowered[i]) continue;
    const FlowOp& op = flow.ops[i];
    for (const std::uint32_t t : flow.outputs_of(op)) flow.tensors[t].type = type;
    for (const FlowUse& use : flow.inputs_of(op)) {
      FlowTensor& t = flow.tensors[use.tensor];
      const bool gradient =
          t.producer != no_row && flow.ops[t.producer].phase == FlowPhase::backward;
      if (gradient && t.type == DataType::fp32 && !read_wide[use.tensor]) t.type = type;
    }
  }
}

bool is_lowered(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::matmul || op.output_count == 0) return false;
  const TensorShape* traced = operands_of(trace, op.op).tensors.at(0);
  return traced != nullptr && traced->type == DataType::fp32 &&
         is_half(flow.tensors[flow.outputs_of(op)[0]].type);
}

std::optional<ProductOperands> unfolded_product(const Trace& trace, const Dataflow& flow,
                                                const FlowOp& op) {
  if (op.kind != OpKind::matmul || op.row->is(batched) || flow.trains()) return {};
  auto out = product_operands(context_of(trace, op));
  if (!out || !reads_cast_of(flow, op, out->right)) return {};
  auto batch = scattered_batch(trace, flow, op);
  if (!batch) batch = turned_input(trace, flow, op, *out);
  if (!batch || batch->dims[batch->rank - 1U] != out->inner) return {};
  const std::int64_t items = batch->elements() / std::max<std::int64_t>(out->inner, 1);
  out->rows = batch->dims[batch->rank - 2U];
  out->batch = items / std::max<std::int64_t>(out->rows, 1);
  return out;
}

}  // namespace tandem
