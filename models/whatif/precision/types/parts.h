// Parts of tensors that views cut out: a trace tells of a view what it cuts, not what comes out.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/tensors/operands.h"
#include "sim/core/time.h"
#include "sim/trace/trace.h"

namespace tandem {

class CutViews {
 public:
  explicit CutViews(const Trace& trace);

  struct Whole {
    TimePoint at;  // when it was cut
    TensorShape shape;
  };
  /// The latest tensor cut before `at` of which `part` may be a part: as large but along one
  /// dimension, or without it. Null where none of the last views cut one.
  const Whole* whole_of(TimePoint at, const TensorShape& part) const;

 private:
  std::vector<Whole> cuts_;  // in order of time
};

}  // namespace tandem
