#include "models/step/unrecorded/types.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/kernel/classify/classify.h"
#include "models/kernel/classify/stated_types.h"
#include "models/ops/op_outputs.h"
#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

namespace {

/// An operation and the device work that it launched itself.
struct Launching {
  std::uint32_t op = no_row;
  std::vector<std::uint32_t> activities;
};

/// In the order of their first launch.
std::vector<Launching> launching_ops(const Trace& trace, const Links& links,
                                     const OpNesting& nesting) {
  std::vector<std::uint32_t> place(trace.ops.size(), no_row);
  std::vector<Launching> out;
  for (const std::uint32_t call : links.calls_in_order) {
    const std::uint32_t op = nesting.of_call[call];
    const auto activities = links.activities_of_call.of(call);
    if (op == no_row || activities.empty()) continue;
    if (place[op] == no_row) {
      place[op] = static_cast<std::uint32_t>(out.size());
      out.push_back({op, {}});
    }
    auto& all = out[place[op]].activities;
    all.insert(all.end(), activities.begin(), activities.end());
  }
  return out;
}

/// How much a type that a kernel's name states says of its operands: kernels on 16 bits name FP32
/// as their arithmetic, and nearly all kernels count in integers of 32 bits.
int weight(DataType stated) {
  if (is_half(stated)) return 3;
  if (is_floating(stated)) return 2;
  return stated == DataType::unknown || stated == DataType::int32 ? 0 : 1;
}

/// Types that an operand has whatever its kernels name; `unknown`: they decide.
DataType type_by_role(const OpRow& row, const OpTensors& in, std::size_t i) {
  const std::uint8_t argument = in.arguments[i];
  const bool kept = contains(row.arguments.saved_outputs, argument);
  const bool smaller = in.shapes[i].elements() < in.shapes.front().elements();
  switch (row.kind) {
    case OpKind::gather:
      return argument == row.arguments.at(ArgumentName::index) ? DataType::int64
                                                               : DataType::unknown;
    case OpKind::scatter: return row.backward && argument > 0 ? DataType::int64 : DataType::unknown;
    case OpKind::pooling_backward: return kept ? DataType::int64 : DataType::unknown;
    case OpKind::dropout: return kept ? DataType::boolean : DataType::unknown;
    case OpKind::batch_norm:
    case OpKind::batch_norm_backward:
      return contains(row.arguments.parameters, argument) ? DataType::fp32 : DataType::unknown;
    case OpKind::recurrent:  // what the library keeps for its gradient
      return row.backward && in.shapes[i].rank == 1 &&
                     argument > row.arguments.at(ArgumentName::mode)
                 ? DataType::int8
                 : DataType::unknown;
    case OpKind::attention_backward: return smaller ? DataType::fp32 : DataType::unknown;
    default: return DataType::unknown;
  }
}

/// What the device work of operations tells of their operands.
class WorkNames {
 public:
  explicit WorkNames(const Trace& trace) : trace_(trace) { find_half(); }

  StatedTypes stated_by(const Launching& launching) {
    StatedTypes out;
    const std::vector<TensorShape>& shapes = operands_of(trace_, launching.op).tensors.shapes;
    for (const std::uint32_t a : launching.activities) {
      StatedTypes told;
      const Collective* const message = collective_of(trace_, a);
      if (trace_.activities.kind[a] == ActivityKind::kernel && message == nullptr) {
        told = of_name(trace_.activities.name[a], launching.op);
      } else if (!shapes.empty()) {
        told.read = told.written =
            type_of_width(trace_.activities.bytes[a], shapes.front().elements());
      }
      if (is_half(told.written)) told.written = half_.value_or(told.written);
      if (is_half(told.read)) told.read = half_.value_or(told.read);
      if (weight(told.written) > weight(out.written)) out = told;
    }
    return out;
  }

  /// The integer or floating type that programs use of that width.
  DataType type_of_width(std::int64_t bytes, std::int64_t elements) const {
    if (elements < 1 || bytes % elements != 0) return DataType::unknown;
    switch (bytes / elements) {
      case 1: return DataType::boolean;
      case 2: return half_.value_or(DataType::fp16);
      case 4: return DataType::fp32;
      case 8: return DataType::int64;
      default: return DataType::unknown;
    }
  }

  /// The type of 16 bits that the trace computes in. A program has one; libraries call both f16.
  std::optional<DataType> half() const { return half_; }

 private:
  const StatedTypes& of_name(StringId kernel, std::uint32_t op) {
    const auto key = std::uint64_t{kernel.index()} << 32U | trace_.ops.name[op].index();
    const auto [it, is_new] = stated_.try_emplace(key);
    if (is_new) {
      const std::string_view name = text_of(trace_, kernel);
      it->second = stated_types(name, classify(name, text_of(trace_, trace_.ops.name[op])));
    }
    return it->second;
  }

  void find_half() {
    std::vector<bool> seen(trace_.strings.size(), false);
    for (std::size_t a = 0; a < trace_.activities.size(); ++a) {
      const StringId id = trace_.activities.name[a];
      if (trace_.activities.kind[a] != ActivityKind::kernel || seen[id.index()]) continue;
      seen[id.index()] = true;
      const std::string_view name = text_of(trace_, id);
      const DataType written = stated_types(name, classify(name)).written;
      if (written == DataType::bf16) half_ = DataType::bf16;
      if (written == DataType::fp16 && !half_) half_ = DataType::fp16;
    }
  }

  const Trace& trace_;
  std::optional<DataType> half_;
  std::unordered_map<std::uint64_t, StatedTypes> stated_;  // by kernel and operation
};

/// Finds the types of one operation after another.
class TypeFlow {
 public:
  explicit TypeFlow(Trace& trace) : trace_(trace), rows_(trace), names_(trace) {}

  void run(const Links& links) {
    nesting_ = nest_ops(trace_, links);
    for (const Launching& launching : launching_ops(trace_, links, nesting_)) visit(launching);
  }

 private:
  DataType latest(const TensorShape& shape) const {
    const auto it = latest_.find(shape.elements());
    return it == latest_.end() ? DataType::unknown : it->second;
  }

  /// What a kernel reads that converts it to another type than `written`.
  DataType other_than(DataType written, const TensorShape& shape) const {
    const DataType made = latest(shape);
    if (made != DataType::unknown && made != written) return made;
    if (written != DataType::fp32) return DataType::fp32;
    return names_.half().value_or(DataType::int64);
  }

  DataType type_of(const OpRow& row, const OpTensors& in, std::size_t i, const StatedTypes& told) {
    const TensorShape& shape = in.shapes[i];
    const DataType by_role = type_by_role(row, in, i);
    if (by_role != DataType::unknown) return by_role;
    if (row.kind == OpKind::cast && told.converts) {
      if (in.arguments[i] == 0 && in.shapes.size() > 1) return told.written;
      return told.read != DataType::unknown ? told.read : other_than(told.written, shape);
    }
    const DataType made = latest(shape);
    if (told.converts && is_floating(made)) return made;
    // Eight bytes may be an integer or a complex number.
    if (told.written == DataType::int64 && made == DataType::complex64) return made;
    if (weight(told.written) > 0) return told.written;
    // Whatever computes reads one type; tables were there before the step.
    const DataType common = row.kind == OpKind::gather ? DataType::unknown : common_type(in);
    return common != DataType::unknown ? common : DataType::fp32;
  }

  /// That of the first operand, or where it was made before the step (a cache that is written
  /// into), of the first one of floating point.
  DataType common_type(const OpTensors& in) const {
    const DataType first = latest(in.shapes.front());
    if (first != DataType::unknown) return first;
    for (const TensorShape& shape : in.shapes) {
      if (is_floating(latest(shape))) return latest(shape);
    }
    return DataType::unknown;
  }

  /// One operand of a kernel that converts is of another type than the result, and one is not.
  void tell_apart(const StatedTypes& told, std::vector<TensorShape>& shapes) const {
    if (!told.converts || shapes.size() < 2) return;
    const DataType type = shapes.front().type;
    const auto same = [&](const TensorShape& t) { return t.type == type; };
    if (!std::all_of(shapes.begin(), shapes.end(), same)) return;
    if (type != told.written) {
      shapes.back().type = told.written;
    } else {
      shapes.front().type = other_than(told.written, shapes.front());
    }
  }

  /// The first result is what others read; masks and the like come behind.
  void note(const std::vector<OutputShape>& results) {
    for (std::size_t i = results.size(); i-- > 0;) {
      const OutputShape& made = results[i];
      if (!made.known || made.shape.type == DataType::unknown) continue;
      latest_[made.elements()] = made.shape.type;
    }
  }

  /// What ranks gather is of the type that each of them sends.
  void note_gathered(const Launching& launching, DataType type) {
    const int width = element_bytes(type);
    for (const std::uint32_t a : launching.activities) {
      const Collective* const message = collective_of(trace_, a);
      if (message != nullptr && width > 0) latest_[message->out_bytes / width] = type;
    }
  }

  void visit(const Launching& launching) {
    const Operands& recorded = operands_of(trace_, launching.op);
    if (recorded.tensors.shapes.empty()) return;
    const OpRow& row = rows_.of(launching.op);
    const StatedTypes told = names_.stated_by(launching);
    Operands typed = recorded;
    for (std::size_t i = 0; i < typed.tensors.shapes.size(); ++i) {
      typed.tensors.shapes[i].type = type_of(row, recorded.tensors, i, told);
    }
    tell_apart(told, typed.tensors.shapes);
    const std::string_view name = text_of(trace_, trace_.ops.name[launching.op]);
    note(output_shapes(row, name, typed.tensors, typed.arguments));
    note_gathered(launching, typed.tensors.shapes.front().type);
    type_around(launching.op, typed.tensors, row.kind == OpKind::cast);
    trace_.ops.operands[launching.op] = trace_.operands.intern(std::move(typed));
  }

  /// Operations around this one have its operands, where nothing inside them read one before; of a
  /// conversion they have what it reads.
  void type_around(std::uint32_t op, const OpTensors& inside, bool converted) {
    for (std::uint32_t r = nesting_.parent[op]; r != no_row; r = nesting_.parent[r]) {
      Operands around = operands_of(trace_, r);
      bool changed = false;
      for (TensorShape& shape : around.tensors.shapes) {
        if (shape.type != DataType::unknown) continue;
        shape.type = same_size(inside, shape, converted);
        changed |= shape.type != DataType::unknown;
      }
      if (changed) trace_.ops.operands[r] = trace_.operands.intern(std::move(around));
    }
  }

  static DataType same_size(const OpTensors& inside, const TensorShape& shape, bool last) {
    DataType found = DataType::unknown;
    for (const TensorShape& t : inside.shapes) {
      if (t.elements() != shape.elements()) continue;
      if (last || found == DataType::unknown) found = t.type;
    }
    return found;
  }

  Trace& trace_;
  OpRows rows_;
  WorkNames names_;
  OpNesting nesting_;
  std::unordered_map<std::int64_t, DataType> latest_;  // by elements of a result
};

}  // namespace

bool lacks_types(const Trace& trace) {
  bool shapes = false;
  for (std::size_t op = 0; op < trace.ops.size(); ++op) {
    for (const TensorShape& shape : operands_of(trace, op).tensors.shapes) {
      if (shape.type != DataType::unknown) return false;
      shapes = true;
    }
  }
  return shapes;
}

void infer_unrecorded_types(Trace& trace, const Links& links) {
  if (lacks_types(trace)) TypeFlow(trace).run(links);
}

}  // namespace tandem
