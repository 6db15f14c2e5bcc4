// Casts that autocast plans apart from those of a layer's operands: of gradients, and around what
// is handed 16 bits and computes in FP32.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/precision/types/made_types.h"
#include "models/whatif/precision/types/types.h"

namespace tandem {

/// Casts of gradients, and the types that gradients have behind them.
class GradientCasts {
 public:
  GradientCasts(const Trace& trace, const Dataflow& flow, TypeChange& change)
      : flow_(flow), backward_(trace, flow), change_(change) {}

  /// The gradient of a cast tensor is cast back.
  void cast_back(const FlowOp& op, PlannedCast cast);
  /// A sum of two types gives each operand a gradient of its own type.
  void promoted_gradients(std::uint32_t i, const FlowOp& op);
  /// Of an operation that reads 16 bits and makes FP32 of them: the gradient has 16 bits again, a
  /// softmax's as it is computed, others' by a cast.
  void narrowed_gradients(std::uint32_t i, const FlowOp& op);
  /// Outputs of a backward operation that were cast.
  void retype_gradients(const FlowOp& op);

 private:
  const Dataflow& flow_;
  BackwardIndex backward_;
  TypeChange& change_;
  std::unordered_map<std::int64_t, std::vector<std::pair<std::int64_t, DataType>>> gradients_;
};

/// Attention by products (PyTorch since 2.5, native/transformers/attention.cpp). In 16 bits heads
/// that share keys have a fused kernel, which products in FP32 make way for; it is handed 16 bits.
/// What has none computes its products in FP32: queries, keys, values and a mask are turned before
/// it, the result and the scores after it.
class ProductAttention {
 public:
  /// `fused_width`: as autocast() says.
  ProductAttention(const Trace& trace, const Dataflow& flow, DataType half,
                   std::int64_t fused_width, TypeChange& change, GradientCasts& gradients,
                   const MadeTypes& made)
      : trace_(trace),
        flow_(flow),
        half_(half),
        fused_width_(fused_width),
        change_(change),
        gradients_(gradients),
        made_(made) {}

  /// What `op`, the next forward operation, computes in if it is within such attention, whose casts
  /// are planned then; else unknown.
  DataType type_within(std::uint32_t i, const FlowOp& op);

 private:
  enum class Way : std::uint8_t { none, full, fused };

  std::uint32_t root_of(const FlowOp& op) const;
  Way way_of(std::uint32_t root) const;
  void enter(std::uint32_t i, const FlowOp& op, std::uint32_t root);
  void enter_fused(std::uint32_t i, const FlowOp& op, std::uint32_t root);
  void leave();

  const Trace& trace_;
  const Dataflow& flow_;
  DataType half_;
  std::int64_t fused_width_;
  TypeChange& change_;
  GradientCasts& gradients_;
  const MadeTypes& made_;
  std::uint32_t root_ = no_row;  // the attention that operations are within
  std::uint32_t last_ = no_row;  // the latest of them
  Way way_ = Way::none;
};

}  // namespace tandem
