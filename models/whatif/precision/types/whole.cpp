#include "models/whatif/precision/types/whole.h"

#include <algorithm>
#include <utility>

#include "models/whatif/precision/types/retyping.h"
#include "models/whatif/precision/types/rules.h"

namespace tandem {
namespace {

using K = OpKind;

/// Whether the program itself asks a softmax for FP32: it does so in 16 bits, too.
bool asks_for_fp32(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  constexpr std::int64_t fp32 = 6;  // c10::ScalarType::Float
  bool asked = false;               // by the outermost one: autocast asks those within
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    const OpRow& row = op_row(text_of(trace, trace.ops.name[r]));
    if (row.kind != op.kind) break;
    const Operands& operands = operands_of(trace, r);
    const auto given = integers_of(operands.argument(row.arguments.at(ArgumentName::type)));
    asked = given.size() == 1 && given[0] == fp32;
  }
  return asked;
}

/// Whether the operation around `row` is one of the framework that computes, be it around views:
/// spellings of a conversion that nobody described (`type_as`) do not.
bool lies_in_computation(const Trace& trace, const Dataflow& flow, std::uint32_t row) {
  for (std::uint32_t r = flow.nesting.parent[row]; r != no_row; r = flow.nesting.parent[r]) {
    const std::string_view name = text_of(trace, trace.ops.name[r]);
    if (!is_framework_op(name)) return false;
    const OpRow* const row_of_name = find_op(name);
    if (row_of_name == nullptr) continue;
    if (row_of_name->kind != K::view && row_of_name->kind != K::cast) return true;
  }
  return false;
}

/// Of the copy `op`: whether code of the user, attention by products or what the framework does
/// within an operation asks for the other type, not autocast. What another prediction has added is
/// autocast's.
bool is_asked_for(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (is_added(trace.ops.external_id[op.op])) return false;
  bool converted = false;
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    const OpRow& row = op_row(text_of(trace, trace.ops.name[r]));
    if (row.is(full_inside)) return true;
    converted |= row.is(converts);
  }
  return lies_in_computation(trace, flow, op.op) != converted;
}

/// Of a layer in 16 bits: whether the call around it was handed FP32.
bool is_handed_fp32(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (op.row->autocast != CastPolicy::lower || !is_half(traced_type(flow, op))) return false;
  std::uint32_t layer = op.op;
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    if (cast_policy(text_of(trace, trace.ops.name[r])) == CastPolicy::lower) layer = r;
  }
  const auto& shapes = operands_of(trace, layer).tensors.shapes;
  return std::any_of(shapes.begin(), shapes.end(),
                     [](const TensorShape& shape) { return shape.type == DataType::fp32; });
}

std::vector<std::uint32_t> last_readers(const Dataflow& flow) {
  std::vector<std::uint32_t> out(flow.tensors.size(), no_row);
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (!runs_forward(flow.ops[i])) continue;
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) out[use.tensor] = i;
  }
  return out;
}

/// What becomes of the types of a step whose model has 16 bits.
class Whole : Retyping {
 public:
  Whole(const Trace& trace, const Dataflow& flow, DataType half, std::int64_t fused_width)
      : Retyping(trace, flow, half, fused_width), last_reader_(last_readers(flow)) {
    for (DataType& type : change_.tensors) type = is_autocast_type(type) ? half : type;
  }

  TypeChange run();

 private:
  struct Read {
    std::uint32_t tensor = no_row, reader = no_row;
  };

  void forward(std::uint32_t i, const FlowOp& op);
  void backward(std::uint32_t i, const FlowOp& op);
  void cast(std::uint32_t i, const FlowOp& op);
  void convert_before(std::uint32_t i, const FlowOp& op);
  void convert(std::uint32_t i, std::int64_t elements);
  Read converted(std::uint32_t i, std::int64_t elements) const;
  void lower_operands(std::uint32_t i, const FlowOp& op);
  void close_views();
  void leave_full();
  void plan(std::uint32_t i, std::uint32_t reader, std::uint32_t tensor, std::int64_t elements,
            DataType to);

  void set_outputs(std::uint32_t i, const FlowOp& op, DataType type) {
    change_.ops[i] = type;
    for (const std::uint32_t t : flow_.outputs_of(op)) {
      if (!is_autocast_type(flow_.tensors[t].type)) continue;
      change_.tensors[t] = type;
      if (type == DataType::fp32) full_.push_back(t);
    }
  }

  std::size_t next_idle_ = 0;
  bool went_back_ = false;                  // since the operation before
  std::vector<std::uint32_t> views_;        // tensors in 16 bits that are read as FP32 by now
  std::vector<std::uint32_t> full_;         // made in FP32 since
  std::vector<std::uint32_t> last_reader_;  // per tensor: forward op; no_row: none that is known
};

/// What was made in FP32 since it was asked for is read by no one behind the conversion back:
/// traces tell tensors of one size apart by the order of operations alone.
void Whole::close_views() {
  for (const std::uint32_t t : views_) change_.tensors[t] = half_;
  views_.clear();
}

void Whole::leave_full() {
  close_views();
  for (const std::uint32_t t : full_) change_.tensors[t] = half_;
  full_.clear();
}

void Whole::plan(std::uint32_t i, std::uint32_t reader, std::uint32_t tensor, std::int64_t elements,
                 DataType to) {
  const DataType from = change_.tensors[tensor];
  change_.casts.push_back({i, false, elements, from, to, false, i, no_argument});
  if (flow_.tensors[tensor].producer != no_row && reader != no_row) {
    gradients_.cast_back(flow_.ops[reader], {i, true, elements, to, from, false, i, no_argument});
  }
}

/// The tensor of `elements` that was converted before operation `i`: one that it or the next few
/// read, else one in FP32 that was just made, rather one that not all have read, else the latest.
Whole::Read Whole::converted(std::uint32_t i, std::int64_t elements) const {
  constexpr std::uint32_t look_ahead = 3, look_back = 64, just = 8;
  const auto end = std::min(i + look_ahead, static_cast<std::uint32_t>(flow_.ops.size()));
  for (std::uint32_t k = i; k < end; ++k) {
    for (const FlowUse& use : flow_.inputs_of(flow_.ops[k])) {
      const FlowTensor& tensor = flow_.tensors[use.tensor];
      const bool there = tensor.producer == no_row || tensor.producer < i;
      if (there && is_autocast_type(tensor.type) && flow_.elements_of(use) == elements)
        return {use.tensor, k};
    }
  }
  std::uint32_t latest = no_row, read = no_row;
  for (std::uint32_t k = i; k-- > (i > look_back ? i - look_back : 0);) {
    if (!runs_forward(flow_.ops[k])) continue;
    for (const std::uint32_t t : flow_.outputs_of(flow_.ops[k])) {
      const FlowTensor& tensor = flow_.tensors[t];
      if (tensor.elements != elements || !is_autocast_type(tensor.type)) continue;
      if (latest == no_row) latest = t;
      if (i - k > just || change_.tensors[t] != DataType::fp32) continue;
      if (last_reader_[t] >= i) return {t, no_row};
      if (read == no_row) read = t;
    }
  }
  return {read != no_row ? read : latest, no_row};
}

/// `x.to(dtype)` that does nothing in FP32: of 16 bits it is one to FP32, of FP32 one back. A
/// further slice of what is converted slice by slice has 16 bits like the others.
void Whole::convert(std::uint32_t i, std::int64_t elements) {
  const auto [tensor, reader] = converted(i, elements);
  if (tensor == no_row) return;
  const bool by_slices = elements < flow_.tensors[tensor].elements;
  if (by_slices && std::find(views_.begin(), views_.end(), tensor) != views_.end()) {
    change_.tensors[tensor] = half_;
  }
  const bool back = change_.tensors[tensor] == DataType::fp32;
  const DataType to = back ? half_ : DataType::fp32;
  plan(i, reader, tensor, elements, to);
  change_.tensors[tensor] = to;
  if (!back) views_.push_back(tensor);
  went_back_ |= back;
}

void Whole::convert_before(std::uint32_t i, const FlowOp& op) {
  const AlignedList list = next_list(op);
  for (; next_idle_ < idle_.size() && idle_[next_idle_].at < last_forward_; ++next_idle_) {
    const std::int64_t elements = idle_[next_idle_].elements;
    // The others of a list have 16 bits by themselves, as what is brought to their type.
    const bool aligned = list.conversions > 0 && list.elements == elements;
    if (!aligned && elements > 1) convert(i, elements);
  }
  if (std::exchange(went_back_, false)) leave_full();
}

void Whole::lower_operands(std::uint32_t i, const FlowOp& op) {
  for (const FlowUse& use : flow_.inputs_of(op)) {
    if (change_.tensors[use.tensor] != DataType::fp32) continue;
    plan(i, i, use.tensor, flow_.elements_of(use), half_);
    change_.tensors[use.tensor] = half_;
  }
}

void Whole::forward(std::uint32_t i, const FlowOp& op) {
  convert_before(i, op);
  if (change_.ops[i] == DataType::unknown) return;
  forward_of_[op.sequence] = i;
  if (is_precision_cast(flow_, op)) return cast(i, op);
  if (const DataType inside = attention_.type_within(i, op); inside != DataType::unknown) {
    change_.policies[i] = is_half(inside) ? CastPolicy::lower : CastPolicy::full;
    return set_outputs(i, op, inside);
  }
  const bool angles = makes_angles(flow_, i);
  const bool layer = !angles && policy_of(trace_, flow_, op) == CastPolicy::lower;
  bool mixed = false;
  DataType type = promoted(flow_, op, change_.tensors, mixed);
  if (layer && mixed) {
    close_views();
    lower_operands(i, op);
    type = half_, mixed = false;
  }
  if (layer && is_half(type)) leave_full();
  if (type == DataType::unknown) type = half_;
  if (angles) type = DataType::fp32;
  if (const DataType own = own_type(op); own != DataType::unknown) type = own;
  change_.mixed[i] = mixed;
  if (mixed) gradients_.promoted_gradients(i, op);
  // What it reads is a copy in FP32 of what others read in 16 bits.
  if (type == DataType::fp32 && !mixed) change_.policies[i] = CastPolicy::full;
  if (op.kind == K::softmax && asks_for_fp32(trace_, flow_, op)) type = DataType::fp32;
  set_outputs(i, op, type);
}

void Whole::cast(std::uint32_t i, const FlowOp& op) {
  const DataType from = change_.tensors[flow_.inputs_of(op)[0].tensor];
  const DataType traced = flow_.tensors[flow_.outputs_of(op)[0]].type;
  const DataType asked = traced == DataType::fp32 ? traced : half_;
  const DataType to = is_asked_for(trace_, flow_, op) ? asked : from;
  if (to == from) change_.removed.push_back(i);
  if (is_half(to) && to != from) leave_full();
  set_outputs(i, op, to);
}

void Whole::backward(std::uint32_t i, const FlowOp& op) {
  if (change_.ops[i] == DataType::unknown) return;
  if (is_precision_cast(flow_, op)) {
    const std::uint32_t forward = forward_of(op);
    const bool stays = forward != no_row && is_precision_cast(flow_, flow_.ops[forward]) &&
                       !std::binary_search(change_.removed.begin(), change_.removed.end(), forward);
    if (!stays) change_.removed.push_back(i);
    const DataType to = stays ? change_.tensors[flow_.inputs_of(flow_.ops[forward])[0].tensor]
                              : change_.tensors[flow_.inputs_of(op)[0].tensor];
    return set_outputs(i, op, to);
  }
  set_outputs(i, op, gradient_type(i, op, half_));
  gradients_.retype_gradients(op);
}

TypeChange Whole::run() {
  for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
    const FlowOp& op = flow_.ops[i];
    if (runs_forward(op)) {
      forward(i, op);
    } else if (runs_backward(op)) {
      backward(i, op);
    } else if (is_autocast_type(change_.ops[i])) {
      change_.ops[i] = half_;
    }
  }
  close_views();
  sort_casts(change_.casts);
  return std::move(change_);
}

}  // namespace

TypeChange whole(const Trace& trace, const Dataflow& flow, DataType half,
                 std::int64_t fused_width) {
  return Whole(trace, flow, half, fused_width).run();
}

TypeChange autocast_of_whole(const Trace& trace, const Dataflow& flow, DataType half,
                             std::int64_t fused_width) {
  Dataflow plain = flow;
  for (FlowTensor& tensor : plain.tensors) {
    if (is_half(tensor.type)) tensor.type = DataType::fp32;
  }
  TypeChange change = autocast(trace, plain, half, fused_width);
  change.old_ops = unchanged(flow).old_ops;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (is_precision_cast(flow, op)) change.removed.push_back(i);
    if (op.phase == FlowPhase::other && is_half(change.ops[i])) change.ops[i] = DataType::fp32;
  }
  return change;
}

bool is_all_in_16_bits(const Trace& trace, const Dataflow& flow) {
  return std::none_of(flow.ops.begin(), flow.ops.end(), [&](const FlowOp& op) {
    if (!runs_forward(op)) return false;
    if (is_precision_cast(flow, op)) return !is_asked_for(trace, flow, op);
    return op.in_graph || is_handed_fp32(trace, flow, op);
  });
}

}  // namespace tandem
