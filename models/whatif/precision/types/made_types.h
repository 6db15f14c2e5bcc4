// The types that the tensors of a step have so far, while another precision goes through it.
#pragma once

#include <cstdint>

#include "models/step/dataflow.h"
#include "models/whatif/precision/types/parts.h"
#include "models/whatif/precision/types/types.h"

namespace tandem {

/// The types that tensors have by now, looked up by size where the trace does not tell which is
/// read.
class MadeTypes {
 public:
  MadeTypes(const Trace& trace, const Dataflow& flow, const TypeChange& change)
      : flow_(flow), change_(change), cuts_(trace) {}

  /// Whether an earlier forward operation makes a 16-bit tensor of `elements`.
  bool made_in_half(std::uint32_t i, std::int64_t elements) const;
  /// Type of a tensor of `elements` that may be a part of one made shortly before, or be made of
  /// it: splits and selections are views and leave no trace.
  DataType nearby(std::uint32_t i, std::int64_t elements) const;
  /// Type of the latest tensor of `elements` that a forward operation made lately; unknown without.
  DataType latest(std::uint32_t i, std::int64_t elements) const;
  /// Type of the tensor of which views cut `part` out before operation `i` began, at `at`; unknown
  /// where no view did, or nobody made it.
  DataType of_whole(std::uint32_t i, TimePoint at, const TensorShape* part) const;
  /// The widest type of what the concatenation `i` joins, where the trace names none of its
  /// operands' types: one of them is a part of a larger tensor. Unknown where one of them is not
  /// found, or where `i` joins nothing.
  DataType of_parts(const Trace& trace, std::uint32_t i) const;
  /// Type of what the forward operation before made, if `part` may be rows of it: logits without
  /// those of the last position.
  DataType rows_of_latest(std::uint32_t i, const TensorShape& part) const;

 private:
  const Dataflow& flow_;
  const TypeChange& change_;
  CutViews cuts_;
};

}  // namespace tandem
