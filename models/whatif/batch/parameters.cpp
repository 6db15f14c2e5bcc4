#include "models/whatif/batch/parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "models/step/memory/graph_flow.h"
#include "sim/core/data_type.h"

namespace tandem {
namespace {

double stored_bytes(const TensorShape& t) {
  return static_cast<double>(t.elements()) * std::max(element_bytes(t.type), 1);
}

bool inside(const Trace& trace, std::uint32_t op, const StepWindow& step) {
  return trace.ops.begin[op] >= step.begin && trace.ops.begin[op] < step.end;
}

using Dims = std::vector<std::int64_t>;

bool is_layer(const BatchOp& op) { return op.row->arguments.parameters != 0 && !op.row->backward; }

/// The parameters that the gradients of a step reach, each once: only their dimensions tell which
/// ones a step was given beside them.
class TrainedParameters {
 public:
  TrainedParameters(const Trace& trace, const BatchOps& ops, const StepWindow& step) {
    std::vector<Reached> reached;
    std::vector<TimePoint> layers;
    for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
      const BatchOp& op = ops.op(ops.number(row));
      if (!inside(trace, row, step) || !op.has_shapes()) continue;
      if (is_layer(op)) layers.push_back(trace.ops.begin[row]);
      const TensorShape& t = op.tensors.shapes[0];
      if (op.row->is(stores_gradients) && t.rank > 0) {
        reached.push_back({trace.ops.begin[row], &t});
      }
    }
    const auto by_time = [](const Reached& a, const Reached& b) { return a.begin < b.begin; };
    std::stable_sort(reached.begin(), reached.end(), by_time);
    std::sort(layers.begin(), layers.end());
    reached.resize(one_pass(reached, layers));
    for (const Reached& r : reached) sum_.add(*r.shape), dims_.insert(dims_of(*r.shape));
  }

  bool empty() const { return dims_.empty(); }
  /// `listed` with what gradients reach in place of what has their dimensions; `others`: the rest.
  Parameters among(const Parameters& listed, const Parameters& others) const {
    Parameters out = listed;
    out.elements = sum_.elements + others.elements;
    out.bytes = sum_.bytes + others.bytes;
    out.trained_bytes = sum_.bytes;
    return out;
  }
  bool has(const TensorShape& t) const { return dims_.count(dims_of(t)) > 0; }

 private:
  struct Reached {
    TimePoint begin;
    const TensorShape* shape = nullptr;
  };

  /// A step that adds up the gradients of several passes reaches all parameters in each of them:
  /// as many as one does. Layers run between two passes.
  static std::size_t one_pass(const std::vector<Reached>& reached,
                              const std::vector<TimePoint>& layers) {
    const std::size_t all = reached.size();
    for (std::size_t size = 1; 2 * size <= all; ++size) {
      const auto next = std::lower_bound(layers.begin(), layers.end(), reached[size - 1].begin);
      if (all % size != 0 || next == layers.end() || *next > reached[size].begin) continue;
      const bool repeats = std::equal(
          reached.begin(), reached.end() - std::ptrdiff_t(size),
          reached.begin() + std::ptrdiff_t(size),
          [](const Reached& a, const Reached& b) { return same_dims(*a.shape, *b.shape); });
      if (repeats) return size;
    }
    return all;
  }

  Parameters sum_;
  std::set<Dims> dims_;
};

// Tables that the optimizer updates row by row: their gradients are sparse.
std::set<Dims> sparse_tables(const Trace& trace, const BatchOps& ops, const StepWindow& step) {
  std::set<Dims> out;
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    const BatchOp& op = ops.op(ops.number(row));
    if (!inside(trace, row, step) || !op.row->is(adds_rows) || !op.has_shapes()) continue;
    out.insert(dims_of(op.tensors.shapes[0]));
  }
  return out;
}

/// What is added to another of its shape, as the two gradients of a weight that two layers share.
std::set<Dims> summed_tables(const Trace& trace, const BatchOps& ops, const StepWindow& step) {
  std::set<Dims> out;
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    const BatchOp& op = ops.op(ops.number(row));
    if (!inside(trace, row, step) || !op.row->is(adds_gradients)) continue;
    const TensorShape *to = op.tensors.at(0), *other = op.tensors.at(1);
    if (to != nullptr && other != nullptr && same_dims(*to, *other)) out.insert(dims_of(*to));
  }
  return out;
}

bool goes_backward(const Trace& trace, const BatchOps& ops, const StepWindow& step) {
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (inside(trace, row, step) && ops.op(ops.number(row)).row->backward) return true;
  }
  return false;
}

/// The outermost operation from `row` up that takes parameters, or no_row.
std::uint32_t layer_of(const BatchOps& ops, const OpNesting& nesting, std::uint32_t row) {
  std::uint32_t layer = no_row;
  for (; row != no_row; row = nesting.parent[row]) {
    if (is_layer(ops.op(ops.number(row)))) layer = row;
  }
  return layer;
}

/// Which weights a layer has in common with an earlier one. Autocast converts a weight once in a
/// region and keeps the copy: a layer that computes with a converted weight and converts none of
/// its dimensions reads one that an earlier layer has converted.
class SharedWeights {
 public:
  SharedWeights(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                const StepWindow& step) {
    for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
      if (!inside(trace, row, step)) continue;
      const std::uint32_t layer = layer_of(ops, nesting, row);
      if (layer != no_row && layer != row) see(ops.op(ops.number(row)), layers_[layer]);
    }
  }

  /// Layers come in the order of the trace.
  bool read_before(std::uint32_t layer, const TensorShape& weight) {
    const auto it = layers_.find(layer);
    if (it == layers_.end() || element_bytes(weight.type) != element_bytes(DataType::fp32)) {
      return false;
    }
    const Dims dims = dims_of(weight);
    if (it->second.converted.count(dims) == 0) {
      return it->second.computed_with.count(dims) > 0 && converted_.count(dims) > 0;
    }
    converted_.insert(dims);
    return false;
  }

 private:
  struct LayerParts {
    std::set<Dims> converted;      // to 16 bits
    std::set<Dims> computed_with;  // parameters of 16 bits that an operation inside takes
  };

  static void see(const BatchOp& op, LayerParts& layer) {
    for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
      const TensorShape& t = op.tensors.shapes[i];
      if (op.row->kind == OpKind::cast) layer.converted.insert(dims_of(t));
      const bool half = is_floating(t.type) && element_bytes(t.type) == 2;
      if (half && is_layer(op) && contains(op.row->arguments.parameters, op.tensors.arguments[i])) {
        layer.computed_with.insert(dims_of(t));
      }
    }
  }

  std::map<std::uint32_t, LayerParts> layers_;  // by row
  std::set<Dims> converted_;                    // by the layers so far
};

/// The bare weight of a product that is inside of no other one; null of other operations.
const TensorShape* outermost_weight(const BatchOps& ops, const OpNesting& nesting,
                                    std::uint32_t row) {
  const auto weight_of = [&](std::uint32_t r) {
    const BatchOp& op = ops.op(ops.number(r));
    return bare_weight(*op.row, op.tensors);
  };
  const TensorShape* weight = weight_of(row);
  for (std::uint32_t r = nesting.parent[row]; weight != nullptr && r != no_row;
       r = nesting.parent[r]) {
    if (weight_of(r) != nullptr) return nullptr;
  }
  return weight;
}

// What gradients reach, and of the other parameters those that layers take: they are frozen.
// Layers are the outermost operations that take parameters. A layer that has the shape of an
// embedding table shares its weights (tied decoders of language models), unless a step that trains
// does not add up their gradients.
Parameters count_parameters(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                            const StepWindow& step) {
  Parameters out, frozen;
  const TrainedParameters gradients(trace, ops, step);
  const auto add = [&](const TensorShape& t) {
    out.add(t);
    if (!gradients.has(t)) frozen.add(t);
  };
  const auto sparse = sparse_tables(trace, ops, step);
  std::set<Dims> tables;
  SharedWeights shared(trace, ops, nesting, step);
  const bool trains = goes_backward(trace, ops, step);
  const std::set<Dims> summed = summed_tables(trace, ops, step);
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!inside(trace, row, step)) continue;
    const std::uint32_t layer = layer_of(ops, nesting, row);
    if (const TensorShape* t = layer == no_row ? outermost_weight(ops, nesting, row) : nullptr) {
      add(*t);
    }
    if (layer != row) continue;
    const BatchOp& op = ops.op(ops.number(row));
    const bool embedding = op.row->layer == Layer::embedding;
    for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
      const TensorShape& t = op.tensors.shapes[i];
      if (!contains(op.row->arguments.parameters, op.tensors.arguments[i]) || t.rank == 0) continue;
      const bool tied = !trains || summed.count(dims_of(t)) > 0;
      if (embedding && tied) tables.insert(dims_of(t));
      if (!embedding && t.rank == 2 && tables.count(dims_of(t)) > 0) continue;
      if (shared.read_before(row, t)) continue;
      add(t);
      if (!embedding || sparse.count(dims_of(t)) == 0) continue;
      out.table_elements += t.elements(), out.table_bytes += stored_bytes(t);
    }
  }
  out.trained_bytes = out.bytes;
  return gradients.empty() ? out : gradients.among(out, frozen);
}

/// The same of compiled graphs; nothing if there are none.
std::optional<Parameters> graph_parameters(const Step& step, const BatchOps& ops,
                                           std::int64_t batch) {
  const GraphOperands graphs = graph_operands(step, dataflow(step), batch);
  if (graphs.parameters.empty()) return {};
  const TrainedParameters gradients(step.trace, ops, step.links.steps.back());
  Parameters out, others;
  out.compiled = true;
  for (const TensorShape& t : graphs.parameters) {
    out.add(t);
    if (!gradients.has(t)) others.add(t);
  }
  out.trained_bytes = out.bytes;
  return gradients.empty() ? out : gradients.among(out, others);
}

}  // namespace

void Parameters::add(const TensorShape& t) {
  elements += t.elements();
  bytes += stored_bytes(t);
}

Parameters parameters_of(const Step& step, const BatchOps& ops, const OpNesting& nesting,
                         std::int64_t batch) {
  const auto compiled = graph_parameters(step, ops, batch);
  return compiled ? *compiled : count_parameters(step.trace, ops, nesting, step.links.steps.back());
}

}  // namespace tandem
