#include "models/step/unrecorded/parts.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

using PartOfWhole = std::map<std::vector<std::int64_t>, TensorShape>;

/// Operands of operations, as far as their parts are known.
class Parts {
 public:
  explicit Parts(Trace& trace) : trace_(trace) {}

  /// The first operand of `op` of the dimensions of `whole`, whose part is not known yet, is `part`
  /// here. False: there is none.
  bool state(std::uint32_t op, const TensorShape& whole, const TensorShape& part) {
    const auto& shapes = operands_of(trace_, op).tensors.shapes;
    std::vector<TensorShape>& known = known_[op];
    known.resize(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (known[i].rank > 0 || !same_dims(shapes[i], whole)) continue;
      known[i] = part;
      return true;
    }
    return false;
  }
  /// By the dimensions of the whole: parts of the operands that `are(op, operand)`.
  template <typename Are>
  PartOfWhole of(Are are) const {
    PartOfWhole out;
    for (const auto& [op, known] : known_) {
      const std::vector<TensorShape>& wholes = operands_of(trace_, op).tensors.shapes;
      for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i].rank > 0 && are(op, i)) out.emplace(dims_of(wholes[i]), known[i]);
      }
    }
    return out;
  }
  void write() {
    for (const auto& [op, known] : known_) {
      Operands operands = operands_of(trace_, op);
      for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i].rank > 0) operands.tensors.shapes[i] = known[i];
      }
      trace_.ops.operands[op] = trace_.operands.intern(std::move(operands));
    }
  }

 private:
  Trace& trace_;
  std::map<std::uint32_t, std::vector<TensorShape>> known_;  // by operation; rank 0: not known
};

/// Some ranges of operations are named without their framework ("detach").
bool same_operation(const Trace& trace, std::uint32_t a, std::uint32_t b) {
  const auto name = [&](std::uint32_t op) {
    return without_framework(text_of(trace, trace.ops.name[op]));
  };
  return name(a) == name(b);
}

bool has_distributed_tensors(const Trace& trace, OpRows& rows) {
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (rows.of(op).is(hands_to_parts)) return true;
  }
  return false;
}

/// Those that are named like the operation around the hand-over that they are in, in order of time.
std::vector<std::uint32_t> ops_on_parts(const Trace& trace, const OpNesting& nesting,
                                        OpRows& rows) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const std::uint32_t hand_over = nesting.parent[op];
    if (hand_over == no_row || !rows.of(hand_over).is(hands_to_parts)) continue;
    const std::uint32_t outer = nesting.parent[hand_over];
    if (outer != no_row && same_operation(trace, outer, op)) out.push_back(op);
  }
  sort_by_begin(trace.ops, out);
  return out;
}

/// `inner`: on the parts of what the operation around it, and `hand_over` between them, is on.
void state_parts(const Trace& trace, const OpNesting& nesting, std::uint32_t hand_over,
                 std::uint32_t inner, Parts& parts) {
  const auto& wholes = operands_of(trace, nesting.parent[hand_over]).tensors.shapes;
  const auto& own = operands_of(trace, inner).tensors.shapes;
  if (wholes.size() != own.size()) return;
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    if (own[i].rank == 0) continue;
    for (std::uint32_t o = hand_over; o != no_row && parts.state(o, wholes[i], own[i]);) {
      o = nesting.parent[o];
    }
  }
}

}  // namespace

void infer_distributed_parts(Trace& trace, const Links& links) {
  OpRows rows(trace);
  if (!has_distributed_tensors(trace, rows)) return;
  const OpNesting nesting = nest_ops(trace, links);
  const std::vector<std::uint32_t> inner_ops = ops_on_parts(trace, nesting, rows);
  Parts parts(trace);
  for (const std::uint32_t op : inner_ops) {
    state_parts(trace, nesting, nesting.parent[op], op, parts);
  }
  // Gradients whose parts nothing tells are of what layers take; a compiled graph takes what
  // gradients are stored for.
  const PartOfWhole of_parameters = parts.of([&](std::uint32_t op, std::size_t operand) {
    const OpRow& row = rows.of(op);
    const std::uint8_t argument = operands_of(trace, op).tensors.arguments[operand];
    return is_layer(row) && contains(row.arguments.parameters, argument);
  });
  const PartOfWhole of_gradients = parts.of([&](std::uint32_t op, std::size_t operand) {
    return operand == 0 && rows.of(op).is(stores_gradients);
  });
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const bool stores = rows.of(op).is(stores_gradients);
    if (!stores && !rows.of(op).is(calls_graph)) continue;
    const auto& known = stores ? of_parameters : of_gradients;
    for (const TensorShape& shape : operands_of(trace, op).tensors.shapes) {
      const auto part = known.find(dims_of(shape));
      if (part != known.end()) parts.state(op, shape, part->second);
    }
  }
  parts.write();
}

}  // namespace tandem
