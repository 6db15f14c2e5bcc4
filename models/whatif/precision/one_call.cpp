#include "models/whatif/precision/one_call.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/kernel/time/rates.h"
#include "models/step/one_call.h"
#include "models/step/op_rows.h"
#include "models/whatif/precision/types/rules.h"

namespace tandem {
namespace {

/// Whether a tensor of three dimensions lies with its first two exchanged.
bool is_turned(const TensorShape& x) {
  return x.rank == 3 && x.dims[0] > 1 && x.dims[1] > 1 && x.strides[2] == 1 &&
         x.strides[0] == x.dims[2] && x.strides[1] == x.dims[0] * x.dims[2];
}

/// As traced.
bool copies_same_type(const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::cast || op.input_count == 0 || op.output_count == 0) return false;
  const DataType from = flow.tensors[flow.inputs_of(op)[0].tensor].type;
  return from == flow.tensors[flow.outputs_of(op)[0]].type;
}

/// Whether it is the product of a batch that lies turned with one matrix.
bool multiplies_turned(const TypedStep& s, const FlowOp& op) {
  const OpTensors* operands = product_of_batch(s.edit.step().trace, s.flow, op);
  if (op.kind != OpKind::matmul || operands == nullptr) return false;
  const TensorShape* batch = operands->at(0);
  return batch != nullptr && is_turned(*batch);
}

double elements_made(const Dataflow& flow, const FlowOp& op) {
  return op.output_count > 0 ? double(flow.tensors[flow.outputs_of(op)[0]].elements) : 0;
}

/// What a 16-bit product takes longer if it applies a function to `elements` results.
double applied_us(const RetimeContext& c, double elements) {
  return lane_us(c.gpu, elements * c.law.applied_lane_cycles);
}

/// The operations around the product of one layer in pieces, which vanish in one call.
struct Pieces {
  std::uint32_t input_copy = no_row, bias = no_row, copy = no_row;
};

/// Of the block around such a layer: a product, the function of its result, another product.
struct FeedForward {
  std::uint32_t product = no_row, function = no_row;
};

/// Makes pieces one call.
class Joined {
 public:
  explicit Joined(TypedStep& s) : s_(s), removed_(s.flow.ops.size(), false) {
    for (const std::uint32_t i : s.change.removed) removed_[i] = true;
  }

  int join() {
    int layers = 0;
    for (std::uint32_t i = 0; i < s_.flow.ops.size(); ++i) {
      if (s_.flow.ops[i].kind != OpKind::attention) continue;
      const Pieces pieces = pieces_before(i);
      if (pieces.input_copy == no_row) continue;
      apply_within(feed_forward_behind(i, source_of(pieces.input_copy)));
      for (const std::uint32_t piece : {pieces.input_copy, pieces.bias, pieces.copy}) drop(piece);
      ++layers;
    }
    for (std::uint32_t i = 0; layers > 0 && i < s_.flow.ops.size(); ++i) {
      if (!removed_[i]) straighten(i);
    }
    return layers;
  }

 private:
  /// The nearest operation before `i` that stays; the first one has none before it.
  std::uint32_t before(std::uint32_t i) const {
    while (i != 0 && i != no_row && removed_[--i]) {
    }
    return i;
  }

  /// Of the attention `i`; without it where the layer is another one.
  Pieces pieces_before(std::uint32_t i) const {
    Pieces out;
    const auto& ops = s_.flow.ops;
    const std::uint32_t copy = before(i), bias = before(copy), product = before(bias);
    const std::uint32_t input = before(product);
    if (!copies_same_type(s_.flow, ops[copy]) || !copies_same_type(s_.flow, ops[input])) return out;
    if (ops[bias].kind != OpKind::pointwise || ops[bias].root != ops[product].root) return out;
    if (ops[input].root != ops[product].root || !multiplies_turned(s_, ops[product])) return out;
    return {input, bias, copy};
  }

  /// The tensor that the copy `i` was made of, before its cast.
  std::uint32_t source_of(std::uint32_t i) const {
    const auto read_by = [&](const FlowOp& op) { return s_.flow.inputs_of(op)[0].tensor; };
    const std::uint32_t tensor = read_by(s_.flow.ops[i]);
    const std::uint32_t maker = s_.flow.tensors[tensor].producer;
    const bool cast = maker != no_row && is_precision_cast(s_.flow, s_.flow.ops[maker]);
    return cast ? read_by(s_.flow.ops[maker]) : tensor;
  }

  /// The next operation of a kind behind `i` that stays, of the few that follow.
  std::uint32_t next(std::uint32_t i, OpKind kind, std::uint32_t few) const {
    for (std::uint32_t k = i + 1; k < s_.flow.ops.size() && few > 0; ++k) {
      if (removed_[k]) continue;
      if (s_.flow.ops[k].kind == kind) return k;
      --few;
    }
    return no_row;
  }

  /// Behind the attention `i`, of which `input` is asked: torch.nn.TransformerEncoderLayer adds it
  /// to the result and norms the sum. Norms that come first leave no telling that block from
  /// others.
  FeedForward feed_forward_behind(std::uint32_t i, std::uint32_t input) const {
    const std::uint32_t sum = next(i, OpKind::pointwise, 2);
    if (sum == no_row) return {};
    const auto added = s_.flow.inputs_of(s_.flow.ops[sum]);
    const bool same = std::any_of(added.begin(), added.end(),
                                  [&](const FlowUse& use) { return use.tensor == input; });
    const std::uint32_t norm = next(sum, OpKind::row_norm, 1);
    if (!same || norm == no_row) return {};
    const std::uint32_t product = next(norm, OpKind::matmul, 1);
    if (product == no_row) return {};
    const std::uint32_t function = next(product, OpKind::pointwise, 1);
    if (function == no_row || s_.flow.ops[function].input_count != 1) return {};
    return next(function, OpKind::matmul, 1) == no_row ? FeedForward{}
                                                       : FeedForward{product, function};
  }

  /// In 16 bits the product applies the function itself; in FP32 a kernel behind it does.
  void apply_within(const FeedForward& block) {
    if (block.function == no_row || !is_half(s_.change.ops[block.function])) return;
    const FlowOp& product = s_.flow.ops[block.product];
    const std::uint32_t main = s_.main_work(s_.flow.works_of(product));
    s_.set_time(main, s_.us(main) + applied_us(s_.c, elements_made(s_.flow, product)));
    drop(block.function);
  }

  void drop(std::uint32_t i) {
    removed_[i] = true;
    for (const std::uint32_t w : s_.flow.works_of(s_.flow.ops[i])) s_.edit.drop(w, true);
  }

  /// What reads results of the layers finds them in order.
  void straighten(std::uint32_t i) {
    const FlowOp& op = s_.flow.ops[i];
    const auto& shapes = s_.tensors(op.op).shapes;
    if (std::none_of(shapes.begin(), shapes.end(), is_turned)) return;
    if (copies_same_type(s_.flow, op)) return drop(i);
    if (op.kind != OpKind::pointwise || op.work_count != 1) return;
    double bytes = 0;
    for (const FlowUse& use : s_.flow.inputs_of(op)) {
      bytes += double(s_.flow.elements_of(use)) * element_bytes(s_.read_type(i, use.tensor));
    }
    for (const std::uint32_t t : s_.flow.outputs_of(op)) {
      bytes += double(s_.flow.tensors[t].elements) * element_bytes(s_.change.ops[i]);
    }
    const std::uint32_t work = s_.flow.works_of(op).front();
    s_.set_time(work, std::min(s_.us(work), streamed_us(s_.c.gpu, s_.c.law.cast_down, bytes)));
  }

  TypedStep& s_;
  std::vector<bool> removed_;
};

/// A kernel of the framework that reads so many operands of `elements`.
NewKernel framework_kernel(const TypedStep& s, LibraryUse use, std::string_view name,
                           std::int64_t elements, int reads, DataType type) {
  Operands operands;
  operands.has_shapes = true;
  TensorShape shape;
  shape.rank = 1, shape.dims[0] = elements, shape.type = type;
  for (int i = 0; i <= reads; ++i) operands.tensors.add(operands.argument_count++, shape);
  const double us = turned_us(s.c, double(elements), s.c.law.turned_lane_cycles);
  NewKernel k = s.new_kernel(name, operands, s.c.names.kernel(use, type), us);
  k.geometry = pointwise_geometry(double(elements));
  k.host_us = s.host.us(s.c.law.turned_host_ratio);
  return k;
}

void lie_in(TensorMemory memory, NewKernel& k) {
  for (TensorShape& shape : k.operands.tensors.shapes) shape.memory = memory;
}

NewKernel ordered_copy(const TypedStep& s, std::int64_t elements, DataType type,
                       TensorMemory memory) {
  NewKernel k = framework_kernel(s, LibraryUse::ordered_copy, "aten::copy_", elements, 1, type);
  lie_in(memory, k);
  return k;
}

/// The memory of what the operation makes, where the step says so.
TensorMemory made_by(const TypedStep& s, const FlowOp& op) {
  if (op.output_count == 0) return {};
  return s.flow.tensors[s.flow.outputs_of(op)[0]].memory;
}

/// A piece of attention by products, which layers whose weights are asked for have: what also adds
/// the bias and turns the operands in one call scales the queries alone, weights are made in FP32
/// and copied, and their mean over heads divides itself.
void take_weighed_apart(TypedStep& s, std::uint32_t i) {
  const FlowOp& op = s.flow.ops[i];
  const DataType type = s.change.ops[i];
  const auto works = s.flow.works_of(op);
  const std::uint32_t main = s.main_work(works);
  if (op.kind == OpKind::pointwise && op.row->layer == Layer::attention) {
    constexpr double queries_keys_values = 3;
    const double read =
        op.input_count > 0 ? double(s.flow.elements_of(s.flow.inputs_of(op)[0])) : 0;
    const double bytes = 2 * read / queries_keys_values * element_bytes(type);
    s.set_time(main, streamed_us(s.c.gpu, s.c.law.cast_down, bytes));
  } else if (op.kind == OpKind::pointwise) {
    for (const std::uint32_t w : works) s.edit.drop(w, true);
  } else if (op.kind == OpKind::softmax) {
    s.set_time(main, s.us(main));  // as traced, whatever the type is
    const auto made = std::llround(elements_made(s.flow, op));
    NewKernel back = ordered_copy(s, made, type, made_by(s, op));
    back.duration_us = cast_us(s.c, made, DataType::fp32, type);
    s.edit.insert_after(works.back(), std::move(back));
  } else if (op.kind == OpKind::reduction) {
    s.set_time(main, s.us(main));
  }
}

/// Makes one call pieces.
class TakenApart {
 public:
  explicit TakenApart(TypedStep& s) : s_(s), turned_(s.flow.tensors.size(), false) {}

  int take_apart() {
    int layers = 0;
    std::uint32_t done = no_row;  // the call whose first product was seen
    for (std::uint32_t i = 0; i < s_.flow.ops.size(); ++i) {
      const FlowOp& op = s_.flow.ops[i];
      if (!runs_forward(op) || op.work_count == 0) continue;
      const std::uint32_t call = layer_in_one_call(s_.edit.step().trace, s_.flow, op);
      if (call == no_row) {
        if (applies_in_block(op)) apply_behind(i, false);
        follow(i);
      } else if (op.kind == OpKind::matmul && call != done) {
        done = call;
        ++layers;
        take_apart(i);
      } else if (op.kind == OpKind::matmul) {
        turn_results(op);
      } else {
        take_weighed_apart(s_, i);
      }
    }
    return layers;
  }

  void apply_behind_products() {
    for (std::uint32_t i = 0; i < s_.flow.ops.size(); ++i) {
      const FlowOp& op = s_.flow.ops[i];
      if (op.work_count > 0 && applies_in_block(op)) apply_behind(i, true);
    }
  }

 private:
  /// The product that makes queries, keys and values.
  void take_apart(std::uint32_t i) {
    const FlowOp& op = s_.flow.ops[i];
    const DataType type = s_.change.ops[i];
    const auto product = product_operands(s_.context(op.op));
    const auto works = s_.flow.works_of(op);
    if (!product || works.empty()) return;
    const auto made = static_cast<std::int64_t>(elements_made(s_.flow, op));
    s_.edit.insert_before(works.front(),
                          ordered_copy(s_, product->left.elements(), type, product->left.memory));
    NewKernel bias = framework_kernel(s_, LibraryUse::broadcast_add, "aten::add_", made, 2, type);
    lie_in(made_by(s_, op), bias);
    s_.edit.insert_after(works.back(), std::move(bias));
    s_.edit.insert_after(works.back(), ordered_copy(s_, made, type, made_by(s_, op)));
  }

  bool applies_in_block(const FlowOp& op) const { return op.row->is(activates) && in_block(op); }
  bool in_block(const FlowOp& op) const {
    return block_in_one_call(s_.edit.step().trace, s_.flow, op) != no_row;
  }

  /// A function that the product applies to its result becomes a kernel. `replaces`: what it makes
  /// takes the place of the product's result, as it does within a kernel that a compiler writes.
  void apply_behind(std::uint32_t i, bool replaces) {
    const FlowOp& op = s_.flow.ops[i];
    const Operands& called = operands_of(s_.edit.step().trace, op.op);
    const bool relu = called.argument(op.row->arguments.at(ArgumentName::mode)) == Argument(false);
    const DataType type = s_.change.ops[i];
    const double elements = elements_made(s_.flow, op);
    NewKernel k =
        framework_kernel(s_, relu ? LibraryUse::relu : LibraryUse::gelu,
                         relu ? "aten::relu" : "aten::gelu", std::llround(elements), 0, type);
    lie_in(made_by(s_, op), k);
    if (replaces) k.operands.made = k.operands.tensors.shapes;
    k.duration_us = streamed_us(s_.c.gpu, s_.c.law.cast_down, 2 * elements * element_bytes(type));
    const auto works = s_.flow.works_of(op);
    s_.edit.insert_after(works.back(), std::move(k));
    if (!is_half(s_.change.old_ops[i])) return;
    const std::uint32_t main = s_.main_work(works);
    s_.set_time(main, std::max(s_.us(main) / 2, s_.us(main) - applied_us(s_.c, elements)));
  }

  void turn_results(const FlowOp& op) {
    for (const std::uint32_t t : s_.flow.outputs_of(op)) turned_[t] = true;
  }

  /// An operation outside of the layers.
  void follow(std::uint32_t i) {
    const FlowOp& op = s_.flow.ops[i];
    const FlowUse* turned = nullptr;
    bool mixed = false;
    for (const FlowUse& use : s_.flow.inputs_of(op)) {
      const bool whole = double(s_.flow.elements_of(use)) == elements_made(s_.flow, op);
      if (turned_[use.tensor] && turned == nullptr) turned = &use;
      mixed |= whole && !turned_[use.tensor];
    }
    if (turned == nullptr) return;
    if (op.kind == OpKind::pointwise || op.kind == OpKind::cast) {
      // A block adds its input in place; in pieces it adds to its input, which lies in order.
      sum(op, mixed, turned == &s_.flow.inputs_of(op).front() && !in_block(op));
    } else if (op.kind == OpKind::matmul || op.kind == OpKind::row_norm) {
      const DataType type = s_.read_type(i, turned->tensor);
      s_.edit.insert_before(s_.flow.works_of(op).front(),
                            ordered_copy(s_, s_.flow.elements_of(*turned), type,
                                         s_.flow.tensors[turned->tensor].memory));
    }
  }

  /// Results lie as the first operand does.
  void sum(const FlowOp& op, bool mixed, bool first) {
    if (mixed) {
      const std::uint32_t work = s_.main_work(s_.flow.works_of(op));
      s_.set_time(work,
                  turned_us(s_.c, elements_made(s_.flow, op), s_.c.law.turned_sum_lane_cycles));
    }
    if (first || !mixed) turn_results(op);
  }

  TypedStep& s_;
  std::vector<bool> turned_;
};

}  // namespace

bool exchanges_calls(const Trace& trace, const Dataflow& flow, bool to_autocast) {
  const auto attends = [](const FlowOp& op) { return op.kind == OpKind::attention; };
  if (flow.trains()) return false;
  // Layers whose weights are asked for are products in one call, too.
  if (!to_autocast && std::none_of(flow.ops.begin(), flow.ops.end(), attends)) return false;
  const OpFlag flag = to_autocast ? fast_path : splits_dimension;
  OpRows rows(trace);
  return std::any_of(trace.ops.name.begin(), trace.ops.name.end(),
                     [&](StringId name) { return rows.of(name).is(flag); });
}

void apply_behind_products(TypedStep& s) { TakenApart(s).apply_behind_products(); }

int exchange_calls(TypedStep& s, bool to_autocast) {
  return to_autocast ? TakenApart(s).take_apart() : Joined(s).join();
}

}  // namespace tandem
