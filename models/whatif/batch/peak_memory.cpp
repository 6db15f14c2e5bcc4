#include "models/whatif/batch/peak_memory.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "models/ops/statistics_op.h"
#include "models/step/op_nesting.h"
#include "models/step/step_memory.h"
#include "models/whatif/batch/roles.h"

namespace tandem {
namespace {

/// Relative, of what liveness finds: DEVIATIONS and validation/cases/traced_memory.json.
constexpr double live_uncertainty = 0.1;
/// The same with one measured batch, at another one; and with two.
constexpr double point_uncertainty = 0.08;
constexpr double points_uncertainty = 0.05;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

double bytes_of(const TensorShape& t) {
  return static_cast<double>(t.elements()) * std::max(element_bytes(t.type), 1);
}

bool inside(const Trace& trace, std::uint32_t op, const StepWindow& step) {
  return trace.ops.begin[op] >= step.begin && trace.ops.begin[op] < step.end;
}

// Parameters of one step, each layer once.
struct Parameters {
  std::int64_t elements = 0;
  double bytes = 0;
  double copy_bytes = 0;   // of the copies in half precision that autocast keeps
  double table_bytes = 0;  // of embedding tables whose gradients are sparse
  std::int64_t table_elements = 0;
};

using Dims = std::vector<std::int64_t>;
Dims dims_of(const TensorShape& t) { return {t.dims.begin(), t.dims.begin() + t.rank}; }

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

// Autocast copies the weights of a layer and keeps the copies through the forward pass. In training
// they stand where the gradients will be: the peak comes before those.
double autocast_copies(const Trace& trace, const BatchOps& ops, const std::set<Dims>& weights,
                       const StepWindow& step) {
  constexpr double half_bytes = 2;
  double bytes = 0;
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!inside(trace, row, step) || trace.ops.thread[row] != step.thread) continue;
    const BatchOp& op = ops.op(ops.number(row));
    const bool copy = op.row->kind == OpKind::cast && op.row->is(converts);
    if (!copy || op.tensors.shapes.empty()) continue;
    const TensorShape& t = op.tensors.shapes[0];
    if (t.type != DataType::fp32 || t.rank < 2 || weights.count(dims_of(t)) == 0) continue;
    bytes += half_bytes * static_cast<double>(t.elements());
  }
  return bytes;
}

// Layers are the outermost operations that take parameters. A layer that has the shape of an
// embedding table shares its weights (tied decoders of language models).
Parameters count_parameters(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                            const StepWindow& step) {
  Parameters out;
  const auto sparse = sparse_tables(trace, ops, step);
  std::set<Dims> tables, weights;
  const auto is_layer = [&](std::uint32_t row) {
    const OpRow& op = *ops.op(ops.number(row)).row;
    return op.arguments.parameters != 0 && !op.backward;
  };
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    if (!inside(trace, row, step) || !is_layer(row)) continue;
    std::uint32_t up = nesting.parent[row];
    while (up != no_row && !is_layer(up)) up = nesting.parent[up];
    if (up != no_row) continue;
    const BatchOp& op = ops.op(ops.number(row));
    const bool embedding = op.row->layer == Layer::embedding;
    for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
      const TensorShape& t = op.tensors.shapes[i];
      if (!contains(op.row->arguments.parameters, op.tensors.arguments[i]) || t.rank == 0) continue;
      if (embedding) tables.insert(dims_of(t));
      if (t.rank >= 2) weights.insert(dims_of(t));
      if (!embedding && t.rank == 2 && tables.count(dims_of(t)) > 0) continue;
      out.elements += t.elements(), out.bytes += bytes_of(t);
      if (!embedding || sparse.count(dims_of(t)) == 0) continue;
      out.table_elements += t.elements(), out.table_bytes += bytes_of(t);
    }
  }
  out.copy_bytes = autocast_copies(trace, ops, weights, step);
  return out;
}

// What the trace shows of the optimizer: its name, or what it does to the parameters.
struct Optimizer {
  bool present = false;
  bool copies = false;  // makes temporary copies of all parameters at once
  int states = 0;
};
Optimizer find_optimizer(const Trace& trace, const BatchOps& ops) {
  Optimizer out;
  for (const StringId name : trace.annotations.name) {
    const std::string_view text = trace.strings.get(name);
    if (!text.starts_with("Optimizer.step")) continue;
    out.present = true;
    if (has(text, "Adam") || has(text, "LAMB")) out.states = 2;
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

// Results of the forward operations: the largest growing operand is a fair guess of each; products
// state theirs. Operations in place allocate nothing.
double result_bytes(const BatchOp& op) {
  double largest = 0;
  int width = 4;
  for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
    if (op.axis[i] < 0) continue;
    largest = std::max(largest, static_cast<double>(op.tensors.shapes[i].elements()));
    width = std::max(element_bytes(op.tensors.shapes[i].type), 1);
  }
  const std::size_t first = op.row->arguments.at(ArgumentName::left);
  if (is_matrix_product(*op.row) && op.tensors.shapes.size() >= first + 2) {
    const auto &a = op.tensors.shapes[first], &b = op.tensors.shapes[first + 1];
    largest = static_cast<double>(a.dims[0]) * static_cast<double>(b.dims[1]);
  }
  return largest * width;
}

double forward_bytes(const Trace& trace, const BatchOps& ops, const OpNesting& nesting,
                     const StepWindow& step, bool training) {
  std::set<std::uint32_t> launching(nesting.of_activity.begin(), nesting.of_activity.end());
  launching.erase(no_row);
  double sum = 0, largest = 0;
  for (const std::uint32_t row : launching) {
    const BatchOp& op = ops.op(ops.number(row));
    const bool keeps_nothing = is_in_place(op.name) || op.row->output == OutputRule::channels;
    if (!inside(trace, row, step) || !op.grows() || keeps_nothing) continue;
    if (trace.ops.thread[row] != step.thread || op.row->backward) continue;
    const double bytes = result_bytes(op);
    sum += bytes, largest = std::max(largest, bytes);
  }
  return training ? sum : 2 * largest;  // inference keeps an operand and a result
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

}  // namespace

PeakMemory peak_memory(const Trace& trace, const Links& links, std::int64_t base_batch,
                       const BatchLaw& law) {
  const OpNesting nesting = nest_ops(trace, links);
  const BatchOps ops(trace, nesting, base_batch);
  const bool shapes = std::any_of(
      nesting.of_activity.begin(), nesting.of_activity.end(),
      [&](std::uint32_t row) { return row != no_row && ops.op(ops.number(row)).has_shapes(); });
  if (!shapes) {
    throw InputError(trace.path, "peak memory", "no operand shapes", "a trace that records shapes");
  }
  const StepWindow& step = links.steps.back();
  const Parameters parameters = count_parameters(trace, ops, nesting, step);
  const Optimizer optimizer = find_optimizer(trace, ops);
  PeakMemory out;
  out.parameters = parameters.elements;
  out.table_rows_updated = parameters.table_elements;
  out.training = optimizer.present;
  out.optimizer_states = optimizer.states;
  const double dense = parameters.bytes - parameters.table_bytes;
  const double copies = out.training ? 1 + optimizer.states : 0;
  const double kept = out.training ? copies * dense : parameters.copy_bytes;
  out.gradient_bytes = out.training ? dense : 0;
  out.copy_bytes = out.training ? 0 : parameters.copy_bytes;
  out.fixed_bytes = parameters.bytes + kept + law.memory_workspace_bytes;
  out.floor_bytes = out.fixed_bytes + (optimizer.copies ? dense : 0);
  out.item_bytes =
      forward_bytes(trace, ops, nesting, step, out.training) / static_cast<double>(base_batch);
  out.uncertainty = 0.4;
  return out;
}

std::optional<PeakMemory> live_memory(const Step& step, std::int64_t base_batch,
                                      const BatchLaw& law) {
  const std::optional<LiveTensors> live = live_tensors(step, base_batch);
  if (!live) return {};
  PeakMemory out = peak_memory(step.trace, step.links, base_batch, law);
  out.fixed_bytes -= out.gradient_bytes + out.copy_bytes;
  out.fixed_bytes += live->fixed_bytes;
  out.item_bytes = live->growing_bytes / static_cast<double>(base_batch);
  out.uncertainty = live_uncertainty;
  return out;
}

// One point: the part that does not grow is as uncertain as the part that does, each in proportion
// to its size, and the point lies on the line.
PeakMemory through_points(const PeakMemory& live, std::span<const MemoryPoint> points,
                          const std::string& path) {
  check_points(path, points);
  const MemoryPoint &first = points.front(), &last = points.back();
  PeakMemory out = live;
  out.points = points.size();
  if (points.size() > 1 && last.peak_bytes > first.peak_bytes) {
    out.item_bytes =
        (last.peak_bytes - first.peak_bytes) / static_cast<double>(last.batch - first.batch);
  } else {
    const auto b = static_cast<double>(first.batch);
    const double fixed = live.fixed_bytes / b;
    const double slope = std::max((first.peak_bytes - live.fixed_bytes) / b, 0.0);
    const double all = fixed * fixed + live.item_bytes * live.item_bytes;
    const double weight = all > 0 ? live.item_bytes * live.item_bytes / all : 1;
    out.item_bytes =
        std::min(weight * slope + (1 - weight) * live.item_bytes, first.peak_bytes / b);
  }
  out.fixed_bytes =
      std::max(first.peak_bytes - out.item_bytes * static_cast<double>(first.batch), 0.0);
  out.floor_bytes = std::min(out.floor_bytes, first.peak_bytes);
  out.uncertainty = points.size() > 1 ? points_uncertainty : point_uncertainty;
  return out;
}

double peak_bytes(const PeakMemory& memory, std::int64_t batch) {
  return std::max(memory.fixed_bytes + memory.item_bytes * static_cast<double>(batch),
                  memory.floor_bytes);
}

namespace {

double usable_bytes(const GpuArch& gpu, const BatchLaw& law) {
  return law.memory_usable_share * static_cast<double>(gpu.memory_bytes) - law.memory_context_bytes;
}

}  // namespace

bool fits(const PeakMemory& memory, std::int64_t batch, const GpuArch& gpu, const BatchLaw& law) {
  return peak_bytes(memory, batch) <= usable_bytes(gpu, law);
}

std::int64_t largest_batch(const PeakMemory& memory, const GpuArch& gpu, const BatchLaw& law) {
  if (!fits(memory, 1, gpu, law)) return 0;
  if (memory.item_bytes <= 0) return std::int64_t{1} << 31;
  return static_cast<std::int64_t>((usable_bytes(gpu, law) - memory.fixed_bytes) /
                                   memory.item_bytes);
}

}  // namespace tandem
