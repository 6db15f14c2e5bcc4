#include "models/step/memory/peak_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/ops/statistics_op.h"
#include "models/step/batch/roles.h"
#include "models/step/binding/compiled_graphs.h"
#include "models/step/memory/item_moments.h"
#include "models/step/memory/passes.h"
#include "models/step/memory/sharded_parameters.h"
#include "models/step/memory/step_memory.h"
#include "models/step/memory/trained_parameters.h"
#include "models/step/memory/workspace.h"
#include "models/step/op_nesting.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

/// What PyTorch's DistributedDataParallel does with its buckets is named so in traces.
constexpr std::string_view bucket_op = "torch::distributed::reducer::";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool inside(const Trace& trace, std::uint32_t op, const StepWindow& step) {
  return trace.ops.begin[op] >= step.begin && trace.ops.begin[op] < step.end;
}

// Parameters of one step, each layer once.
struct Parameters {
  std::int64_t elements = 0;
  double bytes = 0;
  double trained_bytes = 0;  // of those that a gradient reaches
  double table_bytes = 0;    // of embedding tables whose gradients are sparse

  void add(const TensorShape& t) { elements += t.elements(), bytes += stored_bytes(t); }
};

using Dims = std::vector<std::int64_t>;

/// `listed` with what gradients reach in place of what has their dimensions; `others`: the rest.
Parameters with_gradients(const TrainedParameters& gradients, Parameters listed,
                          const Parameters& others) {
  listed.trained_bytes = listed.bytes;
  if (gradients.empty()) return listed;
  Parameters trained;
  for (const TensorShape& t : gradients.shapes()) trained.add(t);
  listed.elements = trained.elements + others.elements;
  listed.bytes = trained.bytes + others.bytes;
  listed.trained_bytes = trained.bytes;
  return listed;
}

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
    if (is_layer(*ops.op(ops.number(row)).row)) layer = row;
  }
  return layer;
}

/// Whether a node of the backward pass runs the operation: again, or to compute a gradient, where
/// what stands at a weight's place may be another gradient.
bool runs_in_node(const Trace& trace, const OpNesting& nesting, std::uint32_t row) {
  while (row != no_row && !has_engine_prefix(text_of(trace, trace.ops.name[row]))) {
    row = nesting.parent[row];
  }
  return row != no_row;
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
      if (half && is_layer(*op.row) &&
          contains(op.row->arguments.parameters, op.tensors.arguments[i])) {
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

/// Whether a convolution has filters of its own for each item: items are groups of one image then,
/// and the filters were computed (dynamic convolutions, those of StyleGAN 2).
bool has_filters_of_items(const BatchOp& op, std::int64_t batch) {
  if (!is_convolution(*op.row)) return false;
  const TensorShape* const image = op.tensors.at(op.row->arguments.at(ArgumentName::input));
  const TensorShape* const weight = op.tensors.at(op.row->arguments.at(ArgumentName::weight));
  if (image == nullptr || weight == nullptr || image->rank < 3 || weight->rank < 3) return false;
  const std::int64_t group = std::max<std::int64_t>(1, weight->dims[1]);
  return batch > 1 && image->dims[0] == 1 && (image->dims[1] / group) % batch == 0;
}

/// Which rows of the trace belong to layers of the step that have run before in it: their weights
/// count once.
std::vector<bool> repeated_rows(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                                const StepWindow& step) {
  std::vector<std::uint32_t> rows;
  std::vector<LayerUse> layers;
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!inside(trace, row, step) || layer_of(ops, nesting, row) != row) continue;
    const BatchOp& op = ops.op(ops.number(row));
    LayerUse layer{op.row->layer == Layer::embedding, op.row->is(recurrent_cell), {}};
    for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
      if (!contains(op.row->arguments.parameters, op.tensors.arguments[i])) continue;
      layer.parameters.push_back(op.tensors.shapes[i]);
    }
    rows.push_back(row);
    layers.push_back(std::move(layer));
  }
  std::vector<bool> out(trace.ops.size(), false);
  const std::size_t once = layers_before_repeats(layers);
  if (once < rows.size()) std::fill(out.begin() + rows[once], out.end(), true);
  const std::vector<bool> again = repeated_steps(layers);
  for (std::size_t i = 0; i < rows.size(); ++i) out[rows[i]] = out[rows[i]] || again[i];
  return out;
}

/// Matrices that layers beside embeddings multiply with: what has the shape of one may be shared.
std::set<Dims> layer_matrices(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                              const StepWindow& step) {
  std::set<Dims> out;
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!inside(trace, row, step) || layer_of(ops, nesting, row) != row) continue;
    const BatchOp& op = ops.op(ops.number(row));
    if (op.row->layer == Layer::embedding) continue;
    for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
      const TensorShape& t = op.tensors.shapes[i];
      const bool parameter = contains(op.row->arguments.parameters, op.tensors.arguments[i]);
      if (parameter && t.rank == 2) out.insert(dims_of(t));
    }
  }
  return out;
}

// What gradients reach, and of the other parameters those that layers of one pass take: they are
// frozen. Layers are the outermost operations that take parameters. A layer that has the shape of
// an embedding table shares its weights (tied decoders of language models), unless a step that
// trains does not add up their gradients; then further tables of that shape are the same, too (one
// vocabulary for what is read and what is written).
Parameters count_parameters(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                            const StepWindow& step, std::int64_t batch) {
  Parameters out, frozen;
  TrainedParameters gradients(trace, step);
  const auto add = [&](const TensorShape& t) {
    if (gradients.holds_as_slice(t)) return;
    out.add(t);
    if (!gradients.takes(t)) frozen.add(t);
  };
  const auto sparse = sparse_tables(trace, ops, step);
  std::set<Dims> tables;
  SharedWeights shared(trace, ops, nesting, step);
  const bool trains = goes_backward(trace, ops, step);
  const std::set<Dims> summed = summed_tables(trace, ops, step);
  const std::set<Dims> matrices = layer_matrices(trace, ops, nesting, step);
  const std::vector<bool> repeated = repeated_rows(trace, ops, nesting, step);
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!inside(trace, row, step) || repeated[row] || runs_in_node(trace, nesting, row)) continue;
    const std::uint32_t layer = layer_of(ops, nesting, row);
    if (const TensorShape* t = layer == no_row ? outermost_weight(ops, nesting, row) : nullptr) {
      add(*t);
    }
    if (layer != row) continue;
    const BatchOp& op = ops.op(ops.number(row));
    if (has_filters_of_items(op, batch)) continue;
    const bool embedding = op.row->layer == Layer::embedding;
    for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
      const TensorShape& t = op.tensors.shapes[i];
      if (!contains(op.row->arguments.parameters, op.tensors.arguments[i]) || t.rank == 0) continue;
      const bool tied = !trains || summed.count(dims_of(t)) > 0;
      if (embedding && tied && !tables.insert(dims_of(t)).second &&
          matrices.count(dims_of(t)) > 0) {
        continue;
      }
      if (!embedding && t.rank == 2 && tables.count(dims_of(t)) > 0) continue;
      if (shared.read_before(row, t)) continue;
      add(t);
      if (!embedding || sparse.count(dims_of(t)) == 0) continue;
      out.table_bytes += stored_bytes(t);
    }
  }
  return with_gradients(gradients, out, frozen);
}

/// The same of compiled graphs; nothing if there are none. The optimizer runs outside of them, so
/// that it tells of sparse gradients as it does without a compiler.
std::optional<Parameters> graph_parameters(const Step& step, const Dataflow& flow,
                                           const BatchOps& ops, std::int64_t batch) {
  const GraphOperands graphs = graph_operands(step, flow, batch);
  if (graphs.parameters.empty()) return {};
  TrainedParameters gradients(step.trace, step.links.steps.back());
  const std::set<Dims> sparse = sparse_tables(step.trace, ops, step.links.steps.back());
  Parameters out, others;
  for (const TensorShape& t : graphs.parameters) {
    out.add(t);
    const bool trained = gradients.takes(t);
    if (!trained) others.add(t);
    if (trained && sparse.count(dims_of(t)) > 0) out.table_bytes += stored_bytes(t);
  }
  return with_gradients(gradients, out, others);
}

// What the trace shows of the optimizer: its name, or what it does to the parameters.
struct Optimizer {
  bool present = false;
  bool copies = false;  // makes temporary copies of all parameters at once
  int states = 0;
};

/// Whether ranks sum gradients in buckets (PyTorch's DistributedDataParallel), which are there all
/// along.
bool has_buckets(const Trace& trace) {
  return std::any_of(trace.ops.name.begin(), trace.ops.name.end(),
                     [&](StringId name) { return trace.strings.get(name).starts_with(bucket_op); });
}

Optimizer find_optimizer(const Trace& trace, const BatchOps& ops) {
  Optimizer out;
  for (const StringId name : trace.annotations.name) {
    const std::string_view text = trace.strings.get(name);
    if (!text.starts_with("Optimizer.step")) continue;
    out.present = true;
    // Networks name theirs in capitals.
    if (has(text, "Adam") || has(text, "ADAM") || has(text, "LAMB")) out.states = 2;
    if (has(text, "RMSprop") || has(text, "Adagrad")) out.states = 1;
  }
  bool momentum = false;
  const std::vector<bool> in_optimizer = ops_of_optimizer(trace);
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!in_optimizer[row]) continue;
    const BatchOp& op = ops.op(ops.number(row));
    momentum = momentum || (op.row->is(multiplies) && is_in_place(op.name));
    out.copies = out.copies || (op.row->is(copies_all) && !is_in_place(op.name));
  }
  if (out.states == 0 && momentum) out.states = 1;
  return out;
}

void check_points(const std::string& path, std::span<const MemoryPoint> points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MemoryPoint& p = points[i];
    if (p.batch > 0 && p.peak_bytes > 0 && std::isfinite(p.peak_bytes) &&
        (i == 0 || p.batch > points[i - 1].batch)) {
      continue;
    }
    throw InputError(path, "peak memory",
                     std::to_string(p.peak_bytes) + " bytes at batch " + std::to_string(p.batch),
                     "positive bytes, batches in ascending order");
  }
}

/// The line through the one point of `first` that item bytes of `item` give, and the other moments
/// moved along with the worst one of `live`, below the point.
std::vector<MemoryMoment> moved(const PeakMemory& live, const MemoryMoment& worst,
                                const MemoryMoment& line, const MemoryPoint& point) {
  const auto b = static_cast<double>(point.batch);
  const double ratio = worst.growing_bytes > 0 ? line.growing_bytes / worst.growing_bytes : 1;
  std::vector<MemoryMoment> out{line};
  for (const MemoryMoment& m : live.moments) {
    const double grows = m.growing_bytes * ratio;
    const double fixed = m.fixed_bytes + line.fixed_bytes - worst.fixed_bytes;
    out.push_back({std::min(fixed, point.peak_bytes - grows * b), grows});
  }
  return out;
}

/// `live`: at `batch`. Nothing if there are none: the step has no shapes.
std::optional<PeakMemory> with_moments(PeakMemory memory, std::vector<MemoryMoment> live,
                                       std::int64_t batch) {
  memory.moments = item_moments(std::move(live), batch, {memory.kept_bytes, memory.kept_item_bytes},
                                memory.update_bytes);
  if (memory.moments.empty()) return {};
  return memory;
}

}  // namespace

std::optional<PeakMemory> step_memory(PeakMemory memory, const Step& step,
                                      std::int64_t base_batch) {
  return with_moments(std::move(memory), live_tensors(step, base_batch), base_batch);
}

PeakMemory with_weights(PeakMemory memory, double ratio) {
  const double before = memory.kept.sum();
  memory.kept.parameters *= ratio;
  memory.kept.states *= ratio;
  memory.kept.buckets *= ratio;
  // What was measured may differ from the sum of its parts.
  memory.kept_bytes += memory.kept.sum() - before;
  memory.update_bytes *= ratio;
  memory.bucket_bytes *= ratio;
  return memory;
}

std::optional<PeakMemory> live_memory(const Step& step, std::int64_t base_batch,
                                      const DeviceMemory& device, int compute_major) {
  const Dataflow flow = dataflow(step);
  const BatchOps ops(step.trace, flow.nesting, base_batch);
  const auto compiled = graph_parameters(step, flow, ops, base_batch);
  const Parameters parameters = compiled ? *compiled
                                         : count_parameters(step.trace, ops, flow.nesting,
                                                            step.links.steps.back(), base_batch);
  const Optimizer optimizer = find_optimizer(step.trace, ops);
  PeakMemory out;
  out.parameters = parameters.elements;
  out.training = optimizer.present;
  const ShardedParameters shards = sharded_parameters(step.trace, step.links);
  const double whole = parameters.trained_bytes - parameters.table_bytes;
  const double dense = whole * shards.width / shards.ranks;
  out.bucket_bytes = out.training ? dense : 0;
  out.has_buckets = has_buckets(step.trace);
  out.kept.parameters = parameters.bytes - whole + dense + shards.gathered_bytes;
  out.kept.states = out.training ? optimizer.states * dense : 0;
  out.kept.buckets = out.has_buckets ? out.bucket_bytes : 0;
  out.kept.workspaces = device.workspaces(compute_major, product_handles(step, flow, out.training));
  out.kept_bytes = out.kept.sum();
  // No unit of sharded parameters is whole while the optimizer updates them.
  const double update = out.training ? dense + (optimizer.copies ? dense : 0) : 0;
  out.update_bytes = std::max(0.0, update - shards.gathered_bytes);
  out.basis = compiled       ? MemoryBasis::compiled
              : out.training ? MemoryBasis::training
                             : MemoryBasis::inference;
  return with_moments(std::move(out), live_tensors(step, flow, ops, base_batch), base_batch);
}

// One point: the part that does not grow is as uncertain as the part that does, each in proportion
// to its size, and the point lies on the line.
PeakMemory through_points(const PeakMemory& live, std::span<const MemoryPoint> points,
                          const std::string& path) {
  check_points(path, points);
  const MemoryPoint &first = points.front(), &last = points.back();
  const auto b = static_cast<double>(first.batch);
  PeakMemory out = live;
  out.points = points.size();
  out.basis = MemoryBasis::recorded;
  if (points.size() > 1 && last.peak_bytes > first.peak_bytes) {
    const double item =
        (last.peak_bytes - first.peak_bytes) / static_cast<double>(last.batch - first.batch);
    out.moments = {{first.peak_bytes - item * b, item},
                   {std::min(live.kept_bytes, first.peak_bytes), 0}};
    return out;
  }
  const MemoryMoment worst = *std::max_element(
      live.moments.begin(), live.moments.end(), [&](const MemoryMoment& x, const MemoryMoment& y) {
        return x.fixed_bytes + b * x.growing_bytes < y.fixed_bytes + b * y.growing_bytes;
      });
  const double fixed = worst.fixed_bytes / b;
  const double slope = std::max((first.peak_bytes - worst.fixed_bytes) / b, 0.0);
  const double all = fixed * fixed + worst.growing_bytes * worst.growing_bytes;
  const double weight = all > 0 ? worst.growing_bytes * worst.growing_bytes / all : 1;
  const double item =
      std::min(weight * slope + (1 - weight) * worst.growing_bytes, first.peak_bytes / b);
  const MemoryMoment line{first.peak_bytes - item * b, item};
  out.moments = moved(live, worst, line, first);
  return out;
}

double peak_bytes(const PeakMemory& memory, std::int64_t batch) {
  return worst_bytes(memory.moments, static_cast<double>(batch));
}

}  // namespace tandem
