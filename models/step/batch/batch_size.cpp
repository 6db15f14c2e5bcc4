#include "models/step/batch/batch_size.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "models/step/memory/trained_parameters.h"
#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"

namespace tandem {
namespace {

/// The first dimension of the tensor at argument `position`.
std::optional<std::int64_t> leading_dimension(const Operands& operands, std::size_t position) {
  const TensorShape* const tensor = operands.tensors.at(position);
  if (tensor == nullptr || tensor->rank == 0 || tensor->dims[0] < 1) return {};
  return tensor->dims[0];
}

/// Position of the operand whose leading dimension counts the items, if the operation is a layer
/// that a network may begin with.
std::optional<std::size_t> items_argument(const OpRow& row) {
  const OpArguments& args = row.arguments;
  if (row.backward) return {};
  // Images that are cut into patches first: the layers behind count patches. Blocks in one call
  // have the items first.
  if (row.output == OutputRule::unfolded || row.is(whole_block)) return 0;
  if (args.parameters == 0) return {};
  if (row.kind == OpKind::convolution || is_layer_product(row)) return args.at(ArgumentName::input);
  if (is_matrix_product(row)) return args.at(ArgumentName::left);
  if (row.layer == Layer::embedding) return args.at(ArgumentName::index);
  return {};
}

/// The number of items that an operation is given, where it is a layer that a network may begin
/// with and states it.
std::optional<std::int64_t> items_given(const Trace& trace, const OpRow& row, std::uint32_t op) {
  const auto argument = items_argument(row);
  return argument ? leading_dimension(operands_of(trace, op), *argument) : std::nullopt;
}

bool is_index(DataType type) { return type == DataType::int64 || type == DataType::int32; }

/// Of what compiled code is given.
struct Compiled {
  bool any = false;
  std::optional<std::int64_t> items = {};
  TimePoint begin = TimePoint::max();  // of the call that is given them
};

/// The leading dimension of the operand that `pick` takes of the first call of compiled code from
/// `from` on of which it takes one; of the first that has operands, if that `decides`.
template <typename Pick>
Compiled compiled_items(const Trace& trace, TimePoint from, OpRows& rows, bool decides, Pick pick) {
  Compiled out;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    if (rows.of(i).kind != OpKind::generated) continue;
    out.any = true;
    if (trace.ops.begin[i] < from || trace.ops.begin[i] >= out.begin) continue;
    const std::vector<TensorShape>& shapes = operands_of(trace, i).tensors.shapes;
    const TensorShape* const found = pick(shapes);
    if (found == nullptr && (!decides || shapes.empty())) continue;
    out.begin = trace.ops.begin[i];
    out.items = found != nullptr ? std::optional(found->dims[0]) : std::nullopt;
  }
  return out;
}

/// The first of them that `is` what counts, or null.
template <typename Is>
const TensorShape* first_of(const std::vector<TensorShape>& shapes, Is is) {
  const auto found = std::find_if(shapes.begin(), shapes.end(), is);
  return found == shapes.end() ? nullptr : &*found;
}

/// By indices of two dimensions: items and their tokens. A single row beside several is a buffer of
/// the model that all items share, as the numbers of positions are.
Compiled items_of_tokens(const Trace& trace, TimePoint from, OpRows& rows) {
  const auto rows_at_least = [](std::int64_t least) {
    return [least](const TensorShape& t) {
      return is_index(t.type) && t.rank > 1 && t.dims[0] >= least;
    };
  };
  return compiled_items(trace, from, rows, false, [&](const std::vector<TensorShape>& shapes) {
    const TensorShape* const several = first_of(shapes, rows_at_least(2));
    return several != nullptr ? several : first_of(shapes, rows_at_least(1));
  });
}

/// By what is neither indices nor a parameter: no gradient of a step that trains reaches it.
Compiled untrained_items(const Trace& trace, const StepWindow& step, OpRows& rows) {
  TrainedParameters trained(trace, step);
  if (trained.empty()) return {};
  const auto is = [&](const TensorShape& t) {
    return !is_index(t.type) && t.rank > 1 && t.dims[0] > 1 && !trained.takes(t);
  };
  return compiled_items(trace, step.begin, rows, true, [&](const std::vector<TensorShape>& shapes) {
    return first_of(shapes, is);
  });
}

/// By pictures, of few colours and many pixels, which no parameter is like.
Compiled items_of_pictures(const Trace& trace, TimePoint from, OpRows& rows) {
  constexpr std::int64_t most_colours = 4, least_side = 32;
  const auto is = [](const TensorShape& t) {
    return !is_index(t.type) && t.rank == image_rank && t.dims[1] <= most_colours &&
           std::min(t.dims[2], t.dims[3]) >= least_side;
  };
  return compiled_items(trace, from, rows, false, [&](const std::vector<TensorShape>& shapes) {
    return first_of(shapes, is);
  });
}

/// The first layer from `from` on, of those that `counts` takes, that states how many items it
/// takes.
struct FirstLayer {
  std::uint32_t op = no_row;
  std::optional<std::int64_t> items = {};
};
template <typename Counts>
FirstLayer first_layer(const Trace& trace, TimePoint from, OpRows& rows, Counts counts) {
  FirstLayer out;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const TimePoint begin = trace.ops.begin[i];
    if (begin < from || (out.op != no_row && begin >= trace.ops.begin[out.op])) continue;
    if (!counts(rows.of(i))) continue;
    if (const auto items = items_given(trace, rows.of(i), i)) out = {i, items};
  }
  return out;
}

/// Whether the layer is given rows of numbers, or single indices: these may be parts of items, as
/// nodes are of graphs and words of flattened sentences.
bool takes_rows(const Trace& trace, const OpRow& row, std::uint32_t op) {
  const auto argument = items_argument(row);
  const TensorShape* t = argument ? operands_of(trace, op).tensors.at(*argument) : nullptr;
  return t != nullptr && t->rank <= (row.layer == Layer::embedding ? 1 : 2);
}

/// Pictures may be the frames of clips, which a view has put in a row before the first layer takes
/// them: as many as there are clips, or `pictures` where nothing tells of clips.
std::int64_t clips_of(const Trace& trace, TimePoint from, std::uint32_t layer, OpRows& rows,
                      std::int64_t pictures) {
  const auto argument = items_argument(rows.of(layer));
  const TensorShape* const taken =
      argument ? operands_of(trace, layer).tensors.at(*argument) : nullptr;
  if (taken == nullptr || taken->rank != image_rank) return pictures;
  const auto in_a_row = [&](const TensorShape& t) {
    return t.rank == image_rank + 1 && t.dims[0] * t.dims[1] == pictures &&
           std::equal(t.dims.begin() + 2, t.dims.begin() + t.rank, taken->dims.begin() + 1);
  };
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const TimePoint begin = trace.ops.begin[i];
    if (begin < from || begin >= trace.ops.begin[layer]) continue;
    const TensorShape* const given = operands_of(trace, i).tensors.at(0);
    if (given != nullptr && in_a_row(*given)) return given->dims[0];
  }
  return pictures;
}

/// What the rows of the first layer are put together to before the last one: items of so many rows
/// that every layer is given a multiple of them. `rows_given` where there is no such number.
std::int64_t pooled_items(const Trace& trace, const StepWindow& step, OpRows& rows,
                          std::int64_t rows_given) {
  std::int64_t last = rows_given, all = rows_given;  // all: what divides each
  TimePoint at = step.begin;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const TimePoint begin = trace.ops.begin[i];
    if (begin < step.begin || begin >= step.end) continue;
    const auto items = items_given(trace, rows.of(i), i);
    if (!items) continue;
    all = std::gcd(all, *items);
    if (begin >= at) at = begin, last = *items;
  }
  return last > 1 && last == all ? last : rows_given;
}

/// Of each step: the leading dimension of the input of the first layer that its thread runs.
std::vector<std::optional<std::int64_t>> first_items(const Trace& trace,
                                                     const std::vector<StepWindow>& steps) {
  std::vector<std::optional<std::int64_t>> out(steps.size());
  std::vector<TimePoint> begin(steps.size(), TimePoint::max());
  OpRows rows(trace);
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const auto items = items_given(trace, rows.of(i), i);
    if (!items) continue;
    const TimePoint at = trace.ops.begin[i];
    const auto after = std::upper_bound(steps.begin(), steps.end(), at,
                                        [](TimePoint t, const auto& s) { return t < s.begin; });
    if (after == steps.begin()) continue;
    const auto s = static_cast<std::size_t>(after - steps.begin()) - 1;
    const bool own = !steps[s].thread.valid() || steps[s].thread == trace.ops.thread[i];
    if (!own || at >= steps[s].end || at >= begin[s]) continue;
    begin[s] = at, out[s] = items;
  }
  return out;
}

/// Whether an operation around `op`, or itself, states tensors.
bool states_tensors(const Trace& trace, const OpNesting& nesting, std::uint32_t op) {
  while (op != no_row && operands_of(trace, op).tensors.shapes.empty()) op = nesting.parent[op];
  return op != no_row;
}

/// Whether a CUDA graph is launched from `from` on and before `until` of which nothing tells what
/// it is given: compiled code may say so, a capture by hand does not.
bool launches_unknown_graph(const Trace& trace, const Links& links, TimePoint from,
                            TimePoint until) {
  std::vector<std::uint32_t> graphs;
  for (std::uint32_t c = 0; c < trace.calls.size(); ++c) {
    const TimePoint begin = trace.calls.begin[c];
    const bool is_graph = trace.calls.api[c] == ApiKind::launch_graph;
    if (is_graph && begin >= from && begin < until) graphs.push_back(c);
  }
  if (graphs.empty()) return false;
  const OpNesting nesting = nest_ops(trace, links);
  return std::any_of(graphs.begin(), graphs.end(), [&](std::uint32_t c) {
    return !states_tensors(trace, nesting, nesting.of_call[c]);
  });
}

BatchSize batch_of_pass(const Trace& trace, const Links& links) {
  const StepWindow& step = links.steps.front();
  if (trace.stated_batch) return {trace.stated_batch};
  const TimePoint from = step.begin;
  OpRows rows(trace);
  FirstLayer first = first_layer(trace, from, rows, [](const OpRow&) { return true; });
  Compiled compiled = items_of_tokens(trace, from, rows);
  // Compiled code merges the batch with other dimensions before its products, not for convolutions.
  bool merged = compiled.any && (first.op == no_row || is_matrix_product(rows.of(first.op)));
  if (merged && !compiled.items) {
    first = first_layer(trace, from, rows, [](const OpRow& row) {
      return is_convolution(row) || row.is(whole_block);
    });
    merged = first.op == no_row;
    if (merged) compiled = untrained_items(trace, step, rows);
    if (merged && !compiled.items) compiled = items_of_pictures(trace, from, rows);
  }
  std::optional<std::int64_t> items = merged ? compiled.items : first.items;
  if (!items) return {};
  if (!merged && takes_rows(trace, rows.of(first.op), first.op)) {
    items = pooled_items(trace, step, rows, *items);
  } else if (!merged) {
    items = clips_of(trace, from, first.op, rows, *items);
  }
  const TimePoint seen = merged ? compiled.begin : trace.ops.begin[first.op];
  if (launches_unknown_graph(trace, links, from, seen)) return {{}, true};
  return {items};
}

}  // namespace

BatchSize batch_size(const Trace& trace, const Links& links) {
  BatchSize out = batch_of_pass(trace, links);
  out.passes = TrainedParameters(trace, links.steps.front()).passes();
  return out;
}

std::int64_t keep_steps_of_one_batch(const Trace& trace, Links& links) {
  const std::vector<std::optional<std::int64_t>> batches = first_items(trace, links.steps);
  std::map<std::int64_t, std::int64_t> steps;  // by batch
  std::int64_t kept = 0;
  for (const auto& batch : batches) {
    if (batch) ++steps[kept = *batch];
  }
  if (steps.size() < 2) return 0;
  for (const auto& [batch, count] : steps) {
    if (count > steps[kept]) kept = batch;
  }
  std::vector<StepWindow> same;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (!batches[i] || *batches[i] == kept) same.push_back(links.steps[i]);
  }
  const auto left_out = static_cast<std::int64_t>(links.steps.size() - same.size());
  links.steps = std::move(same);
  return left_out;
}

}  // namespace tandem
