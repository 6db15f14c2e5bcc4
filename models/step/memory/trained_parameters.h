// Which parameters the gradients of a step reach.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/core/tensors/operands.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Of a parameter; a byte an element where the trace does not tell its type.
double stored_bytes(const TensorShape& t);

/// Each once: a step that adds up the gradients of several passes reaches all of them in each.
class TrainedParameters {
 public:
  TrainedParameters(const Trace& trace, const StepWindow& step);

  bool empty() const { return reached_.empty(); }
  /// How many forward and backward passes reach all of them before the optimizer uses their
  /// gradients (gradient accumulation): 1 where each has its own update, or none was seen.
  std::int64_t passes() const { return passes_; }
  /// A layer or graph of the step takes `t`. False: no gradient reaches one of its dimensions.
  bool takes(const TensorShape& t);
  std::vector<TensorShape> shapes() const;

  /// Whether what a layer takes is a slice of one of them: experts whose weights are one parameter
  /// are run one after the other.
  bool holds_as_slice(const TensorShape& t) const;

 private:
  std::map<std::vector<std::int64_t>, std::vector<TensorShape>> reached_;  // by dimensions
  std::int64_t passes_ = 1;
};

}  // namespace tandem
