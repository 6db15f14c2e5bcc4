// The gradient scaler around an update, which a fused one asks on the device: the host reads back
// whether gradients are finite only for updates by lists (torch/amp/grad_scaler.py).
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

/// What of the scaler stands before one update. Works and items are those of the plan.
struct ScalerVerdict {
  std::vector<std::uint32_t> checks;    // kernels that unscale and check gradients
  std::vector<std::uint32_t> prepares;  // kernels on one number before them
  std::vector<std::uint32_t> scalars;   // ... and behind them, with the verdict's way to the host
  std::vector<std::uint32_t> waits;     // items
  /// The program itself has unscaled the gradients, e.g. to bound their norm.
  bool apart = false;
  /// It was asked before an earlier update, of another group of parameters.
  bool asked_before = false;
  bool found() const { return !checks.empty(); }
  /// Whether the update depends on it.
  bool applies() const { return found() || asked_before; }
  /// Whether a fused update divides the gradients by the scale.
  bool scales() const { return applies() && !apart; }
};

/// Before work `update`; `after`: the last work of the update before it, or no_index.
ScalerVerdict scaler_verdict(const Step& step, const OpNesting& nesting, std::uint32_t after,
                             std::uint32_t update);

}  // namespace tandem
