#include "models/whatif/batch/peak_memory.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/ops/statistics_op.h"
#include "models/step/memory/step_memory.h"
#include "models/step/op_nesting.h"
#include "models/whatif/batch/parameters.h"
#include "models/whatif/batch/roles.h"
#include "models/whatif/edit/item_moments.h"
#include "sim/core/data_type.h"

namespace tandem {
namespace {

/// What PyTorch's DistributedDataParallel does with its buckets is named so in traces.
constexpr std::string_view bucket_op = "torch::distributed::reducer::";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
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

}  // namespace

std::optional<PeakMemory> step_memory(PeakMemory memory, const Step& step,
                                      std::int64_t base_batch) {
  memory.moments = item_moments(live_tensors(step, base_batch), base_batch, memory.kept_bytes,
                                memory.update_bytes);
  if (memory.moments.empty()) return {};
  return memory;
}

std::optional<PeakMemory> live_memory(const Step& step, std::int64_t base_batch,
                                      const BatchLaw& law, int compute_major) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  const BatchOps ops(step.trace, nesting, base_batch);
  const Parameters parameters = parameters_of(step, ops, nesting, base_batch);
  const Optimizer optimizer = find_optimizer(step.trace, ops);
  PeakMemory out;
  out.parameters = parameters.elements;
  out.table_rows_updated = parameters.table_elements;
  out.training = optimizer.present;
  out.optimizer_states = optimizer.states;
  const double dense = parameters.trained_bytes - parameters.table_bytes;
  const double states = out.training ? optimizer.states * dense : 0;
  out.bucket_bytes = out.training ? dense : 0;
  out.has_buckets = has_buckets(step.trace);
  out.kept_bytes = parameters.bytes + states + (out.has_buckets ? out.bucket_bytes : 0) +
                   law.workspace_bytes(compute_major);
  out.update_bytes = out.training ? dense + (optimizer.copies ? dense : 0) : 0;
  out.basis = parameters.compiled ? MemoryBasis::compiled
              : out.training      ? MemoryBasis::training
                                  : MemoryBasis::inference;
  return step_memory(std::move(out), step, base_batch);
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

double usable_bytes(const GpuArch& gpu, const BatchLaw& law) {
  return law.memory_usable_share * static_cast<double>(gpu.memory_bytes) - law.memory_context_bytes;
}

}  // namespace tandem
