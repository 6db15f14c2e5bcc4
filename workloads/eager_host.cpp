#include "workloads/eager_host.h"

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

std::vector<Field<EagerHost>> fields() {
  using H = EagerHost;
  const auto us = [](std::string_view name, std::string_view doc, double H::*member) {
    return field<H>(name, "us", doc, member);
  };
  return {us("other_forward_us", "forward operation", &H::other_forward_us),
          us("other_backward_us", "backward operation", &H::other_backward_us),
          us("other_optimizer_us", "optimizer operation", &H::other_optimizer_us),
          us("product_forward_us", "matrix product", &H::product_forward_us),
          us("product_backward_us", "backward of one", &H::product_backward_us),
          us("convolution_forward_us", "convolution", &H::convolution_forward_us),
          us("convolution_backward_us", "backward of one", &H::convolution_backward_us),
          us("batch_norm_forward_us", "batch norm", &H::batch_norm_forward_us),
          us("batch_norm_backward_us", "backward of one", &H::batch_norm_backward_us),
          us("attention_forward_us", "fused attention", &H::attention_forward_us),
          us("attention_backward_us", "backward of one", &H::attention_backward_us),
          us("norm_forward_us", "norm over rows", &H::norm_forward_us),
          us("norm_backward_us", "backward of one", &H::norm_backward_us),
          us("gather_forward_us", "rows of a table", &H::gather_forward_us),
          us("gather_backward_us", "backward of one", &H::gather_backward_us),
          us("in_node_us", "between operations of a backward node", &H::in_node_us),
          us("next_launch_us", "between launches of an operation", &H::next_launch_us),
          us("list_us", "operation on lists of tensors", &H::list_us),
          us("list_tensor_us", "a tensor of such a list", &H::list_tensor_us),
          us("launch_call_us", "launch call", &H::launch_call_us),
          us("memset_call_us", "memset call", &H::memset_call_us),
          us("step_begin_us", "begin of a step to its first operation", &H::step_begin_us),
          us("hand_off_us", "forward pass to first backward node", &H::hand_off_us),
          us("join_us", "last backward node to optimizer", &H::join_us),
          us("step_begin_parameter_us", "and for each parameter", &H::step_begin_parameter_us),
          us("hand_off_parameter_us", "and for each parameter", &H::hand_off_parameter_us),
          us("join_parameter_us", "and for each parameter", &H::join_parameter_us)};
}

}  // namespace

double EagerHost::gap_us(const OpRow& row, Phase phase) const {
  const bool backward = phase == Phase::backward;
  if (phase == Phase::optimizer) {
    return row.kind == OpKind::optimizer ? list_us : other_optimizer_us;
  }
  switch (row.kind) {
    case OpKind::matmul: return backward ? product_backward_us : product_forward_us;
    case OpKind::convolution:
    case OpKind::convolution_backward:
      return backward ? convolution_backward_us : convolution_forward_us;
    case OpKind::batch_norm:
    case OpKind::batch_norm_backward:
      return backward ? batch_norm_backward_us : batch_norm_forward_us;
    case OpKind::attention:
    case OpKind::attention_backward: return backward ? attention_backward_us : attention_forward_us;
    case OpKind::row_norm:
    case OpKind::row_norm_backward: return backward ? norm_backward_us : norm_forward_us;
    case OpKind::gather:
    case OpKind::scatter: return backward ? gather_backward_us : gather_forward_us;
    default: return backward ? other_backward_us : other_forward_us;
  }
}

EagerHost load_eager_host(const std::string& path) {
  return load_constants<EagerHost>(path, fields());
}

}  // namespace tandem
