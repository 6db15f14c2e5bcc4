// Which tensors the operations of graphs that a compiler made read, make and overwrite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/kernel/classify/fused_name.h"
#include "models/step/binding/graph_results.h"
#include "models/step/binding/graph_tensors.h"
#include "models/step/binding/joined_buffers.h"
#include "models/step/binding/layer_operands.h"
#include "models/step/binding/repeated_reads.h"
#include "models/step/dataflow.h"

namespace tandem {

/// Finds the tensors of compiled operations. Forward, an operand is the latest tensor of its size
/// and type that nobody has read yet, else the latest; backward, a gradient that nobody has read
/// yet, else what the forward graph kept, unless the kernel repeats what one before it read.
/// Gradients of layers read what the layers read, beside another gradient, and what else generated
/// code reads backward is rather something that they do not.
class GraphFlow {
 public:
  /// `flow`: with its operations, those of graphs marked.
  GraphFlow(const Step& step, Dataflow& flow);

  /// Appends inputs and outputs of operation `op`; operations come in order.
  void bind(std::uint32_t op);
  /// Which tensor of the forward graph each operand is that a backward graph found kept: the
  /// latest come first, each as often as the others of its shape.
  void settle();

 private:
  using List = GraphTensors::List;

  const FusedName& name_of(const FlowOp& op);
  std::uint32_t from_outside(const TensorShape& shape);
  void join(const TensorShape& shape);
  bool copies_parameter(const FlowOp& op, const std::vector<TensorShape>& operands);
  bool is_tangent(const TensorShape& shape, const List& list) const;
  bool is_gradient(const FlowOp& op, const TensorShape& shape, std::uint8_t argument);
  void use(std::uint32_t tensor, std::uint8_t argument);
  bool computed_again(const FlowOp& op, const TensorShape& shape, const List& list) const;
  void read(std::uint32_t row, const TensorShape& shape, std::uint8_t argument,
            bool gradient = false);
  std::uint32_t whole_gradient(const TensorShape& part) const;
  std::uint32_t whole_of(std::uint32_t tensor) const;
  bool copies_part(const FlowOp& op, const TensorShape& shape, std::uint8_t argument);
  std::vector<std::uint32_t> read_by_layer(const FlowOp& op, const OpTensors& operands);
  std::uint32_t joined_product(const FlowOp& op, const OpTensors& operands);
  /// What a kernel fills places of and reads nothing as large for was there before the step.
  void see_state(const FlowOp& op, const FusedName& name, const std::vector<TensorShape>& operands);
  void make(FlowOp& op, std::uint32_t row, const TensorShape& shape);
  void settle_kept();
  void bind_generated(FlowOp& op, std::uint32_t row, const OpTensors& operands);
  void bind_library(FlowOp& op, std::uint32_t row, const Operands& operands);

  const Step& step_;
  Dataflow& flow_;
  GraphTensors tensors_;
  GraphResults results_;
  RepeatedReads repeated_;
  JoinedBuffers joined_;
  std::map<std::size_t, FusedName> names_;  // of generated kernels
  LayerOperands layers_;
  /// Of operands of convolutions' gradients that these copy, by row and argument: the whole.
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> copied_;
  std::vector<std::pair<std::uint32_t, TensorShape>> kept_;     // uses that find what forward kept
  std::vector<std::pair<std::uint32_t, std::uint32_t>> again_;  // use, and the one it repeats
};

}  // namespace tandem
