#include "models/step/dataflow_ops.h"

#include <algorithm>

namespace tandem {
namespace {

using K = FlowKind;

constexpr ArgumentSet args(std::initializer_list<int> list) {
  ArgumentSet set = 0;
  for (const int i : list) set = static_cast<ArgumentSet>(set | 1U << static_cast<unsigned>(i));
  return set;
}

constexpr ArgumentSet all = all_arguments;

// Order matters: backward names contain the forward ones.
constexpr FlowRule rules[] = {
    {"_foreach", K::optimizer, 0},
    {"_fused_", K::optimizer, 0},
    {"_amp_", K::optimizer, 0},
    {"attention_backward", K::attention_backward, all, args({1, 2, 3}), args({4, 5})},
    {"attention_forward", K::attention, all},
    {"_flash_attention", K::attention, all},
    {"_efficient_attention", K::attention, all},
    {"scaled_dot_product", K::attention, all},
    {"convolution_backward", K::convolution_backward, args({0, 1, 2}), args({1, 2})},
    {"conv_depthwise2d_backward", K::convolution_backward, args({0, 1, 2}), args({1, 2})},
    {"conv_depthwise", K::convolution, args({0, 1})},
    {"convolution", K::convolution, args({0, 1})},
    {"^conv", K::convolution, args({0, 1})},
    {"cudnn_batch_norm_backward", K::batch_norm_backward, args({0, 1}), args({0})},
    {"batch_norm_backward", K::batch_norm_backward, args({0, 1}), args({1})},
    {"batch_norm", K::batch_norm, args({0})},
    {"layer_norm_backward", K::row_norm_backward, args({0, 1}), args({1})},
    {"rms_norm_backward", K::row_norm_backward, args({0, 1}), args({1})},
    {"group_norm_backward", K::row_norm_backward, args({0, 1}), args({1})},
    {"layer_norm", K::row_norm, args({0})},
    {"rms_norm", K::row_norm, args({0})},
    {"group_norm", K::row_norm, args({0})},
    {"softmax_backward", K::softmax_backward, all, 0, args({1})},
    {"softmax", K::softmax, args({0})},
    {"pool2d_with_indices_backward", K::pooling_backward, args({0, 1, 7}), args({1}), args({7})},
    {"pool2d_backward", K::pooling_backward, args({0, 1}), args({1})},
    {"_pool", K::pooling, args({0})},
    {"embedding_dense_backward", K::scatter, args({0})},
    {"embedding_bag", K::other, 0},
    {"scatter", K::scatter, all},
    {"index_put", K::scatter, all},
    {"index_add", K::scatter, all},
    {"embedding", K::gather, 0},
    {"index_select", K::gather, 0},
    {"^gather", K::gather, 0},
    {"^index", K::gather, all},
    {"_cudnn_rnn", K::recurrent, all},
    {"_lstm", K::recurrent, all},
    {"_gru", K::recurrent, all},
    {"loss", K::loss, all},
    {"dropout_backward", K::dropout, args({0, 1}), 0, args({1})},
    {"dropout", K::dropout, args({0})},
    {"^addmm", K::matmul, all},
    {"^mm", K::matmul, all},
    {"^bmm", K::matmul, all},
    {"^baddbmm", K::matmul, all},
    {"^addbmm", K::matmul, all},
    {"^matmul", K::matmul, all},
    {"^linear", K::matmul, all},
    {"_addmm_activation", K::matmul, all},
    {"^copy_", K::cast, args({1})},
    {"^_to_copy", K::cast, args({0})},
    {"^clone", K::cast, args({0})},
    {"^fill_", K::fill, 0},
    {"^zero_", K::fill, 0},
    {"^zeros", K::fill, 0},
    {"^full", K::fill, 0},
    {"^arange", K::fill, 0},
    {"^sum", K::reduction, args({0})},
    {"^mean", K::reduction, args({0})},
    {"^var", K::reduction, args({0})},
    {"^amax", K::reduction, args({0})},
    {"^max", K::reduction, args({0})},
    {"^norm", K::reduction, args({0})},
    {"linalg_vector_norm", K::reduction, args({0})},
    {"^_local_scalar_dense", K::other, args({0})},
    {"^nonzero", K::other, args({0})},
    {"sort", K::other, args({0})},
    {"unique", K::other, args({0})},
    {"cumsum", K::other, args({0})},
    {"record_stream", K::other, 0},
    {"threshold_backward", K::pointwise, all, 0, args({1})},
    {"tanh_backward", K::pointwise, all, 0, args({1})},
    {"sigmoid_backward", K::pointwise, all, 0, args({1})},
    {"_backward", K::pointwise, all, args({1})},
    {"", K::pointwise, all},
};

constexpr std::string_view names[] = {"pointwise",   "cast",
                                      "fill",        "dropout",
                                      "batch_norm",  "batch_norm_backward",
                                      "row_norm",    "row_norm_backward",
                                      "softmax",     "softmax_backward",
                                      "reduction",   "matmul",
                                      "convolution", "convolution_backward",
                                      "attention",   "attention_backward",
                                      "pooling",     "pooling_backward",
                                      "gather",      "scatter",
                                      "recurrent",   "loss",
                                      "optimizer",   "other"};

std::int64_t pooled(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                    std::int64_t dilation) {
  const std::int64_t span = dilation * (kernel - 1) + 1;
  return size + 2 * pad < span || stride < 1 ? 0 : (size + 2 * pad - span) / stride + 1;
}

using Integers = std::span<const std::int64_t>;
using Arguments = std::span<const Argument>;

Integers integers(Arguments arguments, std::size_t position) {
  return position < arguments.size() ? integers_of(arguments[position]) : Integers{};
}

std::int64_t entry(Integers values, std::size_t i, std::int64_t fallback) {
  return values.empty() ? fallback : values[std::min(i, values.size() - 1)];
}

/// Output pixels of windows over the spatial dimensions of `x`, times images and `channels`.
std::int64_t window_outputs(const TensorShape& x, std::int64_t channels, Integers kernel,
                            Integers stride, Integers pad, Integers dilation) {
  std::int64_t out = x.dims[0] * channels;
  for (std::size_t i = 2; i < x.rank; ++i) {
    out *= pooled(x.dims[i], entry(kernel, i - 2, 1), entry(stride, i - 2, entry(kernel, i - 2, 1)),
                  entry(pad, i - 2, 0), entry(dilation, i - 2, 1));
  }
  return out;
}

/// Where cudnn_convolution, convolution and _conv_depthwise2d have stride, padding and dilation.
OutputShape convolution_output(std::string_view name, const OpTensors& in, Arguments arguments) {
  const TensorShape* x = in.at(0);
  const TensorShape* w = in.at(1);
  if (x == nullptr || w == nullptr || x->rank < 3) return {};
  std::size_t stride = 3, pad = 4;
  if (name.find("cudnn_convolution") != name.npos) stride = 3, pad = 2;
  if (name.find("depthwise") != name.npos) stride = 4, pad = 5;
  const bool known = arguments.size() > std::max(stride, pad) &&
                     !std::holds_alternative<std::monostate>(arguments[stride]);
  if (!known || name.find("transpose") != name.npos) return {0, x->type};
  const Integers taps(w->dims.data() + 2, w->rank < 2 ? 0 : w->rank - 2U);
  const std::size_t dilation = std::max(stride, pad) + 1;
  return {window_outputs(*x, w->dims[0], taps, integers(arguments, stride),
                         integers(arguments, pad), integers(arguments, dilation)),
          x->type};
}

OutputShape pooling_output(std::string_view name, const OpTensors& in, Arguments arguments) {
  const TensorShape* x = in.at(0);
  if (x == nullptr || x->rank < 3) return {};
  const auto kernel = integers(arguments, 1);
  if (kernel.empty()) return {0, x->type};
  if (name.find("adaptive") != name.npos) {
    std::int64_t out = x->dims[0] * x->dims[1];
    for (std::size_t i = 2; i < x->rank; ++i) out *= entry(kernel, i - 2, 1);
    return {out, x->type};
  }
  const bool average = name.find("avg") != name.npos;
  return {window_outputs(*x, x->dims[1], kernel, integers(arguments, 2), integers(arguments, 3),
                         average ? Integers{} : integers(arguments, 4)),
          x->type};
}

/// Elements left after a sum over the dimensions that the arguments list; all without a list.
OutputShape reduction_output(const OpTensors& in, Arguments arguments) {
  const TensorShape* x = in.at(0);
  if (x == nullptr) return {};
  if (arguments.size() < 2) return {arguments.empty() ? 0 : 1, x->type};
  std::int64_t out = x->elements();
  const auto dims = integers(arguments, 1);
  for (std::int64_t d : dims) {
    if (d < 0) d += x->rank;
    if (d >= 0 && d < x->rank && x->dims[static_cast<std::size_t>(d)] > 0) {
      out /= x->dims[static_cast<std::size_t>(d)];
    }
  }
  return {dims.empty() ? 1 : out, x->type};
}

OutputShape matmul_output(const OpTensors& in) {
  // The last two tensors are the factors; a bias may stand before them.
  const TensorShape *a = in.at(0), *b = in.at(1), *c = in.at(2);
  if (a == nullptr || b == nullptr) return {};
  if (c != nullptr && b->rank >= 2 && c->rank == b->rank &&
      c->dims[c->rank - 2U] == b->dims[b->rank - 1U]) {
    a = b, b = c;
  }
  if (a->rank == 0 || b->rank == 0) return {};
  const std::int64_t k = std::max<std::int64_t>(1, a->dims[a->rank - 1U]);
  return {a->elements() / k * b->dims[b->rank - 1U], a->type};
}

/// Rows of a table that an index picks; the table comes first except in embedding_renorm.
OutputShape gather_output(std::string_view name, const OpTensors& in) {
  const TensorShape* table = in.at(0);
  const TensorShape* index = in.at(name.starts_with("embedding") ? 1 : 2);
  if (table == nullptr || index == nullptr)
    return {0, table == nullptr ? DataType::unknown : table->type};
  if (name.starts_with("gather") || table->rank < 2) return {index->elements(), table->type};
  return {index->elements() * table->elements() / std::max<std::int64_t>(1, table->dims[0]),
          table->type};
}

/// The table that gradients of rows are added to; what it has rows stands among the arguments.
OutputShape scatter_output(std::string_view name, const OpTensors& in, Arguments arguments) {
  const TensorShape* first = in.at(0);
  if (first == nullptr) return {};
  if (!name.starts_with("embedding")) return {first->elements(), first->type};
  const auto rows = integers(arguments, 2);
  const std::int64_t width = first->rank > 0 ? first->dims[first->rank - 1U] : 1;
  return {rows.empty() ? first->elements() : rows[0] * width, first->type};
}

bool is_float(DataType type) {
  return type == DataType::fp16 || type == DataType::bf16 || type == DataType::fp32 ||
         type == DataType::fp64;
}

/// The largest operand; among equals the widest floating type.
OutputShape widest(const OpTensors& in) {
  OutputShape out;
  for (const TensorShape& t : in.shapes) {
    const std::int64_t n = t.elements();
    const bool wider = is_float(t.type) &&
                       (!is_float(out.type) || element_bytes(t.type) > element_bytes(out.type));
    if (n > out.elements || (n == out.elements && wider)) out = {n, t.type};
  }
  return out;
}

OutputShape like(const OpTensors& in, std::size_t argument) {
  const TensorShape* t = in.at(argument);
  return t == nullptr ? OutputShape{} : OutputShape{t->elements(), t->type};
}

bool compares(std::string_view name) {
  static constexpr std::string_view comparisons[] = {"eq", "ne", "lt",    "le",
                                                     "gt", "ge", "isnan", "logical_not"};
  return std::find(std::begin(comparisons), std::end(comparisons), name) != std::end(comparisons);
}

}  // namespace

std::string_view to_string(FlowKind kind) { return names[static_cast<std::size_t>(kind)]; }

const FlowRule& flow_rule(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  for (const FlowRule& rule : rules) {
    const bool start = rule.pattern.starts_with('^');
    const std::string_view pattern = rule.pattern.substr(start ? 1 : 0);
    if (start ? name.starts_with(pattern) : name.find(pattern) != name.npos) return rule;
  }
  return rules[std::size(rules) - 1];
}

FlowKind flow_kind(std::string_view name) { return flow_rule(name).kind; }

bool is_core(FlowKind kind) {
  switch (kind) {
    case K::matmul:
    case K::convolution:
    case K::convolution_backward:
    case K::attention:
    case K::attention_backward:
    case K::recurrent:
    case K::loss:
    case K::optimizer:
    case K::other: return true;
    default: return false;
  }
}

void output_shapes(FlowKind kind, std::string_view name, const OpTensors& in, Arguments arguments,
                   std::vector<OutputShape>& out) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  switch (kind) {
    case K::convolution: out.push_back(convolution_output(name, in, arguments)); break;
    case K::convolution_backward: out.insert(out.end(), {like(in, 1), like(in, 2)}); break;
    case K::pooling: out.push_back(pooling_output(name, in, arguments)); break;
    case K::pooling_backward: out.push_back(like(in, 1)); break;
    case K::matmul: out.push_back(matmul_output(in)); break;
    case K::reduction: out.push_back(reduction_output(in, arguments)); break;
    case K::scatter: out.push_back(scatter_output(name, in, arguments)); break;
    case K::gather: out.push_back(gather_output(name, in)); break;
    case K::batch_norm_backward:
      out.insert(out.end(), {like(in, 0), like(in, 2), like(in, 2)});
      break;
    case K::row_norm_backward:
      out.insert(out.end(), {like(in, 0), like(in, 5), like(in, 5)});
      break;
    case K::attention_backward:
      out.insert(out.end(), {like(in, 1), like(in, 2), like(in, 3)});
      break;
    case K::cast:
    case K::fill:
    case K::softmax:
    case K::softmax_backward:
    case K::batch_norm:
    case K::row_norm:
    case K::attention: out.push_back(like(in, 0)); break;
    case K::dropout: {
      out.push_back(like(in, 0));
      if (name.find("backward") == name.npos)
        out.push_back({like(in, 0).elements, DataType::boolean});
      break;
    }
    case K::optimizer:
    case K::loss: break;
    default: {
      OutputShape shape = name.ends_with('_') ? like(in, 0) : widest(in);
      if (compares(name)) shape.type = DataType::boolean;
      out.push_back(shape);
    }
  }
}

}  // namespace tandem
