// Which tensors the operations of graphs that a compiler made read, make and overwrite. Generated
// code lists its operands without saying which are results.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/step/binding/layer_operands.h"
#include "models/step/dataflow.h"

namespace tandem {

/// Finds the tensors of compiled operations. A kernel lists what it overwrites first, then what it
/// reads, then new results: those are the operands at the end that nothing has made, and always
/// one, unless the last one waits to be read. Forward, an operand is the latest tensor of its size
/// and type that nobody has read yet, else the latest; backward, a gradient that nobody has read
/// yet, else what the forward graph kept; a pointwise kernel behind a reduction of the same
/// operands (gradients of norms: sums, then what they are for) reads those again. Dimensions of one
/// do not count: libraries put them into signals over time. Gradients of layers read what the
/// layers read, beside another gradient, and what else generated code reads backward is rather
/// something that they do not; what nothing could have made is a result.
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
  struct Known {
    TensorShape shape;  // as it was made; rank 0: not by a graph
    bool backward = false;
    bool by_library = false;  // not by generated code
    bool read = false;        // in the phase that made it
    bool overwritten = false;
    bool by_gradient = false;  // a library's gradient reads it
  };
  struct Results {
    std::size_t first_new = 0;  // operands from here on are new
    bool first_is_new = false;
    bool overwrites_first = false;
  };
  /// Generated code that has run.
  struct KnownKernel {
    std::vector<TensorShape> operands;
    FlowPhase phase = FlowPhase::forward;
    Results results;
  };
  /// Generated code that went backward.
  struct Reader {
    std::vector<TensorShape> operands;
    std::vector<std::uint32_t> inputs;  // per operand: row of Dataflow::inputs, or no_row
    std::uint32_t op = no_row;
  };
  using Tensors = std::vector<std::uint32_t>;

  void see_new_tensors();
  Tensors& made(const TensorShape& shape);
  /// Of the dimensions of `shape`, of those in another order, of as many elements.
  std::array<Tensors, 3> by_fit(const Tensors& list, const TensorShape& shape) const;
  Tensors fitting(const TensorShape& shape, const FlowOp& op);
  bool waits_to_be_read(std::uint32_t tensor, const FlowOp& op) const;
  bool waits_for_another(std::uint32_t tensor, const TensorShape& shape, const FlowOp& op) const;
  std::size_t waiting(const TensorShape& shape, const FlowOp& op);
  bool given(const TensorShape& shape, const FlowOp& op) const;
  bool reduces(const FlowOp& op) const;  // sums or norms, whatever else it computes
  bool fuses_any(const FlowOp& op, std::span<const std::string_view> operations) const;
  std::size_t new_at_end(const FlowOp& op, const std::vector<TensorShape>& operands);
  std::size_t first_mask(const FlowOp& op, const std::vector<TensorShape>& operands) const;
  bool tells_results(const FlowOp& op) const;
  bool listed(const TensorShape& shape) const;
  bool updates_given(const FlowOp& op) const;
  bool unmade(const TensorShape& shape);
  bool may_result(const FlowOp& op, std::span<const TensorShape> before, const TensorShape& shape);
  std::size_t first_unmade(const FlowOp& op, const std::vector<TensorShape>& operands);
  bool overwrites_gradient(const FlowOp& op, const std::vector<TensorShape>& operands) const;
  bool ends_with_operand(const FlowOp& op, const std::vector<TensorShape>& operands);
  Results find_results(const FlowOp& op, const std::vector<TensorShape>& operands);
  Results results_of(const FlowOp& op, const std::vector<TensorShape>& operands);
  std::uint32_t from_outside(const TensorShape& shape);
  bool copies_parameter(const FlowOp& op, const std::vector<TensorShape>& operands);
  bool is_tangent(const TensorShape& shape, const Tensors& list) const;
  bool is_gradient(const FlowOp& op, const TensorShape& shape, std::uint8_t argument);
  void use(std::uint32_t tensor, std::uint8_t argument);
  bool computed_again(const FlowOp& op, const TensorShape& shape, const Tensors& list) const;
  void read(std::uint32_t row, const TensorShape& shape, std::uint8_t argument,
            bool gradient = false);
  std::uint32_t whole_gradient(const TensorShape& part) const;
  std::uint32_t whole_of(std::uint32_t tensor) const;
  bool copies_part(const FlowOp& op, const TensorShape& shape, std::uint8_t argument);
  std::vector<std::uint32_t> read_by_layer(const FlowOp& op, const OpTensors& operands);
  std::uint32_t joined_product(const FlowOp& op, const OpTensors& operands);
  void make(FlowOp& op, std::uint32_t row, const TensorShape& shape);
  void settle_kept();
  void see_reader(const FlowOp& op, std::uint32_t row, const std::vector<TensorShape>& operands,
                  std::vector<std::uint32_t> inputs);
  static std::vector<std::uint32_t> like_inputs(const Reader& before,
                                                const std::vector<TensorShape>& operands);
  std::vector<std::uint32_t> read_again(const FlowOp& op, std::uint32_t row,
                                        const std::vector<TensorShape>& operands) const;
  void bind_generated(FlowOp& op, std::uint32_t row, const OpTensors& operands);
  void bind_library(FlowOp& op, std::uint32_t row, const Operands& operands);

  const Step& step_;
  Dataflow& flow_;
  std::map<std::size_t, std::vector<KnownKernel>> kernels_;  // by name
  LayerOperands layers_;
  /// Of operands of convolutions' gradients that these copy, by row and argument: the whole.
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> copied_;
  std::vector<TensorShape> given_;     // that training graphs list
  std::vector<TensorShape> tangents_;  // ... and their backward graphs
  std::vector<Known> known_;           // per tensor
  std::map<std::pair<std::int64_t, DataType>, Tensors> made_;
  std::vector<std::pair<std::uint32_t, TensorShape>> kept_;  // uses that find what forward kept
  Reader reduction_, norm_;  // the latest reduction, and gradient of rows of a norm
  std::vector<std::pair<std::uint32_t, std::uint32_t>> again_;  // use, and the one it repeats
};

}  // namespace tandem
