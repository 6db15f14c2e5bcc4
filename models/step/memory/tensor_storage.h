// Which tensors lie in the same memory: what is written in place, into zeros made for it, or into a
// result that was given.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/memory/step_facts.h"

namespace tandem {

class TensorStorage {
 public:
  TensorStorage(const Step& step, const Dataflow& flow, const StepFacts& facts);

  /// The tensor whose memory `tensor` lies in: itself, or an earlier one.
  std::uint32_t operator[](std::uint32_t tensor) const { return of_[tensor]; }
  void join(std::uint32_t tensor, std::uint32_t with) { of_[tensor] = with; }
  /// Operation `i`, the next one, has made `output` first. False: it lies in memory that was there
  /// before the step, or that a larger operation has made for several results.
  bool place(std::uint32_t i, std::uint32_t output);
  /// Whether an operand is the part of such a result that a product fills.
  bool is_given_result(const FlowOp& op, const FlowUse& use) const;

 private:
  bool place_known(std::uint32_t output);
  std::uint32_t filled_before(std::uint32_t i, std::uint32_t output) const;
  std::uint32_t filled_behind(std::uint32_t i, std::uint32_t output) const;
  std::uint32_t written_by(const FlowOp& op);

  const Step& step_;
  const Dataflow& flow_;
  const StepFacts& facts_;
  std::vector<std::uint32_t> of_;                                      // per tensor
  std::map<std::pair<std::uint32_t, DataType>, std::uint32_t> known_;  // by memory: the first one
  std::uint32_t root_ = no_row;                                        // of the operation at hand
  std::uint32_t root_operand_ = 0;  // what its first part read first
};

}  // namespace tandem
