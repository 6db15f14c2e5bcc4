#include "models/whatif/edit/rearranged.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "models/step/op_nesting.h"
#include "sim/core/error.h"

namespace tandem {

namespace {

using RowNumbers = std::vector<std::uint32_t>;

/// Rows of a table by begin.
template <class Table>
RowNumbers by_begin(const Table& table) {
  RowNumbers rows(table.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return table.begin[a] < table.begin[b];
  });
  return rows;
}

/// Those of a part, in the order of the table.
template <class Table>
RowNumbers rows_of_part(const Table& table, const RowNumbers& sorted, const HostPart& part) {
  const auto before = [&](TimePoint at) {
    return std::partition_point(sorted.begin(), sorted.end(),
                                [&](std::uint32_t row) { return table.begin[row] < at; });
  };
  RowNumbers out(before(part.from), before(part.until));
  if (part.of) {
    std::erase_if(out, [&](std::uint32_t row) { return table.thread[row] != *part.of; });
  }
  std::sort(out.begin(), out.end());
  return out;
}

template <class Table>
void append_row(const Table& from, std::uint32_t row, Table& to) {
  each_column([&](const auto& source, auto& target) { target.push_back(source[row]); }, from, to);
}

/// Numbers that no row has yet.
struct FreshNumbers {
  std::int64_t correlation = 0, external_id = 0, sequence = 0;
  std::int64_t added_id = first_added_id;  // of rows that what-ifs have added, downwards
  std::uint32_t storage = 0;               // of memory; 0: the step does not tell

  explicit FreshNumbers(const Trace& trace) {
    for (const std::int64_t c : trace.calls.correlation.span()) see(c, correlation);
    for (const std::int64_t c : trace.activities.correlation.span()) see(c, correlation);
    for (const std::int64_t s : trace.ops.sequence.span()) see(s, sequence);
    for (const auto* column : {&trace.ops.external_id, &trace.calls.external_id}) {
      for (const std::int64_t id : column->span()) {
        see(id, external_id);
        if (is_added(id)) added_id = std::min(added_id, id - 1);
      }
    }
    for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
      const Operands& of = operands_of(trace, op);
      for (const auto* list : {&of.tensors.shapes, &of.made, &of.dropped}) {
        for (const TensorShape& shape : *list) {
          if (shape.memory.known()) storage = std::max(storage, shape.memory.storage + 1);
        }
      }
    }
  }

 private:
  static void see(std::int64_t used, std::int64_t& next) { next = std::max(next, used + 1); }
};

/// What the ids of the rows of one copy become.
struct CopyNumbers {
  std::unordered_map<std::int64_t, std::int64_t> external;
  std::int64_t sequence_shift = 0;
};

/// The longest time from the begin of a call to the end of what it launched.
Duration longest_lag(const Step& step) {
  Duration longest = microseconds(1);
  const Trace& trace = step.trace;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = step.links.call_of_activity[a];
    if (call == no_row) continue;
    longest = std::max(longest, end_of(trace.activities, a) - trace.calls.begin[call]);
  }
  return longest;
}

class Rearrangement {
 public:
  Rearrangement(const Step& step, std::span<const HostPart> parts)
      : old_(step), parts_(parts), fresh_(step.trace) {}

  Rearranged make() {
    begin_trace();
    shift_parts();
    copy_ops();
    each_part([&](std::uint32_t p) { copy_items(p); });
    resolve();
    out_.step.links = link_trace(out_.step.trace);
    return std::move(out_);
  }

 private:
  template <class Visit>
  void each_part(Visit visit) {
    for (std::uint32_t p = 0; p < parts_.size(); ++p) visit(p);
  }
  const HostPart& part(std::uint32_t p) const { return parts_[p]; }

  void begin_trace();
  void shift_parts();
  void copy_ops();
  void number_sequences(const std::vector<RowNumbers>& rows);
  void copy_op(std::uint32_t p, std::uint32_t row);
  OperandsId in_own_memory(std::uint32_t p, OperandsId operands);
  template <class Table>
  void copy_spans(const Table& from, Table& to);
  template <class Table>
  void place_row(std::uint32_t p, Table& rows, std::size_t row) const;
  Duration shift_of_end(TimePoint end, Duration least) const;
  void copy_items(std::uint32_t p);
  void copy_call(std::uint32_t p, HostItem& item);
  void copy_work(std::uint32_t p, std::uint32_t w, std::int64_t correlation);
  bool belongs(const HostPart& part, std::uint32_t item) const;
  std::int64_t external_id(std::uint32_t p, std::int64_t id);

  void resolve();
  void resolve_edges(std::uint32_t p, DeviceWork& work, const DeviceWork& old);
  std::uint32_t instance_in(std::uint32_t p, std::uint32_t item) const;
  std::uint32_t instance(std::uint32_t p, std::uint32_t item) const;
  std::uint32_t item_for(std::uint32_t p, std::uint32_t item) const;
  std::uint32_t work_for(std::uint32_t p, std::uint32_t work) const;

  const Step& old_;
  std::span<const HostPart> parts_;
  FreshNumbers fresh_;
  Rearranged out_;
  std::map<std::uint32_t, CopyNumbers> numbers_;  // by copy
  std::vector<RowNumbers> new_item_;              // per part and item of it; no_index: not copied
  RowNumbers part_of_item_;                       // per new item
  RowNumbers old_work_;                           // per new work
};

void Rearrangement::begin_trace() {
  Step& step = out_.step;
  step = old_;
  step.trace.ops = {};
  step.trace.calls = {};
  step.trace.activities = {};
  step.trace.annotations = {};
  step.trace.modules = {};
  step.kernels = {};
  step.traced_activity.clear();
  step.plan.items.clear();
  step.plan.works.clear();
  step.plan.edges.clear();
}

/// A copy stands behind all that the device did for what came before it, and what comes behind it
/// behind what the device did for it: work stays in the order in which it was launched.
void Rearrangement::shift_parts() {
  const Duration lag = longest_lag(old_);
  Duration added{};
  TimePoint reached{};
  each_part([&](std::uint32_t p) {
    if (part(p).copy == 0) {
      out_.shift.push_back(added);
      reached = part(p).until;
      return;
    }
    out_.shift.push_back(reached + added + lag - part(p).from);
    added += lag + (part(p).until - part(p).from) + lag;
  });
}

/// What a part of the step itself ends at `end` is moved by: it may have begun in an earlier part.
Duration Rearrangement::shift_of_end(TimePoint end, Duration least) const {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (parts_[p].copy == 0 && parts_[p].until >= end) return std::max(out_.shift[p], least);
  }
  return least;
}

template <class Table>
void Rearrangement::place_row(std::uint32_t p, Table& rows, std::size_t row) const {
  const HostPart& from = part(p);
  if (from.copy == 0) {
    const TimePoint end = rows.begin[row] + rows.duration[row];
    rows.duration[row] += shift_of_end(end, out_.shift[p]) - out_.shift[p];
  } else {
    rows.duration[row] = std::min(rows.duration[row], from.until - rows.begin[row]);
  }
  if (from.copy > 0 && from.runs_like != no_index) {
    rows.thread[row] = old_.trace.calls.thread[old_.plan.items[from.runs_like].source];
  }
  rows.begin[row] += out_.shift[p];
}

/// The gradients of a copy have the numbers of its own operations.
void Rearrangement::number_sequences(const std::vector<RowNumbers>& rows) {
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> used;  // first and last of a copy
  each_part([&](std::uint32_t p) {
    if (part(p).copy == 0) return;
    for (const std::uint32_t row : rows[p]) {
      const std::int64_t number = old_.trace.ops.sequence[row];
      if (number < 0) continue;
      auto& span = used.try_emplace(part(p).copy, number, number).first->second;
      span = {std::min(span.first, number), std::max(span.second, number)};
    }
  });
  for (const auto& [copy, span] : used) {
    numbers_[copy].sequence_shift = fresh_.sequence - span.first;
    fresh_.sequence += span.second - span.first + 1;
  }
}

std::int64_t Rearrangement::external_id(std::uint32_t p, std::int64_t id) {
  if (part(p).copy == 0 || id == -1) return id;
  auto [known, fresh] = numbers_[part(p).copy].external.try_emplace(id, 0);
  if (fresh) known->second = is_added(id) ? fresh_.added_id-- : fresh_.external_id++;
  return known->second;
}

/// A gradient that a copy makes is one of a parameter no more: it is added to the one that is.
OperandsId Rearrangement::in_own_memory(std::uint32_t p, OperandsId operands) {
  if (!operands.valid()) return operands;
  Operands own = old_.trace.operands.get(operands);
  for (auto* list : {&own.tensors.shapes, &own.made, &own.dropped}) {
    for (TensorShape& shape : *list) {
      TensorMemory& memory = shape.memory;
      if (memory.role == TensorRole::gradient) memory.role = TensorRole::fixed;
      if (memory.known() && memory.made_in_step()) memory.storage += part(p).copy * fresh_.storage;
    }
  }
  return out_.step.trace.operands.intern(std::move(own));
}

void Rearrangement::copy_op(std::uint32_t p, std::uint32_t row) {
  HostOps& ops = out_.step.trace.ops;
  append_row(old_.trace.ops, row, ops);
  const std::size_t last = ops.size() - 1;
  place_row(p, ops, last);
  ops.external_id[last] = external_id(p, ops.external_id[last]);
  if (part(p).copy > 0 && ops.sequence[last] >= 0) {
    ops.sequence[last] += numbers_[part(p).copy].sequence_shift;
  }
  if (part(p).makes_anew && fresh_.storage > 0) {
    ops.operands[last] = in_own_memory(p, ops.operands[last]);
  }
}

template <class Table>
void Rearrangement::copy_spans(const Table& from, Table& to) {
  const RowNumbers sorted = by_begin(from);
  each_part([&](std::uint32_t p) {
    for (const std::uint32_t row : rows_of_part(from, sorted, part(p))) {
      append_row(from, row, to);
      place_row(p, to, to.size() - 1);
    }
  });
}

void Rearrangement::copy_ops() {
  const Trace& trace = old_.trace;
  const RowNumbers sorted = by_begin(trace.ops);
  std::vector<RowNumbers> rows;
  each_part([&](std::uint32_t p) { rows.push_back(rows_of_part(trace.ops, sorted, part(p))); });
  number_sequences(rows);
  each_part([&](std::uint32_t p) {
    for (const std::uint32_t row : rows[p]) copy_op(p, row);
  });
  copy_spans(trace.annotations, out_.step.trace.annotations);
  copy_spans(trace.modules, out_.step.trace.modules);
}

bool Rearrangement::belongs(const HostPart& part, std::uint32_t item) const {
  const std::uint32_t call = old_.plan.items[item].source;
  return !part.of || (call != no_index && old_.trace.calls.thread[call] == *part.of);
}

void Rearrangement::copy_call(std::uint32_t p, HostItem& item) {
  RuntimeCalls& calls = out_.step.trace.calls;
  append_row(old_.trace.calls, item.source, calls);
  const std::size_t last = calls.size() - 1;
  place_row(p, calls, last);
  item.source = static_cast<std::uint32_t>(last);
  if (part(p).copy == 0) return;
  calls.external_id[last] = external_id(p, calls.external_id[last]);
  if (calls.correlation[last] >= 0) calls.correlation[last] = fresh_.correlation++;
}

void Rearrangement::copy_work(std::uint32_t p, std::uint32_t w, std::int64_t correlation) {
  Step& step = out_.step;
  Activities& acts = step.trace.activities;
  DeviceWork work = old_.plan.works[w];
  const std::uint32_t old = work.source;
  append_row(old_.trace.activities, old, acts);
  work.source = static_cast<std::uint32_t>(acts.size() - 1);
  acts.begin[work.source] += out_.shift[p];
  if (part(p).copy > 0) {
    acts.correlation[work.source] = correlation;
    acts.external_id[work.source] = external_id(p, acts.external_id[work.source]);
  }
  step.kernels.push_back(acts.name[work.source], old_.kernels.of(old));
  step.traced_activity.push_back(old_.traced_activity[old]);
  work.item = static_cast<std::uint32_t>(step.plan.items.size());
  step.plan.works.push_back(work);
  old_work_.push_back(w);
}

void Rearrangement::copy_items(std::uint32_t p) {
  Plan& plan = out_.step.plan;
  RowNumbers& numbers = new_item_.emplace_back(part(p).end - part(p).first, no_index);
  out_.first_item.push_back(static_cast<std::uint32_t>(plan.items.size()));
  for (std::uint32_t i = part(p).first; i < part(p).end; ++i) {
    if (!belongs(part(p), i)) continue;
    HostItem item = old_.plan.items[i];
    if (item.source != no_index) copy_call(p, item);
    const std::int64_t correlation =
        item.source == no_index ? -1 : out_.step.trace.calls.correlation[item.source];
    const std::uint32_t first = std::exchange(item.first_work, std::uint32_t(plan.works.size()));
    for (std::uint32_t w = first; w < first + item.work_count; ++w) copy_work(p, w, correlation);
    if (part(p).copy > 0 && part(p).runs_like != no_index) {
      item.thread = old_.plan.items[part(p).runs_like].thread;
    }
    numbers[i - part(p).first] = static_cast<std::uint32_t>(plan.items.size());
    plan.items.push_back(item);
    part_of_item_.push_back(p);
  }
  out_.end_item.push_back(static_cast<std::uint32_t>(plan.items.size()));
}

std::uint32_t Rearrangement::instance_in(std::uint32_t p, std::uint32_t item) const {
  const HostPart& from = part(p);
  return item < from.first || item >= from.end ? no_index : new_item_[p][item - from.first];
}

/// The item as part `p` means it, or none where it is left out.
std::uint32_t Rearrangement::instance(std::uint32_t p, std::uint32_t item) const {
  if (const std::uint32_t own = instance_in(p, item); own != no_index) return own;
  for (std::uint32_t before = p; before-- > 0;) {
    if (const std::uint32_t found = instance_in(before, item); found != no_index) return found;
  }
  for (std::uint32_t behind = p + 1; behind < parts_.size(); ++behind) {
    if (const std::uint32_t found = instance_in(behind, item); found != no_index) return found;
  }
  return no_index;
}

std::uint32_t Rearrangement::item_for(std::uint32_t p, std::uint32_t item) const {
  const std::vector<HostItem>& items = old_.plan.items;
  for (std::uint32_t before = item + 1; before-- > 0;) {
    if (items[before].thread != items[item].thread) continue;
    if (const std::uint32_t found = instance(p, before); found != no_index) return found;
  }
  return no_index;
}

std::uint32_t Rearrangement::work_for(std::uint32_t p, std::uint32_t work) const {
  const std::uint32_t item = old_.plan.works[work].item;
  const std::uint32_t found = item == no_index ? no_index : instance(p, item);
  if (found == no_index) return no_index;
  return out_.step.plan.items[found].first_work + (work - old_.plan.items[item].first_work);
}

void Rearrangement::resolve_edges(std::uint32_t p, DeviceWork& work, const DeviceWork& old) {
  Plan& plan = out_.step.plan;
  work.first_edge = static_cast<std::uint32_t>(plan.edges.size());
  for (std::uint32_t e = old.first_edge; e < old.first_edge + old.edge_count; ++e) {
    WorkEdge edge = old_.plan.edges[e];
    // Only what runs first waits for the step before; that means the end of it.
    if (edge.previous_step && part(p).copy > 0) continue;
    const auto last = static_cast<std::uint32_t>(parts_.size() - 1);
    edge.work = work_for(edge.previous_step ? last : p, edge.work);
    if (edge.work != no_index) plan.edges.push_back(edge);
  }
  work.edge_count = static_cast<std::uint32_t>(plan.edges.size()) - work.first_edge;
}

void Rearrangement::resolve() {
  Plan& plan = out_.step.plan;
  for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
    HostItem& item = plan.items[i];
    const std::uint32_t p = part_of_item_[i];
    if (item.after != no_index) item.after = item_for(p, item.after);
    if (item.after != no_index && item.after >= i) item.after = no_index;
    if (item.wait != WaitFor::work) continue;
    item.wait_work = work_for(p, item.wait_work);
    if (item.wait_work == no_index) item.wait = WaitFor::nothing;
  }
  for (std::uint32_t w = 0; w < plan.works.size(); ++w) {
    const std::uint32_t p = part_of_item_[plan.works[w].item];
    resolve_edges(p, plan.works[w], old_.plan.works[old_work_[w]]);
  }
}

}  // namespace

Rearranged rearranged(const Step& step, std::span<const HostPart> parts) {
  return Rearrangement(step, parts).make();
}

void check_eager(const Step& step, const Dataflow& flow, std::string_view option) {
  const auto refuse = [&](const char* found) {
    throw InputError(step.trace.path, std::string(option), found, "an eager step");
  };
  if (flow.has_graphs()) refuse("compiled graphs");
  const bool captured =
      std::any_of(step.plan.items.begin(), step.plan.items.end(),
                  [](const HostItem& item) { return item.kind == ItemKind::graph_launch; });
  if (captured) refuse("CUDA graphs");
}

std::uint32_t first_of_thread(const Step& step, ThreadId thread, std::uint32_t first,
                              std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i) {
    const std::uint32_t call = step.plan.items[i].source;
    if (call != no_index && step.trace.calls.thread[call] == thread) return i;
  }
  return no_index;
}

std::uint32_t first_item_from(const Step& step, TimePoint at) {
  const std::vector<HostItem>& items = step.plan.items;
  std::uint32_t behind = 0;  // the last item of a call
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].source == no_index) continue;
    if (step.trace.calls.begin[items[i].source] >= at) return i;
    behind = i + 1;
  }
  return behind;
}

}  // namespace tandem
