#include "models/whatif/precision/weights.h"

#include "models/kernel/residual.h"

namespace tandem {
namespace {

/// The type of weights that had `from`.
DataType type_of_weights(Precision precision, DataType from) {
  switch (precision) {
    case Precision::fp16w: return DataType::fp16;
    case Precision::bf16w: return DataType::bf16;
    case Precision::fp32:
    case Precision::tf32:
    case Precision::amp:
    case Precision::bf16: return DataType::fp32;
  }
  return from;
}

/// Of the first list of an operation.
double listed_elements(const OpTensors& tensors) {
  double sum = 0;
  for (std::size_t i = 0; i < tensors.shapes.size(); ++i) {
    if (tensors.arguments[i] != tensors.arguments[0]) break;
    sum += static_cast<double>(tensors.shapes[i].elements());
  }
  return sum;
}

}  // namespace

bool retypes_weights(const TypedStep& s) {
  return is_whole(s.precision) || is_whole(s.report.from);
}

void retype_lists(TypedStep& s, std::uint32_t index) {
  const FlowOp& op = s.flow.ops[index];
  const double elements = listed_elements(s.tensors(op.op));
  double all_us = 0;
  for (const std::uint32_t w : s.flow.works_of(op)) all_us += s.us(w);
  for (const std::uint32_t w : s.flow.works_of(op)) {
    const KernelTraits& kernel = s.kernel_class(w).traits;
    const DataType from = kernel.data, to = type_of_weights(s.precision, from);
    if (row_of(kernel).loop != Loop::chunks || !is_autocast_type(from) || from == to) continue;
    const double bytes = elements * kernel.operands * element_bytes(from);
    const double narrower = double(element_bytes(to)) / element_bytes(from);
    // A block looks up its tensor and its place in it, as one that computes the place of elements.
    const double moving_share = bytes > 0 ? dram_us(s.c.gpu, bytes, 1) / all_us : 1;
    const double ratio = beside_bytes(s.c.law.ratios.strided_power, narrower, moving_share);
    s.set_time(w, carried_us(s.us(w), s.c.law.floor_us, ratio));
    s.edit.set_kernel(w, s.retyped(w, from, to));
    ++s.report.kernels_retyped;
  }
}

}  // namespace tandem
