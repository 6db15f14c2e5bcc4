// The rows of a step's trace while it is edited: what is added stands behind the old rows until the
// dropped ones go.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

/// Of launch calls that an edit adds, which stand where there is no room for a real one.
constexpr Duration added_call_span{2};

GeometryId intern(const LaunchGeometry& geometry, std::vector<LaunchGeometry>& known);

class EditedRows {
 public:
  /// Writes to `step`, which must outlive it.
  explicit EditedRows(Step& step);

  /// Appends operation, call and activity of a new kernel, the `place`-th slot away from the
  /// activity `neighbour`. The row of the activity.
  std::uint32_t add(const NewKernel& kernel, std::uint32_t neighbour, std::int64_t place);
  void drop_call(std::uint32_t call) { keep_call_[call] = false; }
  void drop_activity(std::uint32_t activity) { keep_activity_[activity] = false; }

  /// Removes the dropped rows; `plan` refers to the rows as they were and then to the new ones.
  void finish(Plan& plan);

 private:
  void add_op(const NewKernel& kernel, TimePoint at, ThreadId thread);
  void add_call(TimePoint at, ThreadId thread, std::int64_t external_id);

  Step& step_;
  std::vector<bool> keep_call_;
  std::vector<bool> keep_activity_;
  std::int64_t next_correlation_ = 0;
  std::int64_t next_id_ = first_added_id;
};

}  // namespace tandem
