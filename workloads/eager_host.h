// What an eager run costs on the host, by kind of operation, for steps that nobody traced.
#pragma once

#include <string>
#include <vector>

#include "models/ops/op_table.h"
#include "sim/core/fields/provenance.h"
#include "workloads/network.h"

namespace tandem {

/// Host times as a profiler shows them; what removes its cost from traces removes it here, too.
struct EagerHost {
  std::string name;
  double other_forward_us = 0;  // from one operation's last call to the next one's first launch
  double other_backward_us = 0;
  double other_optimizer_us = 0;
  double product_forward_us = 0;
  double product_backward_us = 0;
  double convolution_forward_us = 0;
  double convolution_backward_us = 0;
  double batch_norm_forward_us = 0;
  double batch_norm_backward_us = 0;
  double attention_forward_us = 0;
  double attention_backward_us = 0;
  double norm_forward_us = 0;
  double norm_backward_us = 0;
  double gather_forward_us = 0;
  double gather_backward_us = 0;
  double in_node_us = 0;      // between operations of one autograd node
  double next_launch_us = 0;  // between launches of one operation
  double list_us = 0;         // a list operation, without its tensors
  double list_tensor_us = 0;  // ... and for each tensor of its lists
  double launch_call_us = 0;
  double memset_call_us = 0;
  double step_begin_us = 0;            // before the first operation
  double hand_off_us = 0;              // from the forward pass to the first backward node
  double join_us = 0;                  // from the last backward node to the optimizer
  double step_begin_parameter_us = 0;  // and for each parameter: gradients are dropped
  double hand_off_parameter_us = 0;
  double join_parameter_us = 0;  // the optimizer collects and groups them
  std::vector<Provenance> origins;

  /// Before the first launch of an operation.
  double gap_us(const OpRow& row, Phase phase) const;
};

/// Errors: InputError for a missing or malformed file.
EagerHost load_eager_host(const std::string& path);

}  // namespace tandem
