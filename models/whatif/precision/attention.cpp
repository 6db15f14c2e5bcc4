#include "models/whatif/precision/attention.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "models/kernel/launch_rules.h"
#include "models/kernel/time/attention.h"
#include "models/step/attention_calls.h"
#include "models/whatif/edit/math_attention.h"
#include "models/whatif/precision/layout.h"

namespace tandem {
namespace {

bool is_attention(OpKind kind) {
  return kind == OpKind::attention || kind == OpKind::attention_backward;
}

// Per name of an operation: whether it is attention; not what holds whole layers, products and all.
std::vector<bool> attention_names(const Trace& trace) {
  std::vector<bool> seen(trace.strings.size(), false), out(trace.strings.size(), false);
  for (const StringId name : trace.ops.name) {
    if (seen[name.index()]) continue;
    seen[name.index()] = true;
    const OpRow& row = op_row(text_of(trace, name));
    out[name.index()] = is_attention(row.kind) && !row.is(fast_path);
  }
  return out;
}

void drop_mending(TypedStep& s, std::uint32_t attention, std::vector<bool>& handled) {
  for (const std::uint32_t i : mending_copies(s.edit.step().trace, s.flow, attention)) {
    handled[i] = true;
    for (const std::uint32_t w : s.flow.works_of(s.flow.ops[i])) s.drop_copy(w);
  }
}

void copy_turned_result(TypedStep& s, const std::vector<std::uint32_t>& works,
                        std::uint32_t index) {
  const FlowOp& op = s.flow.ops[index];
  const std::int64_t elements = turned_result(s.edit.step().trace, s.flow, index);
  if (elements == 0) return;
  const double us = turned_us(s.c, double(elements), s.c.law.turned_lane_cycles);
  NewKernel copy = s.new_kernel(
      op, s.main_work(works), s.c.names.kernel(LibraryUse::ordered_copy, s.change.ops[index]), us);
  copy.op.clear();
  copy.geometry = pointwise_geometry(double(elements));
  s.edit.insert_after(works.back(), std::move(copy));
}

/// In 16 bits a mask that gets a gradient leaves attention to the memory-efficient kernels, which
/// the framework has for all generations of GPUs. What stands beside them pads the mask and clears
/// gradients; the row sums of FP32 are the kernel's own.
void keep_efficient(TypedStep& s, const std::vector<std::uint32_t>& works, std::uint32_t index) {
  constexpr int all_generations = 7;
  const FlowOp& op = s.flow.ops[index];
  const DataType from = s.change.old_ops[index], to = s.change.ops[index];
  const std::uint32_t main = s.main_work(works);
  const bool backward = op.kind == OpKind::attention_backward;
  s.retype_operands(index, from, from);
  const LibraryUse use = backward ? LibraryUse::attention_backward : LibraryUse::attention_forward;
  s.edit.set_kernel(main, s.c.names.kernel(use, to, all_generations));
  auto shape = attention_shape(s.context(op.op));
  if (!shape || is_half(from)) return;
  shape->learned_mask = true;
  s.set_time(main, attention_us(s.c.gpu, s.c.time, *shape, to, backward));
  s.switched_us += s.us(main);
  for (std::size_t i = 0; backward && i + 2 < works.size(); ++i) {
    if (works[i + 1] != main) s.edit.drop(works[i], true);
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
  // Attention is one operation, whatever it launches.
  const auto beside = [&](PredictedKernel k, double us) {
    NewKernel added = s.new_kernel(op, main, std::move(k), us);
    added.op.clear();
    return added;
  };
  double before = 0;
  for (const std::uint32_t w : works) before += s.us(w);
  const OpContext context = s.context(op.op);
  // Before the edit takes new names in: the context's is a view of the trace's strings.
  const auto shape = attention_shape(context);
  const RetypedAttention times = retyped_attention(s.c, context, backward, from, to, before);
  s.set_time(main, times.main_us);
  s.switched_us += times.main_us + times.sums_us + times.conversion_us;
  s.edit.set_kernel(main, kernel);
  s.drop_others(works, main, false);
  // In FP32 a block does not loop over tiles as those of 16 bits do.
  if (!is_half(to) && shape) s.edit.set_geometry(main, attention_geometry(*shape));
  if (is_half(to)) {
    // The library clears its semaphores first.
    const auto small = [&](LibraryUse use) {
      NewKernel k = beside(s.c.names.kernel(use), s.c.law.clear_us);
      k.geometry = {};
      s.edit.insert_before(main, std::move(k));
    };
    if (!backward && shape && shape->drops_out) small(LibraryUse::attention_random_state);
    small(LibraryUse::attention_semaphores);
  }
  if (times.sums_us <= 0) return;
  const PredictedKernel sums = s.c.names.kernel(LibraryUse::attention_row_sums);
  const PredictedKernel conversion = s.c.names.kernel(LibraryUse::attention_conversion);
  s.edit.insert_before(main, beside(sums, times.sums_us));
  s.edit.insert_after(main, beside(conversion, times.conversion_us));
}

/// Queries of an operation whose heads share keys; null for others.
const TensorShape* queries_of_shared_keys(const TypedStep& s, const FlowOp& op) {
  const OpTensors& operands = s.tensors(op.op);
  const TensorShape* query = operands.at(op.row->arguments.at(ArgumentName::query));
  const TensorShape* key = operands.at(op.row->arguments.at(ArgumentName::key));
  if (query == nullptr || key == nullptr || query->rank != 4 || key->rank != 4) return nullptr;
  const std::size_t heads = op.row->is(length_first) ? 2 : 1;
  const std::int64_t keys = key->dims[heads];
  return 0 < keys && keys < query->dims[heads] ? query : nullptr;
}

/// Fused attention of heads that share keys has no kernel in FP32: products take its place.
bool to_products(TypedStep& s, const std::vector<std::uint32_t>& works, const FlowOp& op) {
  const auto shape = attention_shape_of(s.edit.step().trace, op);
  const TensorShape* const query = queries_of_shared_keys(s, op);
  if (!shape || shape->heads <= 0 || query == nullptr) return false;
  const MathConstants constants{s.c.gpu, s.c.time, s.c.names, s.c.law.floor_us};
  const MathAttention math{*shape, query->dims[0], DataType::fp32};
  auto kernels = math_attention(constants, math, op.kind == OpKind::attention_backward);
  double total = 0;
  for (const std::uint32_t w : works) s.edit.drop(w, w != works.front());
  for (NewKernel& k : kernels) {
    k.host_us = s.host.us(s.c.law.scalar_host_ratio);
    total += k.duration_us;
    s.edit.insert_after(works.front(), std::move(k));
  }
  s.switched_us += total;
  add_switch(s.report.switches, "fused attention", "attention by products", total);
  return true;
}

/// One pass of attention by products that a fused kernel takes the place of.
class FusedPass {
 public:
  FusedPass(TypedStep& s, std::uint32_t call, DataType half, bool backward)
      : s_(s), half_(half), backward_(backward), operands_(operands_of(s.edit.step().trace, call)) {
    for (TensorShape& shape : operands_.tensors.shapes) shape.type = half;
    name_ = s.op_name(call);
    causal_ = operands_.argument(op_row(name_).arguments.at(ArgumentName::causal));
    dropout_ = operands_.argument(op_row(name_).arguments.at(ArgumentName::dropout));
    if (backward) turn_back();
  }

  /// `ops`: the operations of the pass (Dataflow::ops), at least one.
  void replace(const std::vector<std::uint32_t>& ops) {
    const std::uint32_t first = s_.flow.works_of(s_.flow.ops[ops.front()]).front();
    double before = 0;
    for (const std::uint32_t i : ops) {
      for (const std::uint32_t w : s_.flow.works_of(s_.flow.ops[i])) {
        before += s_.us(w);
        s_.edit.drop(w, w != first);
      }
    }
    const OpContext context{name_, operands_.tensors, operands_.arguments, none_};
    const RetypedAttention times =
        retyped_attention(s_.c, context, backward_, DataType::fp32, half_, before);
    add(first, LibraryUse::attention_semaphores, s_.c.law.clear_us);
    if (backward_) add(first, LibraryUse::attention_row_sums, times.sums_us);
    add_main(first, times.main_us);
    if (backward_) {
      add(first, LibraryUse::attention_conversion, times.conversion_us);
      const double sums = streamed_us(s_.c.gpu, s_.c.law.attention_helper, shared_bytes());
      for (int of = 0; of < 2; ++of) add(first, LibraryUse::attention_head_sums, sums);
    }
    s_.switched_us += times.main_us + times.sums_us + times.conversion_us;
    add_switch(s_.report.switches, "attention by products", "fused attention", times.main_us);
    s_.report.kernels_retyped += static_cast<std::uint32_t>(ops.size());
  }

 private:
  const TensorShape& query() const { return *operands_.tensors.at(backward_ ? 1 : 0); }
  const TensorShape& key() const { return *operands_.tensors.at(backward_ ? 2 : 1); }

  /// Gradients of keys (or values) come out a query's head each and are added up.
  double shared_bytes() const {
    const double one = static_cast<double>(key().elements()) * element_bytes(half_);
    return one * (1 + static_cast<double>(query().dims[1]) / static_cast<double>(key().dims[1]));
  }

  void turn_back() {
    name_ = "aten::_scaled_dot_product_flash_attention_backward";
    const OpArguments& places = op_row(name_).arguments;
    const OpTensors forward = std::exchange(operands_.tensors, {});
    const TensorShape& query = *forward.at(0);
    operands_.tensors.add(0, query);  // the gradient of the result
    for (std::uint8_t at = 0; at < 3; ++at) operands_.tensors.add(at + 1, *forward.at(at));
    operands_.tensors.add(4, query);  // the result
    operands_.arguments.assign(places.at(ArgumentName::causal) + std::size_t{1}, {});
    operands_.arguments[places.at(ArgumentName::causal)] = causal_;
    operands_.arguments[places.at(ArgumentName::dropout)] = dropout_;
    operands_.argument_count = static_cast<std::uint16_t>(operands_.arguments.size());
  }

  void add(std::uint32_t at, LibraryUse use, double us) {
    s_.edit.insert_after(at, s_.new_kernel(name_, operands_, s_.c.names.kernel(use), us));
  }

  void add_main(std::uint32_t at, double us) {
    constexpr std::int64_t rows = 64;  // of queries (backward: keys) that a block keeps
    const LibraryUse use =
        backward_ ? LibraryUse::attention_backward : LibraryUse::attention_forward;
    NewKernel k =
        s_.new_kernel(name_, operands_, s_.c.names.kernel(use, half_, s_.c.gpu.compute_major), us);
    k.operands.arguments = operands_.arguments;
    const std::int64_t length = (backward_ ? key() : query()).dims[2];
    const auto blocks = [](std::int64_t n) {  // CUDA's largest grid bounds what shapes may claim
      return static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 1, 65535));
    };
    k.geometry.grid = {blocks((length + rows - 1) / rows), blocks(query().dims[1]),
                       blocks(query().dims[0])};
    k.geometry.block = {128, 1, 1};
    k.geometry.registers_per_thread = 168;
    s_.edit.insert_after(at, std::move(k));
  }

  TypedStep& s_;
  DataType half_;
  bool backward_;
  Operands operands_;
  std::string name_;
  Argument causal_, dropout_;
  LaunchGeometry none_;
};

/// Operations of the backward pass by the number of their autograd node.
using BySequence = std::vector<std::pair<std::int64_t, std::uint32_t>>;
BySequence backward_by_sequence(const Dataflow& flow) {
  BySequence out;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (runs_backward(op) && op.work_count > 0 && op.sequence >= 0) {
      out.emplace_back(op.sequence, i);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Backward operations belong to those forward ones whose autograd nodes they are.
void fuse_products(TypedStep& s, const FusedAttention& fused, const BySequence& by_sequence,
                   std::vector<bool>& handled) {
  const DataType half = s.change.ops[fused.first];
  const std::int64_t low = s.flow.ops[fused.first].sequence, high = s.flow.ops[fused.last].sequence;
  std::vector<std::uint32_t> forward, backward;
  for (std::uint32_t i = fused.first; i <= fused.last; ++i) {
    const FlowOp& op = s.flow.ops[i];
    if (runs_forward(op) && op.work_count > 0) forward.push_back(i);
  }
  auto at = std::lower_bound(by_sequence.begin(), by_sequence.end(),
                             std::pair(std::max<std::int64_t>(low, 0), std::uint32_t{0}));
  for (; low >= 0 && at != by_sequence.end() && at->first <= high; ++at) {
    if (!handled[at->second]) backward.push_back(at->second);
  }
  std::sort(backward.begin(), backward.end());
  for (const auto* pass : {&forward, &backward}) {
    for (const std::uint32_t i : *pass) handled[i] = true;
    if (!pass->empty()) FusedPass(s, fused.call, half, pass == &backward).replace(*pass);
  }
}

}  // namespace

std::vector<bool> retype_attention(TypedStep& s) {
  std::vector<bool> handled(s.flow.ops.size(), false);
  const BySequence by_sequence =
      s.change.fused.empty() ? BySequence{} : backward_by_sequence(s.flow);
  for (const FusedAttention& fused : s.change.fused) fuse_products(s, fused, by_sequence, handled);
  struct Group {
    std::uint32_t op = no_row;  // of kind attention
    std::vector<std::uint32_t> works;
  };
  const HostOps& rows = s.edit.step().trace.ops;
  const std::vector<bool> learned = learned_masks(s.edit.step().trace, s.flow);
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
    s.report.kernels_retyped += static_cast<std::uint32_t>(group.works.size());
    const bool widens = s.change.ops[group.op] == DataType::fp32;
    if (widens && to_products(s, group.works, s.flow.ops[group.op])) continue;
    if (!widens && learned[group.op]) {
      keep_efficient(s, group.works, group.op);
      continue;
    }
    retype_group(s, group.works, group.op);
    if (is_half(s.change.ops[group.op]) && !is_half(s.change.old_ops[group.op])) {
      drop_mending(s, group.op, handled);
      copy_turned_result(s, group.works, group.op);
    }
  }
  return handled;
}

}  // namespace tandem
