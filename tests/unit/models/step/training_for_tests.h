// A training step of a few operations, and how its profiler names what its tests are about.
#pragma once

#include <string>
#include <string_view>

#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem::test {

inline constexpr std::string_view backward_node = "autograd::engine::evaluate_function: ";

/// y = x w, relu, loss and the backward of both; forward numbers 1 and 2, loss 3.
inline Dataflow small_training() {
  FlowMaker m;
  m.sequence = 1;
  m.op("aten::mm", "[[8,16],[16,16]]", half2);
  m.sequence = 2;
  m.op("aten::relu", "[[8,16]]", R"(["c10::Half"])");
  m.sequence = 3;
  m.op("aten::mse_loss", "[[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.thread = 1;
  m.op(std::string(backward_node) + "MseLossBackward0>aten::mse_loss_backward",
       "[[],[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","c10::Half","Scalar"])");
  m.sequence = 2;
  m.op(std::string(backward_node) + "ReluBackward0>ReluBackward0>aten::threshold_backward",
       "[[8,16],[8,16],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  m.sequence = 1;
  m.op(std::string(backward_node) + "MmBackward0>MmBackward0>aten::mm", "[[8,16],[16,16]]", half2);
  m.thread = 0;
  m.sequence = -1;
  m.op("aten::_foreach_add_", "[[],[],[]]", R"(["TensorList","TensorList","Scalar"])");
  return dataflow(m.step());
}

}  // namespace tandem::test
