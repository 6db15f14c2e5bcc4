// The updates of parameters in a step, as its list operations tell them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/step.h"
#include "models/whatif/optimizer/recipes.h"

namespace tandem {

/// What one call of a list operation launched.
struct TracedCall {
  std::uint32_t op = no_row;         // row of Trace::ops
  std::vector<std::uint32_t> works;  // of the plan, in order
  ListOp list_op = ListOp::other;
};

/// The update of one group of parameters.
struct Update {
  UpdateRecipe recipe;
  UpdateWay way = UpdateWay::foreach;
  std::vector<TracedCall> calls;    // that launch something, in order
  TimePoint begin;                  // of its first list operation, be it on the host
  std::vector<std::int64_t> sizes;  // elements of the parameters, in the optimizer's order
  bool order_known = false;         // else that of the forward pass stands in
  DataType type = DataType::fp32;   // of the parameters
  std::uint32_t first_work() const { return calls.front().works.front(); }
};

/// What its calls are.
std::vector<ListCall> list_calls(const Update& update);

/// Whether a fused operation updates parameters.
bool has_fused_update(const Trace& trace);

/// In the order of time. Errors: InputError at `path` for a step without them, and for updates that
/// are none of SGD, Adam and AdamW by lists or whose parameters are not known.
std::vector<Update> find_updates(const Step& step, const OpNesting& nesting, std::string_view path);

}  // namespace tandem
