// Attention and recurrent layers as matrix products.
#include <algorithm>
#include <array>
#include <cmath>

#include "models/kernel/work/gemm_shape_parts.h"

namespace tandem {
namespace {

// Position of the flag is_causal; efficient attention has a mask type there, 1: causal.
bool is_causal(const OpContext& context) {
  struct Position {
    std::string_view op;
    std::size_t argument;
  };
  constexpr Position positions[] = {
      {"_flash_attention_forward", 8},          {"_flash_attention_backward", 11},
      {"_efficient_attention_forward", 9},      {"_efficient_attention_backward", 14},
      {"_cudnn_attention_forward", 10},         {"_cudnn_attention_backward", 14},
      {"scaled_dot_product_flash_attention", 4}};
  for (const Position& p : positions) {
    if (!has(context.op, p.op)) continue;
    return flag(context, p.argument) || option(context, p.argument, 0, 0) == 1;
  }
  return false;
}

struct RecurrentShape {
  std::int64_t width = 0, hidden = 0, gates = 0, batch = 0, steps = 0;
};

// aten::_cudnn_rnn(input, weights, stride, buffer, hx, cx, mode, ...); its backward has four more
// tensors before the mode.
std::optional<RecurrentShape> recurrent_shape(const OpContext& context) {
  const TensorShape* input = context.tensors.at(0);
  const TensorShape* state = context.tensors.at(4);
  if (input == nullptr || state == nullptr || input->rank != 3 || state->rank != 3) {
    return std::nullopt;
  }
  constexpr std::array<std::int64_t, 4> gates_of_mode{1, 1, 4, 3};  // RNN, RNN, LSTM, GRU
  const std::int64_t mode = option(context, has(context.op, "backward") ? 10 : 6, 0, 2);
  RecurrentShape r;
  r.width = input->dims[2];
  r.hidden = state->dims[2];
  r.batch = state->dims[1];
  r.steps = input->dims[0] * input->dims[1] / std::max<std::int64_t>(r.batch, 1);
  r.gates = r.hidden * gates_of_mode[static_cast<std::size_t>(mode & 3)];
  return r;
}

}  // namespace

MatrixProblem attention_problem(const KernelClass& kernel, const AttentionShape& a) {
  const bool backward = row_of(kernel.traits).direction == Direction::backward;
  MatrixProblem p;
  p.batch = a.heads * (backward ? 5 : 2);
  p.m = a.queries, p.n = a.keys, p.k = a.width;
  p.causal = a.causal;
  const double width = element_bytes(kernel.traits.data);
  const double query_bytes = static_cast<double>(a.heads * a.queries * a.width) * width;
  const double key_bytes = static_cast<double>(a.heads * a.keys * a.width) * width;
  p.a_bytes = query_bytes * (backward ? 3 : 1);  // backward also reads the output and its gradient
  p.b_bytes = 2 * key_bytes;
  p.c_bytes = backward ? query_bytes + 2 * key_bytes : query_bytes;
  return p;
}

bool is_recurrent_weight_gradient(const KernelClass& kernel, std::string_view op) {
  return has(op, "backward") && !kernel.traits.a_k_major && !kernel.traits.b_k_major;
}

// Columns of tiles in a grid; parts of k stand in the third dimension, except for persistent
// kernels.
std::int64_t tile_columns(const KernelTraits& t, const LaunchGeometry& geometry, std::int64_t m) {
  const auto& g = geometry.grid;
  const std::int64_t blocks = std::int64_t{g[0]} * g[1] * (t.persistent ? g[2] : 1);
  const std::int64_t rows = round_up(ceil_div(m, t.tile_m), t.cluster_m);
  return rows > 0 ? blocks / rows : 1;
}

// The GEMMs of a recurrent layer: weights times the inputs of one time step, of some or of all. The
// operand order tells the pass. The grid shows how many columns, so how many steps, a launch takes;
// a single column of tiles is one step.
MatrixProblem recurrent_problem(const KernelClass& kernel, const OpContext& context) {
  const auto r = recurrent_shape(context);
  if (!r) return {};
  const KernelTraits& t = kernel.traits;
  const bool backward = has(context.op, "backward");
  MatrixProblem p;
  p.batch = 1;
  if (is_recurrent_weight_gradient(kernel, context.op)) {
    p.m = r->hidden, p.n = r->gates;
    p.steps = t.persistent ? r->steps : 1;
    p.k = p.steps * r->batch;
  } else {
    p.m = backward ? r->hidden : r->gates;
    p.k = backward ? r->gates : r->hidden;
    const std::int64_t columns = tile_columns(t, context.geometry, p.m);
    p.steps =
        columns > 1 ? std::clamp(columns * t.tile_n / r->batch, std::int64_t{1}, r->steps) : 1;
    p.n = p.steps * r->batch;
  }
  const double width = element_bytes(t.data);
  p.a_bytes = static_cast<double>(p.m * p.k) * width;
  p.b_bytes = static_cast<double>(p.n * p.k) * width;
  p.c_bytes = static_cast<double>(p.m * p.n) * width;
  return p;
}

std::optional<AttentionShape> attention_shape(const OpContext& context) {
  const bool backward = has(context.op, "backward");
  const TensorShape* query = context.tensors.at(backward ? 1 : 0);
  const TensorShape* key = context.tensors.at(backward ? 2 : 1);
  if (query == nullptr || key == nullptr || query->rank != 4 || key->rank != 4) {
    return std::nullopt;
  }
  // The inner operators of flash and efficient attention take (batch, length, heads, width).
  const bool length_first =
      has(context.op, "aten::_flash_attention") || has(context.op, "aten::_efficient_attention");
  const std::size_t length = length_first ? 1 : 2, heads = length_first ? 2 : 1;
  AttentionShape out;
  out.heads = query->dims[0] * query->dims[heads];
  out.queries = query->dims[length];
  out.keys = key->dims[length];
  out.width = query->dims[3];
  out.causal = is_causal(context);
  return out;
}

}  // namespace tandem
