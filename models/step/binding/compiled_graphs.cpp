#include "models/step/binding/compiled_graphs.h"

#include <algorithm>
#include <map>

#include "models/step/op_rows.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

bool leads_with(const TensorShape& shape, std::int64_t batch) {
  return shape.rank > 0 && shape.dims[0] == batch;
}

using Dims = std::vector<std::int64_t>;

/// Each graph lists the weights that it shares with others; their gradients meet outside of all.
void leave_shared_once(const Step& step, const Dataflow& flow, std::vector<TensorShape>& weights) {
  std::map<Dims, std::size_t> listed, summed;
  for (const TensorShape& weight : weights) ++listed[dims_of(weight)];
  for (const FlowOp& op : flow.ops) {
    if (op.in_graph || op.phase != FlowPhase::backward || !op.row->is(adds_gradients)) continue;
    const OpTensors& operands = operands_of(step.trace, op.op).tensors;
    const TensorShape *sum = operands.at(0), *other = operands.at(1);
    if (sum != nullptr && other != nullptr && same_recorded_dims(*sum, *other)) {
      ++summed[dims_of(*sum)];
    }
  }
  std::erase_if(weights, [&](const TensorShape& weight) {
    const Dims dims = dims_of(weight);
    const auto sums = summed.find(dims);
    if (sums == summed.end() || sums->second == 0 || listed[dims] < 2) return false;
    --sums->second, --listed[dims];
    return true;
  });
}

/// What scores of words are computed with is the table of the words, which products read
/// transposed.
bool is_transposed(const TensorShape& table, const TensorShape& weight) {
  return table.rank == 2 && weight.rank == 2 && table.dims[0] == weight.dims[1] &&
         table.dims[1] == weight.dims[0] && table.type == weight.type;
}

/// A graph of inference converts a weight for each layer that takes it, and one kernel writes the
/// copies of several layers: the weight is shared. All weights that these layers share have been
/// converted once when each copy of their dimensions was read; what is converted later is one of
/// them again. A layer that runs twice in a row before another one of its dimensions cannot be told
/// from that.
class SharedConversions {
 public:
  /// In the order of the step. Whether the operation converts a weight that another one converted.
  bool converts_again(const FlowOp& op, const OpTensors& operands) {
    if (!writes_copies(operands)) {
      if (op.kind == OpKind::matmul) see_readers(operands);
      return false;
    }
    Copies& copies = copies_[matrix_dims(operands.shapes[0])];
    if (copies.all_read) return true;
    copies.waiting += operands.shapes.size() - 1;
    return false;
  }

 private:
  struct Copies {
    std::size_t waiting = 0;  // for their readers
    bool all_read = false;
  };

  /// The weight in FP32, then several of its dimensions in 16 bits.
  static bool writes_copies(const OpTensors& operands) {
    const auto& shapes = operands.shapes;
    if (shapes.size() < 3 || shapes[0].type != DataType::fp32) return false;
    return std::all_of(shapes.begin() + 1, shapes.end(), [&](const TensorShape& shape) {
      return is_half(shape.type) && same_recorded_dims(shape, shapes[0]);
    });
  }

  /// Products read weights transposed.
  static Dims matrix_dims(const TensorShape& shape) {
    Dims dims = dims_of(shape);
    std::sort(dims.begin(), dims.end());
    return dims;
  }

  void see_readers(const OpTensors& operands) {
    for (const TensorShape& shape : operands.shapes) {
      const auto at = is_half(shape.type) ? copies_.find(matrix_dims(shape)) : copies_.end();
      if (at == copies_.end() || at->second.waiting == 0) continue;
      at->second.all_read = --at->second.waiting == 0;
    }
  }

  std::map<Dims, Copies> copies_;
};

}  // namespace

bool same_recorded_dims(const TensorShape& a, const TensorShape& b) {
  return a.rank > 0 && same_dims(a, b);
}

void mark_graphs(const Step& step, Dataflow& flow) {
  OpRows rows(step.trace);
  for (FlowOp& op : flow.ops) {
    for (std::uint32_t r = op.op; r != no_row && !op.in_graph; r = flow.nesting.parent[r]) {
      op.in_graph = rows.of(r).kind == OpKind::generated;
    }
  }
}

std::vector<std::uint32_t> graph_calls(const Step& step, const Dataflow& flow, bool backward) {
  std::vector<std::uint32_t> out;
  OpRows rows(step.trace);
  for (const FlowOp& op : flow.ops) {
    if (!op.in_graph || (op.phase == FlowPhase::backward) != backward) continue;
    for (std::uint32_t r = flow.nesting.parent[op.op]; r != no_row; r = flow.nesting.parent[r]) {
      const bool lists = !operands_of(step.trace, r).tensors.shapes.empty();
      const bool seen = std::find(out.begin(), out.end(), r) != out.end();
      if (lists && !seen && rows.of(r).kind == OpKind::generated) out.push_back(r);
    }
  }
  return out;
}

GraphOperands graph_operands(const Step& step, const Dataflow& flow, std::int64_t batch) {
  GraphOperands out;
  const auto calls = graph_calls(step, flow, false);
  const auto add = [&](const TensorShape& shape, bool input) {
    if (shape.rank > 0) (input ? out.inputs : out.parameters).push_back(shape);
  };
  for (const std::uint32_t call : calls) {
    bool images = false;  // the first operand with that many items; others are weights
    for (const TensorShape& shape : operands_of(step.trace, call).tensors.shapes) {
      const bool items = is_floating(shape.type) && leads_with(shape, batch) && shape.rank > 1;
      add(shape, !is_floating(shape.type) || (items && !images));
      images = images || items;
    }
  }
  if (!calls.empty()) {
    leave_shared_once(step, flow, out.parameters);
    return out;
  }
  bool begun = false;               // something that grows was given
  std::vector<TensorShape> tables;  // picked from by indices, at times more than once
  const auto known_table = [&](const TensorShape& shape, bool product) {
    return std::any_of(tables.begin(), tables.end(), [&](const TensorShape& table) {
      return same_recorded_dims(table, shape) || (product && is_transposed(table, shape));
    });
  };
  SharedConversions conversions;
  for (const FlowOp& op : flow.ops) {
    if (!op.in_graph || op.phase != FlowPhase::forward) continue;
    const OpTensors& operands = operands_of(step.trace, op.op).tensors;
    if (conversions.converts_again(op, operands)) continue;
    const bool picks =
        std::any_of(operands.shapes.begin(), operands.shapes.end(),
                    [](const auto& t) { return t.rank > 0 && t.type == DataType::int64; });
    for (const FlowUse& use : flow.inputs_of(op)) {
      const TensorShape* const shape = operands.at(use.argument);
      if (shape == nullptr || flow.tensors[use.tensor].producer != no_row) continue;
      const bool items = leads_with(*shape, batch) && shape->rank > 1;
      if (known_table(*shape, op.kind == OpKind::matmul)) continue;
      if (picks && shape->rank == 2 && is_floating(shape->type)) tables.push_back(*shape);
      if (!items || !begun) add(*shape, items || !is_floating(shape->type));
      begun = begun || (items && is_floating(shape->type));
    }
  }
  return out;
}

}  // namespace tandem
