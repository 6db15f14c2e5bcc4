// What a group adds to tables and to images: gradients of gathered rows, of samples, of windows.
#pragma once

#include "models/whatif/compile/kernels/group_view.h"

namespace tandem {

/// Rows that are added to a table are read and written there.
double scattered_bytes(const GroupView& view);
/// Sectors that values are added to in places far from each other.
double adds(const GroupView& view);
/// Adds to a table that follow one another because they meet in that sector of it which most of
/// them reach.
double adds_in_turn(const GroupView& view);
/// Of the values that are added to a table in FP16, those that find their place taken.
double half_adds(const GroupView& view);

}  // namespace tandem
