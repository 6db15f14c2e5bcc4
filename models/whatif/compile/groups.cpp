#include "models/whatif/compile/groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "models/whatif/compile/host/host_lists.h"
#include "models/whatif/compile/inductor/slices.h"
#include "models/whatif/compile/inductor/windows.h"
#include "models/whatif/compile/recomputed.h"
#include "models/whatif/compile/saved.h"
#include "models/whatif/compile/together.h"

namespace tandem {
namespace {

/// Normalised channels that only gradients of activations read later are normalised again then.
bool normalised_again(const Dataflow& flow, const std::vector<FuseRole>& roles, std::uint32_t op,
                      const std::vector<std::uint32_t>& readers) {
  if (roles[op] != FuseRole::channel_norm) return false;
  bool later = false;
  for (const std::uint32_t r : readers) {
    if (flow.ops[r].phase == flow.ops[op].phase) {
      if (!fusable(roles[r])) return false;
      continue;
    }
    if (flow.ops[r].row == nullptr || !flow.ops[r].row->is(reads_operand)) return false;
    later = true;
  }
  return later;
}

/// Whether the operation looks at other places of its operand than its own, or at several.
bool looks_around(const FlowOp& op) {
  return op.row != nullptr && (op.row->output == OutputRule::padded || interpolates_images(op));
}

/// Each tensor is named once.
void add(std::vector<std::uint32_t>& list, std::uint32_t t) {
  if (std::find(list.begin(), list.end(), t) == list.end()) list.push_back(t);
}

std::int64_t largest(const Dataflow& flow, std::span<const std::uint32_t> tensors) {
  std::int64_t most = 0;
  for (const std::uint32_t t : tensors) most = std::max(most, flow.tensors[t].elements);
  return most;
}

/// Whether a sampled or interpolated image is read by who makes more elements than it has, as who
/// joins it with others does: so much code is stored before (realize_opcount_threshold).
bool stored_sample(const Dataflow& flow, const FlowOp& producer, const FlowOp& consumer) {
  return (samples_images(producer) || interpolates_images(producer)) &&
         largest(flow, flow.outputs_of(consumer)) > largest(flow, flow.outputs_of(producer));
}

/// Elements of the rows that the operation's kernel holds.
std::int64_t rows_of(const Dataflow& flow, const FlowOp& op) {
  std::int64_t rows = largest(flow, flow.outputs_of(op));
  for (const FlowUse& use : flow.inputs_of(op)) {
    rows = std::max(rows, flow.tensors[use.tensor].elements);
  }
  return rows;
}

/// Whether the probabilities of a softmax go to a product or a loss, dropout and conversions
/// aside, and backward to its own gradient: who mixes them with others needs all of them later.
bool attends(const Dataflow& flow, const FusionPlan& plan, std::uint32_t op) {
  for (const std::uint32_t t : flow.outputs_of(flow.ops[op])) {
    for (const std::uint32_t r : plan.readers[plan.same_as[t]]) {
      const FlowOp& reader = flow.ops[r];
      const bool hands_on = reader.kind == OpKind::cast || reader.kind == OpKind::dropout ||
                            reader.kind == OpKind::loss || plan.roles[r] == FuseRole::library;
      const bool later = reader.phase != flow.ops[op].phase;
      if (later ? reader.sequence != flow.ops[op].sequence : !hands_on) return false;
    }
  }
  return true;
}

/// Which operations run in one kernel.
struct Planner {
  const Dataflow& flow;
  const GraphCuts& cuts;
  FusionPlan out;
  std::vector<std::uint32_t> level;  // per operation
  Together together;
  std::vector<bool> reads_many;         // per operation: computed in its kernel of many tensors
  std::vector<std::int64_t> held;       // per operation: elements of its kernel's rows, 0: none
  std::vector<std::uint32_t> group_of;  // per operation: its own group, or no_row

  Planner(const Dataflow& f, const GraphCuts& c) : flow(f), cuts(c) {}

  std::uint32_t tensor(const FlowUse& use) const { return out.same_as[use.tensor]; }

  /// Copies of one tensor to one type are made once; copies of a sum are written by the sum.
  void drop_copies() {
    std::map<std::tuple<std::uint32_t, DataType, FlowPhase, std::uint32_t>, std::uint32_t> made;
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      const FlowOp& op = flow.ops[i];
      if (op.kind != OpKind::cast || out.roles[i] != FuseRole::pointwise) continue;
      if (op.input_count != 1 || op.output_count != 1) continue;
      const std::uint32_t from = tensor(flow.inputs_of(op)[0]), to = flow.outputs_of(op)[0];
      const std::uint32_t producer = flow.tensors[from].producer;
      if (producer == no_row) continue;
      if (out.roles[producer] == FuseRole::column_sum) {
        out.roles[i] = FuseRole::vanishes;
        out.same_as[to] = from;
        continue;
      }
      const auto [it, first] =
          made.try_emplace({from, flow.tensors[to].type, op.phase, cuts.graph_of[i]}, to);
      if (first) continue;
      out.roles[i] = FuseRole::vanishes;
      out.same_as[to] = it->second;
    }
  }

  void find_readers() {
    TensorReaders& readers = out.readers;
    readers.assign(flow.tensors.size(), {});
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      if (out.roles[i] == FuseRole::vanishes) continue;
      for (const FlowUse& use : flow.inputs_of(flow.ops[i])) {
        auto& list = readers[tensor(use)];
        if (list.empty() || list.back() != i) list.push_back(i);
      }
    }
  }

  /// Library kernels separate levels; what has the same level can run in one kernel. An operand of
  /// a concatenation whose maker is not known may have been made as late as anything before it.
  void find_levels() {
    level.assign(flow.ops.size(), 0);
    std::uint32_t latest = 0;
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      const FlowOp& op = flow.ops[i];
      for (const FlowUse& use : flow.inputs_of(op)) {
        const std::uint32_t producer = flow.tensors[tensor(use)].producer;
        if (producer != no_row) level[i] = std::max(level[i], level[producer]);
        if (producer == no_row && concatenates(op)) level[i] = std::max(level[i], latest);
      }
      if (!fusable(out.roles[i])) ++level[i];
      latest = std::max(latest, level[i]);
    }
  }

  /// Whether the consumer makes more than all the rows that the producer's kernel holds, as who
  /// multiplies images by gates does: a kernel's loops are those of its rows. Who adds rows to a
  /// table walks over the rows.
  bool spreads_rows(std::uint32_t producer, std::uint32_t consumer) const {
    if (held[producer] == 0 || flow.ops[consumer].kind == OpKind::scatter) return false;
    return largest(flow, flow.outputs_of(flow.ops[consumer])) > held[producer];
  }

  /// Whether anything else needs what the operations of `first` make before `consumer` runs: a
  /// library's kernel, whose result is a level of its own, needs its operands before that.
  bool is_due(std::uint32_t first, std::uint32_t consumer) {
    for (const std::uint32_t op : together.with(first)) {
      for (const std::uint32_t t : flow.outputs_of(flow.ops[op])) {
        for (const std::uint32_t r : out.readers[out.same_as[t]]) {
          const std::uint32_t by = fusable(out.roles[r]) ? level[r] : level[r] - 1;
          if (by < level[consumer] && together.first_of(r) != first) return true;
        }
      }
    }
    return false;
  }

  void join(std::uint32_t consumer, const FlowUse& use) {
    const std::uint32_t t = tensor(use);
    const std::uint32_t producer = flow.tensors[t].producer;
    if (producer == no_row || flow.tensors[t].elements <= 1) return;
    const FuseRole from = out.roles[producer];
    if (!fusable(from) || from == FuseRole::column_sum) return;
    // What is added up is complete after all blocks.
    if (flow.ops[producer].kind == OpKind::scatter || from == FuseRole::spread) return;
    if (flow.ops[producer].phase != flow.ops[consumer].phase) return;
    if (cuts.graph_of[producer] != cuts.graph_of[consumer]) return;
    // Statistics need all of their operand first.
    if (out.roles[consumer] == FuseRole::channel_norm && use.argument == 0) return;
    // What one reader alone waits for runs as late as that reader does.
    const bool waits = level[producer] != level[consumer];
    if (waits && (out.readers[t].size() > 1 || is_due(together.first_of(producer), consumer)))
      return;
    if (spreads_rows(producer, consumer)) return;
    // What reads more than four tensors is stored where its reader looks at other places than its
    // own (realize_reads_threshold): a norm before an image is padded, one that is interpolated
    // before the next.
    if (looks_around(flow.ops[consumer]) && reads_many[producer]) return;
    if (stored_sample(flow, flow.ops[producer], flow.ops[consumer])) return;
    together.join(producer, consumer);
    reads_many[consumer] = reads_many[consumer] || reads_many[producer];
    held[consumer] = std::max(held[consumer], held[producer]);
  }

  void join_all() {
    together = Together(flow.ops.size());
    reads_many.assign(flow.ops.size(), false);
    held.assign(flow.ops.size(), 0);
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      if (!fusable(out.roles[i])) continue;
      reads_many[i] = flow.ops[i].kind == OpKind::batch_norm || interpolates_images(flow.ops[i]);
      if (out.roles[i] == FuseRole::row) held[i] = rows_of(flow, flow.ops[i]);
      for (const FlowUse& use : flow.inputs_of(flow.ops[i])) join(i, use);
    }
  }

  void collect_groups() {
    group_of.assign(flow.ops.size(), no_row);
    std::vector<std::uint32_t> led(flow.ops.size(), no_row);
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      if (!fusable(out.roles[i]) && !stands_alone(out.roles[i])) continue;
      std::uint32_t& group = led[together.first_of(i)];
      if (group == no_row) {
        group = static_cast<std::uint32_t>(out.groups.size());
        out.groups.push_back({});
        out.groups.back().phase = flow.ops[i].phase;
      }
      group_of[i] = group;
      out.groups[group].ops.push_back(i);
    }
  }
};

/// What the groups of a plan compute again, read and write.
struct GroupOperands {
  const Trace& trace;
  const Dataflow& flow;
  const GraphCuts& cuts;
  FusionPlan& out;
  const TensorReaders& readers;
  const std::vector<std::uint32_t>& group_of;  // per operation: its own group, or no_row
  const std::vector<bool>& attends_rows;       // per operation
  const std::vector<bool>& sums_rows;          // per operation
  /// Per tensor: by a group that does not make it; gradients of norms aside.
  std::vector<bool> read_elsewhere;

  std::uint32_t tensor(const FlowUse& use) const { return out.same_as[use.tensor]; }

  void find_all() {
    compute_again();
    read_elsewhere.assign(flow.tensors.size(), false);
    for (FusionGroup& group : out.groups) find_reads(group);
    for (FusionGroup& group : out.groups) find_writes(group);
    std::erase_if(out.groups, [&](const FusionGroup& group) { return only_repeated(group); });
  }

  /// What nobody stores is computed by each group that reads it.
  void compute_again() {
    const std::vector<bool> later =
        computed_later(flow, out.roles, out.same_as, readers, attends_rows);
    const std::vector<bool> again = recomputed(flow, out.roles, out.same_as, readers, later);
    for (FusionGroup& group : out.groups) {
      std::vector<std::uint32_t> open = group.ops;
      while (!open.empty()) {
        const FlowOp& op = flow.ops[open.back()];
        open.pop_back();
        for (const FlowUse& use : flow.inputs_of(op)) {
          const std::uint32_t t = tensor(use), producer = flow.tensors[t].producer;
          if (producer == no_row) continue;
          if (cuts.graph_of[producer] != cuts.graph_of[group.ops.front()]) continue;
          const bool same_phase = flow.ops[producer].phase == group.phase;
          if (!(same_phase ? again[t] : later[t] && group.phase == FlowPhase::backward)) continue;
          const auto at = std::lower_bound(group.ops.begin(), group.ops.end(), producer);
          if (at != group.ops.end() && *at == producer) continue;
          group.ops.insert(at, producer);
          open.push_back(producer);
        }
      }
    }
  }

  /// All that the group would compute is computed by those who read it.
  bool only_repeated(const FusionGroup& group) const {
    return group.writes.empty() && std::all_of(group.ops.begin(), group.ops.end(), [&](auto i) {
             return repeatable(flow.ops[i], out.roles[i]);
           });
  }

  bool inside(const FusionGroup& group, std::uint32_t op) const {
    return std::binary_search(group.ops.begin(), group.ops.end(), op);
  }

  /// Whether a group that holds the gradient of a norm of rows has what the norm made of them: it
  /// normalises them again.
  bool normalises_again(const FusionGroup& group, std::uint32_t maker) const {
    const FlowOp& norm = flow.ops[maker];
    if (norm.kind != OpKind::row_norm || out.roles[maker] != FuseRole::row) return false;
    if (norm.sequence < 0 || group.phase != FlowPhase::backward) return false;
    return std::any_of(group.ops.begin(), group.ops.end(), [&](std::uint32_t i) {
      return flow.ops[i].kind == OpKind::row_norm_backward && flow.ops[i].sequence == norm.sequence;
    });
  }

  /// Whether an operation reads what the group makes of its operands: it is neither part of the
  /// group nor of one that computes them again.
  bool takes_from(const FusionGroup& group, std::uint32_t reader, std::uint32_t maker) const {
    if (inside(group, reader)) return false;
    const std::uint32_t own = group_of[reader];
    if (own == no_row) return true;
    return !inside(out.groups[own], maker) && !normalises_again(out.groups[own], maker);
  }

  /// A norm keeps its normalised rows for the backward pass in place of its operand.
  bool kept_as_result(const FusionGroup& group, std::uint32_t maker, std::uint32_t t) const {
    bool normalised = false;
    for (const std::uint32_t r : readers[t]) {
      const OpKind kind = flow.ops[r].kind;
      if (inside(group, r)) {
        normalised |= kind == OpKind::row_norm;
      } else if (kind != OpKind::row_norm_backward && takes_from(group, r, maker)) {
        return false;
      }
    }
    return normalised;
  }

  void find_reads(FusionGroup& group) {
    for (const std::uint32_t i : group.ops) {
      const FlowOp& op = flow.ops[i];
      for (const FlowUse& use : flow.inputs_of(op)) {
        const std::uint32_t t = tensor(use), producer = flow.tensors[t].producer;
        if (op.kind == OpKind::gather && use.argument == 0) continue;  // rows, not the table
        if (op.kind == OpKind::scatter && use.argument == 0 && flow.tensors[t].state) continue;
        if (unread_by_windows(op, use)) continue;
        if (producer != no_row && inside(group, producer)) continue;
        const bool of_norm = op.kind == OpKind::row_norm_backward;  // its statistics, its rows
        if (!of_norm && producer != no_row && normalises_again(group, producer)) continue;
        add(group.reads, t);
        if (!of_norm) read_elsewhere[t] = true;
      }
    }
    for (const std::uint32_t t : group.reads) {
      group.read_elements.push_back(
          read_elements(trace, flow, {group.ops, out.same_as, sums_rows}, t));
    }
  }

  void find_writes(FusionGroup& group) {
    for (const std::uint32_t i : group.ops) {
      if (flow.ops[i].kind == OpKind::scatter) continue;  // rows, not the table
      if (&out.groups[group_of[i]] != &group) continue;   // computed again, stored by its own
      for (const std::uint32_t t : flow.outputs_of(flow.ops[i])) {
        if (out.same_as[t] != t) continue;
        const auto& list = readers[t];
        if (normalised_again(flow, out.roles, i, list)) continue;
        const bool leaves =
            list.empty() || read_elsewhere[t] ||
            std::any_of(list.begin(), list.end(), [&](auto r) { return takes_from(group, r, i); });
        const bool as_result = leaves && !read_elsewhere[t] && kept_as_result(group, i, t);
        if (leaves && !as_result) add(group.writes, t);
        if (!as_result) continue;
        for (const std::uint32_t r : list) {
          if (inside(group, r) && flow.ops[r].kind == OpKind::row_norm) {
            add(group.writes, flow.outputs_of(flow.ops[r])[0]);
          }
        }
      }
    }
  }
};

}  // namespace

FusionPlan plan_fusion(const Step& step, const Dataflow& flow, const GraphCuts& cuts,
                       bool whole_step) {
  Planner plan(flow, cuts);
  plan.out.host_lists.assign(step.trace.ops.size(), false);
  if (!whole_step) plan.out.host_lists = host_lists(step, flow);
  plan.out.roles = fuse_roles(step, flow, cuts, plan.out.host_lists, whole_step);
  drop_unread_weights(step, flow, plan.out.roles);
  // A compiler that is given the whole step is XLA, which has no such pattern.
  if (!whole_step) plan.out.attention = take_written_attention(step, flow, plan.out.roles);
  plan.out.same_as.assign(flow.tensors.size(), 0);
  std::iota(plan.out.same_as.begin(), plan.out.same_as.end(), 0U);
  plan.drop_copies();
  plan.find_readers();
  plan.find_levels();
  plan.join_all();
  plan.collect_groups();
  std::vector<bool> attends_rows(flow.ops.size()), sums_rows(flow.ops.size());
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    sums_rows[i] = plan.out.roles[i] == FuseRole::row;
    attends_rows[i] =
        sums_rows[i] && is_row_softmax(step, flow.ops[i]) && attends(flow, plan.out, i);
  }
  GroupOperands{step.trace,    flow,         cuts,      plan.out, plan.out.readers,
                plan.group_of, attends_rows, sums_rows, {}}
      .find_all();
  return std::move(plan.out);
}

}  // namespace tandem
