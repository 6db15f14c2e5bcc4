#include "models/whatif/precision/attention.h"

#include <map>

#include "models/whatif/precision/layout.h"

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

void drop_mending(TypedStep& s, std::uint32_t attention, std::vector<bool>& handled) {
  for (const std::uint32_t i : mending_copies(s.edit.step().trace, s.flow, attention)) {
    handled[i] = true;
    for (const std::uint32_t w : s.flow.works_of(s.flow.ops[i])) s.drop_copy(w);
  }
}

void retype_group(TypedStep& s, const std::vector<std::uint32_t>& works, std::uint32_t index) {
  const FlowOp& op = s.flow.ops[index];
  const DataType from = s.change.old_ops[index], to = s.change.ops[index];
  const std::uint32_t main = s.main_work(works);
  const bool backward = op.kind == OpKind::attention_backward;
  const PredictedKernel kernel =
      s.c.names.kernel(backward ? LibraryUse::attention_backward : LibraryUse::attention_forward,
                       to, s.c.gpu.compute_major);
  s.retype_operands(index, from, from);
  if (is_half(from) && is_half(to)) {
    s.edit.set_kernel(main, kernel);
    return;
  }
  double before = 0;
  for (const std::uint32_t w : works) before += s.us(w);
  const OpContext context = s.context(op.op);
  const RetypedAttention times = retyped_attention(s.c, context, backward, from, to, before);
  s.set_time(main, times.main_us);
  s.switched_us += times.main_us + times.sums_us + times.conversion_us;
  s.edit.set_kernel(main, kernel);
  s.drop_others(works, main, false);
  if (is_half(to)) {
    // The library clears its semaphores first.
    const auto small = [&](LibraryUse use) {
      NewKernel k = s.new_kernel(op, main, s.c.names.kernel(use), s.c.law.clear_us);
      k.geometry = {};
      s.edit.insert_before(main, std::move(k));
    };
    const auto shape = attention_shape(context);
    if (!backward && shape && shape->drops_out) small(LibraryUse::attention_random_state);
    small(LibraryUse::attention_semaphores);
  }
  if (times.sums_us <= 0) return;
  const PredictedKernel sums = s.c.names.kernel(LibraryUse::attention_row_sums);
  const PredictedKernel conversion = s.c.names.kernel(LibraryUse::attention_conversion);
  s.edit.insert_before(main, s.new_kernel(op, main, sums, times.sums_us));
  s.edit.insert_after(main, s.new_kernel(op, main, conversion, times.conversion_us));
}

}  // namespace

std::vector<bool> retype_attention(TypedStep& s) {
  std::vector<bool> handled(s.flow.ops.size(), false);
  struct Group {
    std::uint32_t op = no_row;  // of kind attention
    std::vector<std::uint32_t> works;
  };
  const HostOps& rows = s.edit.step().trace.ops;
  const std::vector<bool> attends = attention_names(s.edit.step().trace);
  std::map<std::uint32_t, Group> groups;  // by outermost attention operation
  for (std::uint32_t i = 0; i < s.flow.ops.size(); ++i) {
    std::uint32_t root = no_row;
    for (std::uint32_t r = s.flow.ops[i].op; r != no_row; r = s.flow.nesting.parent[r]) {
      if (attends[rows.name[r].index()]) root = r;
    }
    if (root == no_row) continue;
    Group& group = groups[root];
    const auto works = s.flow.works_of(s.flow.ops[i]);
    group.works.insert(group.works.end(), works.begin(), works.end());
    if (is_attention(s.flow.ops[i].kind)) group.op = i;
  }
  for (const auto& [root, group] : groups) {
    if (group.op == no_row) continue;  // made of products and softmax
    for (const std::uint32_t w : group.works) handled[s.flow.op_of_work[w]] = true;
    if (s.change.old_ops[group.op] == s.change.ops[group.op]) continue;
    retype_group(s, group.works, group.op);
    if (is_half(s.change.ops[group.op]) && !is_half(s.change.old_ops[group.op]))
      drop_mending(s, group.op, handled);
    s.report.kernels_retyped += static_cast<std::uint32_t>(group.works.size());
  }
  return handled;
}

}  // namespace tandem
