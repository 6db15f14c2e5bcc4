// Fused attention in another precision: another backend with other helpers and another layout.
#include <map>

#include "models/whatif/precision/layout.h"
#include "models/whatif/precision/rewrite.h"

namespace tandem {
namespace {

bool is_attention(OpKind kind) {
  return kind == OpKind::attention || kind == OpKind::attention_backward;
}

// Per name of an operation: whether it is attention.
std::vector<bool> attention_names(const Trace& trace) {
  std::vector<bool> seen(trace.strings.size(), false), out(trace.strings.size(), false);
  for (const StringId name : trace.ops.name) {
    if (seen[name.index()]) continue;
    seen[name.index()] = true;
    out[name.index()] = is_attention(op_row(text_of(trace, name)).kind);
  }
  return out;
}

}  // namespace

/// Attention runs helpers of its own; all its kernels together become those of another backend.
void PrecisionRewrite::attention_groups() {
  struct Group {
    std::uint32_t op = no_row;  // of kind attention
    std::vector<std::uint32_t> works;
  };
  const HostOps& rows = edit_.step().trace.ops;
  const std::vector<bool> attends = attention_names(edit_.step().trace);
  std::map<std::uint32_t, Group> groups;  // by outermost attention operation
  for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
    std::uint32_t root = no_row;
    for (std::uint32_t r = flow_.ops[i].op; r != no_row; r = flow_.nesting.parent[r]) {
      if (attends[rows.name[r].index()]) root = r;
    }
    if (root == no_row) continue;
    Group& group = groups[root];
    const auto works = flow_.works_of(flow_.ops[i]);
    group.works.insert(group.works.end(), works.begin(), works.end());
    if (is_attention(flow_.ops[i].kind)) group.op = i;
  }
  for (const auto& [root, group] : groups) {
    if (group.op == no_row) continue;  // made of products and softmax
    for (const std::uint32_t w : group.works) in_attention_[flow_.op_of_work[w]] = true;
    if (change_.old_ops[group.op] == change_.ops[group.op]) continue;
    attention(group.works, group.op);
    if (is_half(change_.ops[group.op]) && !is_half(change_.old_ops[group.op]))
      drop_mending(group.op);
    report_.kernels_retyped += static_cast<std::uint32_t>(group.works.size());
  }
}

void PrecisionRewrite::drop_mending(std::uint32_t attention) {
  for (const std::uint32_t i : mending_copies(edit_.step().trace, flow_, attention)) {
    in_attention_[i] = true;
    for (const std::uint32_t w : flow_.works_of(flow_.ops[i])) drop_copy(w);
  }
}

void PrecisionRewrite::attention(const std::vector<std::uint32_t>& works, std::uint32_t index) {
  const FlowOp& op = flow_.ops[index];
  const DataType from = change_.old_ops[index], to = change_.ops[index];
  const std::uint32_t main = main_work(works);
  const bool backward = op.kind == OpKind::attention_backward;
  const PredictedKernel kernel =
      c_.names.kernel(backward ? LibraryUse::attention_backward : LibraryUse::attention_forward, to,
                      c_.gpu.compute_major);
  retype_operands(index, from, from);
  if (is_half(from) && is_half(to)) {
    edit_.set_kernel(main, kernel);
    return;
  }
  double before = 0;
  for (const std::uint32_t w : works) before += us(w);
  const double total = attention_us(c_, context(op.op), backward, from, to, before);
  // Backward starts with a sum over rows and ends with a conversion of the query gradients.
  const double helper = backward && is_half(to) ? 0.15 * total : 0;
  set_time(main, total - 2 * helper);
  switched_us_ += total;
  edit_.set_kernel(main, kernel);
  drop_others(works, main, false);
  if (is_half(to)) {
    // The library clears its semaphores first.
    const auto small = [&](LibraryUse use) {
      NewKernel k = new_kernel(op, main, c_.names.kernel(use), c_.law.clear_us);
      k.geometry = {};
      edit_.insert_before(main, std::move(k));
    };
    if (!backward && drops_out(op.op)) small(LibraryUse::attention_random_state);
    small(LibraryUse::attention_semaphores);
  }
  if (helper <= 0) return;
  const PredictedKernel sums = c_.names.kernel(LibraryUse::attention_row_sums);
  const PredictedKernel conversion = c_.names.kernel(LibraryUse::attention_conversion);
  edit_.insert_before(main, new_kernel(op, main, sums, helper));
  edit_.insert_after(main, new_kernel(op, main, conversion, helper));
}

bool PrecisionRewrite::drops_out(std::uint32_t row) const {
  constexpr std::size_t probability = 4;  // query, key, value, mask, dropout_p, ...
  const Trace& trace = edit_.step().trace;
  for (; row != no_row; row = flow_.nesting.parent[row]) {
    if (op_name(row) != "aten::scaled_dot_product_attention") continue;
    const Argument& dropped = operands_of(trace, row).argument(probability);
    const auto* const share = std::get_if<double>(&dropped);
    const auto* const whole = std::get_if<std::int64_t>(&dropped);
    return (share != nullptr && *share != 0) || (whole != nullptr && *whole != 0);
  }
  return false;
}

}  // namespace tandem
