#include "models/step/memory/trained_parameters.h"

#include <algorithm>
#include <set>

#include "models/step/op_rows.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

struct Reached {
  TimePoint begin;
  const TensorShape* shape = nullptr;
};

/// What tells the passes of a step apart, each in the order of time.
struct PassMarks {
  std::vector<Reached> reached;
  std::vector<TimePoint> layers;   // of forward passes
  std::vector<TimePoint> updates;  // operations of the optimizer
};

/// Rows of the operations of the step, in the order of time.
std::vector<std::uint32_t> ops_of(const Trace& trace, const StepWindow& step) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const TimePoint begin = trace.ops.begin[op];
    if (begin >= step.begin && begin < step.end) rows.push_back(op);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.ops.begin[a] < trace.ops.begin[b];
  });
  return rows;
}

/// Dimensions of what convolutions read.
class ConvolutionOperands {
 public:
  void see(const OpRow& row, const OpTensors& operands) {
    if (!is_convolution(row) || row.backward) return;
    for (std::size_t i = 0; i < operands.shapes.size(); ++i) {
      const std::uint8_t at = operands.arguments[i];
      const bool image = at == row.arguments.at(ArgumentName::input);
      if (image) images_.insert(dims_of(operands.shapes[i]));
      if (contains(row.arguments.parameters, at)) weights_.insert(dims_of(operands.shapes[i]));
    }
  }
  /// Several images that are no weight as well: a gradient that reaches them was asked of an input
  /// (penalties of slopes, adversarial examples).
  bool are_images(const TensorShape& shape) const {
    const auto dims = dims_of(shape);
    return dims[0] > 1 && images_.count(dims) > 0 && weights_.count(dims) == 0;
  }

 private:
  std::set<std::vector<std::int64_t>> images_, weights_;
};

/// Layers that run inside an autograd node compute again what was not kept: no pass begins there.
PassMarks pass_marks(const Trace& trace, const StepWindow& step) {
  PassMarks out;
  OpRows rows(trace);
  ConvolutionOperands convolutions;
  std::map<ThreadId, TimePoint> node_end;  // of the nodes so far, by their thread
  for (const std::uint32_t op : ops_of(trace, step)) {
    const TimePoint begin = trace.ops.begin[op];
    TimePoint& open_until = node_end.try_emplace(trace.ops.thread[op], begin).first->second;
    if (has_engine_prefix(text_of(trace, trace.ops.name[op]))) {
      open_until = std::max(open_until, begin + trace.ops.duration[op]);
    }
    const OpRow& row = rows.of(op);
    const bool computes = is_layer(row) || row.kind == OpKind::generated;
    if (computes && begin >= open_until) out.layers.push_back(begin);
    if (row.kind == OpKind::optimizer) out.updates.push_back(begin);
    convolutions.see(row, operands_of(trace, op).tensors);
    if (!row.is(stores_gradients)) continue;
    const auto& shapes = operands_of(trace, op).tensors.shapes;
    if (!shapes.empty() && shapes[0].rank > 0) out.reached.push_back({begin, shapes.data()});
  }
  std::erase_if(out.reached, [&](const Reached& r) { return convolutions.are_images(*r.shape); });
  return out;
}

/// Whether one of `times`, which are sorted, lies between the two.
bool any_between(const std::vector<TimePoint>& times, TimePoint from, TimePoint to) {
  const auto next = std::lower_bound(times.begin(), times.end(), from);
  return next != times.end() && *next <= to;
}

/// Dimensions beyond 1 in any order: a gradient may be that of the transposed matrix, or a sum that
/// keeps the dimensions it adds up.
std::vector<std::int64_t> sorted_dims(const TensorShape& shape) {
  std::vector<std::int64_t> out = dims_of(shape);
  std::erase(out, 1);
  std::sort(out.begin(), out.end());
  return out;
}

/// Whether each `size` of them, in any order, are alike.
bool passes_alike(const std::vector<Reached>& reached, std::size_t size) {
  const auto pass = [&](std::size_t from) {
    std::vector<std::vector<std::int64_t>> out;
    for (std::size_t k = from; k < from + size; ++k) out.push_back(sorted_dims(*reached[k].shape));
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto first = pass(0);
  for (std::size_t from = size; from < reached.size(); from += size) {
    if (pass(from) != first) return false;
  }
  return true;
}

/// How many of them one pass reaches: as many as the next one does. Layers run between two passes.
std::size_t one_pass(const PassMarks& marks) {
  const std::vector<Reached>& reached = marks.reached;
  const std::size_t all = reached.size();
  for (std::size_t size = 1; 2 * size <= all; ++size) {
    if (all % size != 0) continue;
    if (!any_between(marks.layers, reached[size - 1].begin, reached[size].begin)) continue;
    if (passes_alike(reached, size)) return size;
  }
  return all;
}

/// Whether the optimizer runs or drops the gradients between the first and the last of them: then
/// the passes are not of one update (several optimizers, SAM).
bool updated_between(const Trace& trace, const PassMarks& marks) {
  if (marks.reached.empty()) return false;
  const TimePoint from = marks.reached.front().begin, to = marks.reached.back().begin;
  if (any_between(marks.updates, from, to)) return true;
  const Annotations& notes = trace.annotations;
  for (std::size_t n = 0; n < notes.size(); ++n) {
    if (notes.begin[n] <= from || notes.begin[n] >= to) continue;
    if (op_row(text_of(trace, notes.name[n])).layer == Layer::optimizer) return true;
  }
  return false;
}

}  // namespace

double stored_bytes(const TensorShape& t) {
  return static_cast<double>(t.elements()) * std::max(element_bytes(t.type), 1);
}

TrainedParameters::TrainedParameters(const Trace& trace, const StepWindow& step) {
  PassMarks marks = pass_marks(trace, step);
  const std::size_t size = one_pass(marks);
  if (size > 0 && !updated_between(trace, marks)) {
    passes_ = static_cast<std::int64_t>(marks.reached.size() / size);
  }
  marks.reached.resize(size);
  for (const Reached& r : marks.reached) reached_[dims_of(*r.shape)].push_back(*r.shape);
}

bool TrainedParameters::holds_as_slice(const TensorShape& t) const {
  const std::vector<std::int64_t> dims = dims_of(t);
  if (dims.size() < 2 || reached_.count(dims) > 0) return false;
  return std::any_of(reached_.begin(), reached_.end(), [&](const auto& entry) {
    const std::vector<std::int64_t>& whole = entry.first;
    return whole.size() == dims.size() + 1 &&
           std::equal(dims.begin(), dims.end(), whole.begin() + 1);
  });
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
