#include "models/step/unrecorded/options.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"

namespace tandem {

namespace {

/// The autograd number of the operation, or of the innermost one around it that has one; -1: none.
std::int64_t sequence_around(const Trace& trace, const OpNesting& nesting, std::uint32_t op) {
  while (op != no_row && trace.ops.sequence[op] < 0) op = nesting.parent[op];
  return op == no_row ? -1 : trace.ops.sequence[op];
}

/// Tensors of a convolution, forward or backward; null where they were not recorded.
struct Convolution {
  const TensorShape* image = nullptr;
  const TensorShape* weight = nullptr;
  const TensorShape* gradient = nullptr;  // of the result
};

Convolution convolution_of(const OpRow& row, const Operands& operands) {
  const auto tensor = [&](ArgumentName name) {
    return row.arguments.has(name) ? operands.tensors.at(row.arguments.at(name)) : nullptr;
  };
  return {tensor(ArgumentName::input), tensor(ArgumentName::weight), tensor(ArgumentName::grad)};
}

/// The gradients that backward convolutions read, by their autograd number.
std::unordered_map<std::int64_t, Convolution> backward_convolutions(const Trace& trace,
                                                                    const OpNesting& nesting,
                                                                    OpRows& rows) {
  std::unordered_map<std::int64_t, Convolution> out;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const OpRow& row = rows.of(op);
    if (row.kind != OpKind::convolution_backward) continue;
    const Convolution c = convolution_of(row, operands_of(trace, op));
    if (c.image == nullptr || c.weight == nullptr || c.gradient == nullptr) continue;
    const std::int64_t sequence = sequence_around(trace, nesting, op);
    if (sequence >= 0) out.emplace(sequence, c);
  }
  return out;
}

/// The arguments of a forward convolution whose backward operation is that; empty: it is that of
/// another one, or no options give that result.
std::vector<Argument> inferred_arguments(const OpRow& row, const Convolution& forward,
                                         const Convolution& backward) {
  const TensorShape& image = *forward.image;
  const TensorShape& weight = *forward.weight;
  const TensorShape& result = *backward.gradient;
  if (!same_dims(image, *backward.image) || !same_dims(weight, *backward.weight)) return {};
  if (weight.rank != image.rank || result.rank != image.rank) return {};
  std::vector<std::int64_t> strides, paddings;
  for (std::size_t i = 2; i < image.rank; ++i) {
    const auto window = window_options(image.dims[i], weight.dims[i], result.dims[i]);
    if (!window) return {};
    strides.push_back(window->stride);
    paddings.push_back(window->padding);
  }
  const std::size_t stride = row.arguments.at(ArgumentName::stride);
  const std::size_t padding = row.arguments.at(ArgumentName::padding);
  std::vector<Argument> out(std::max(stride, padding) + 1);
  out[stride] = std::move(strides);
  out[padding] = std::move(paddings);
  return out;
}

/// Whether of a forward convolution or attention the shapes and nothing else were recorded.
bool lacks_options(const OpRow& row, const Operands& operands) {
  if (!operands.has_shapes || !operands.arguments.empty()) return false;
  if (row.kind == OpKind::attention) return row.arguments.has(ArgumentName::causal);
  const Convolution c = convolution_of(row, operands);
  return row.kind == OpKind::convolution && c.image != nullptr && c.weight != nullptr &&
         c.image->rank > 2 && row.arguments.has(ArgumentName::stride) &&
         row.arguments.has(ArgumentName::padding);
}

}  // namespace

std::optional<WindowOptions> window_options(std::int64_t size, std::int64_t taps,
                                            std::int64_t results) {
  constexpr std::int64_t most_paddings = 64;
  if (size < 1 || taps < 1 || results < 1) return {};
  const std::int64_t same = (taps - 1) / 2;
  const std::int64_t most = std::min(taps, most_paddings);
  for (std::int64_t i = 0; i < most; ++i) {
    const std::int64_t padding = i <= same ? same - i : i;
    const std::int64_t span = size + 2 * padding - taps;
    if (span < 0) continue;
    // The smallest stride that leaves at most `results`: span / stride + 1 <= results.
    const std::int64_t stride = span / results + 1;
    if (span / stride + 1 == results) return WindowOptions{stride, padding};
  }
  return {};
}

LossList infer_unrecorded_options(Trace& trace, const Links& links) {
  LossList losses;
  OpRows rows(trace);
  std::vector<std::uint32_t> incomplete;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (lacks_options(rows.of(op), operands_of(trace, op))) incomplete.push_back(op);
  }
  if (incomplete.empty()) return losses;
  const OpNesting nesting = nest_ops(trace, links);
  const auto backward = backward_convolutions(trace, nesting, rows);
  for (const std::uint32_t op : incomplete) {
    const OpRow& row = rows.of(op);
    const std::uint32_t parent = nesting.parent[op];
    const bool is_outermost = parent == no_row || rows.of(parent).kind != row.kind;
    if (row.kind == OpKind::attention) {
      losses.add("attention_mask_unknown", Severity::warning,
                 "attention of which the trace does not say whether it is causal; its FLOPs are "
                 "those of all scores, twice as many as causal attention has",
                 is_outermost ? 1 : 0);
      continue;
    }
    const Convolution forward = convolution_of(row, operands_of(trace, op));
    std::vector<Argument> arguments;
    const auto found = backward.find(sequence_around(trace, nesting, op));
    if (found != backward.end()) arguments = inferred_arguments(row, forward, found->second);
    if (arguments.empty()) {
      losses.add("convolution_stride_unknown", Severity::warning,
                 "convolutions whose stride neither the trace nor a backward pass tells, taken as "
                 "1: where it is larger, FLOPs, traffic and results are smaller than counted",
                 is_outermost ? 1 : 0);
      continue;
    }
    Operands completed = operands_of(trace, op);
    completed.arguments = std::move(arguments);
    trace.ops.operands[op] = trace.operands.intern(std::move(completed));
  }
  return losses;
}

}  // namespace tandem
