#include "models/step/memory/trained_parameters.h"

#include <algorithm>

#include "models/step/op_rows.h"
#include "sim/core/data_type.h"

namespace tandem {
namespace {

struct Reached {
  TimePoint begin;
  const TensorShape* shape = nullptr;
};

/// How many of them one pass reaches: as many as the next one does. Layers run between two passes.
std::size_t one_pass(const std::vector<Reached>& reached, const std::vector<TimePoint>& layers) {
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

}  // namespace

double stored_bytes(const TensorShape& t) {
  return static_cast<double>(t.elements()) * std::max(element_bytes(t.type), 1);
}

TrainedParameters::TrainedParameters(const Trace& trace, const StepWindow& step) {
  std::vector<Reached> reached;
  std::vector<TimePoint> layers;
  OpRows rows(trace);
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const TimePoint begin = trace.ops.begin[op];
    if (begin < step.begin || begin >= step.end) continue;
    const OpRow& row = rows.of(op);
    if (is_layer(row)) layers.push_back(begin);
    if (!row.is(stores_gradients)) continue;
    const auto& shapes = operands_of(trace, op).tensors.shapes;
    if (!shapes.empty() && shapes[0].rank > 0) reached.push_back({begin, shapes.data()});
  }
  std::stable_sort(reached.begin(), reached.end(),
                   [](const Reached& a, const Reached& b) { return a.begin < b.begin; });
  std::sort(layers.begin(), layers.end());
  reached.resize(one_pass(reached, layers));
  for (const Reached& r : reached) reached_[dims_of(*r.shape)].push_back(*r.shape);
}

bool TrainedParameters::takes(const TensorShape& t) {
  const auto it = reached_.find(dims_of(t));
  if (it == reached_.end()) return false;
  for (TensorShape& reached : it->second) {  // a report without types states none of gradients
    if (reached.type == DataType::unknown) reached.type = t.type;
  }
  return true;
}

std::vector<TensorShape> TrainedParameters::shapes() const {
  std::vector<TensorShape> out;
  for (const auto& [dims, shapes] : reached_) out.insert(out.end(), shapes.begin(), shapes.end());
  return out;
}

}  // namespace tandem
