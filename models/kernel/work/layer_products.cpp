// Attention and recurrent layers as matrix products.
#include "models/kernel/work/layer_products.h"

#include <algorithm>
#include <array>

#include "models/kernel/work/operand_bytes.h"
#include "sim/core/bounds/limits.h"

namespace tandem {
namespace {

double element_count(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

// The flag is_causal; efficient attention has a mask type there, 1: causal.
bool is_causal(const OpContext& context) {
  const std::uint8_t at = op_row(context.op).arguments.at(ArgumentName::causal);
  return flag(context, at) || option(context, at, 0, 0) == 1;
}

bool drops_out(const OpContext& context) {
  const std::uint8_t at = op_row(context.op).arguments.at(ArgumentName::dropout);
  if (at >= context.arguments.size()) return false;
  const auto* const share = std::get_if<double>(&context.arguments[at]);
  const auto* const whole = std::get_if<std::int64_t>(&context.arguments[at]);
  return (share != nullptr && *share != 0) || (whole != nullptr && *whole != 0);
}

/// Of the mask that is added to the scores of `shape`, as it lies in memory.
std::int64_t mask_elements(const OpContext& context, const AttentionShape& shape) {
  const TensorShape* mask = context.tensors.at(op_row(context.op).arguments.at(ArgumentName::mask));
  if (mask == nullptr || mask->rank < 2) return 0;
  if (mask->dims[mask->rank - 1] != shape.keys) return 0;
  return static_cast<std::int64_t>(unique_elements(*mask));
}

}  // namespace

std::optional<RecurrentShape> recurrent_shape(const OpContext& context) {
  const OpArguments& args = op_row(context.op).arguments;
  const TensorShape* input = context.tensors.at(args.at(ArgumentName::input));
  const TensorShape* state = context.tensors.at(args.at(ArgumentName::state));
  if (input == nullptr || state == nullptr || input->rank != 3 || state->rank != 3) {
    return std::nullopt;
  }
  if (state->dims[1] == 0 || input->elements() == 0) return std::nullopt;  // nothing to compute
  constexpr std::array<std::int64_t, 4> gates_of_mode{1, 1, 4, 3};         // RNN, RNN, LSTM, GRU
  const std::int64_t mode = option(context, args.at(ArgumentName::mode), 0, 2);
  RecurrentShape r;
  r.width = input->dims[2];
  r.hidden = state->dims[2];
  r.batch = state->dims[1];
  r.steps = input->dims[0] * input->dims[1] / r.batch;
  r.gates = r.hidden * gates_of_mode[static_cast<std::size_t>(mode & 3)];
  r.layers = state->dims[0];
  return r;
}

MatrixProblem attention_problem(const KernelClass& kernel, const AttentionShape& a) {
  const bool backward = row_of(kernel.traits).direction == Direction::backward;
  MatrixProblem p;
  p.batch = limits::product(a.heads, attention_products(backward));
  p.m = a.queries, p.n = a.keys, p.k = a.width;
  p.causal = a.causal;
  p.drops_out = a.drops_out;
  const double width = element_bytes(kernel.traits.data);
  p.mask_bytes = static_cast<double>(a.mask_elements) * width;
  const double query_bytes = element_count(a.heads, a.queries, a.width) * width;
  const double key_bytes = element_count(a.heads, a.keys, a.width) * width;
  p.a_bytes = query_bytes * (backward ? 3 : 1);  // backward also reads the output and its gradient
  p.b_bytes = 2 * key_bytes;
  p.c_bytes = backward ? query_bytes + 2 * key_bytes : query_bytes;
  return p;
}

bool is_recurrent_weight_gradient(const KernelClass& kernel, std::string_view op) {
  return op_row(op).backward && !kernel.traits.a_k_major && !kernel.traits.b_k_major;
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
  const bool backward = op_row(context.op).backward;
  MatrixProblem p;
  p.batch = 1;
  if (is_recurrent_weight_gradient(kernel, context.op)) {
    p.m = r->hidden, p.n = r->gates;
    p.steps = t.persistent ? r->steps : 1;
    p.k = limits::product(p.steps, r->batch);
  } else {
    p.m = backward ? r->hidden : r->gates;
    p.k = backward ? r->gates : r->hidden;
    const std::int64_t columns = tile_columns(t, context.geometry, p.m);
    p.steps =
        columns > 1 ? std::clamp(columns * t.tile_n / r->batch, std::int64_t{1}, r->steps) : 1;
    p.n = limits::product(p.steps, r->batch);
  }
  const double width = element_bytes(t.data);
  p.a_bytes = element_count(1, p.m, p.k) * width;
  p.b_bytes = element_count(1, p.n, p.k) * width;
  p.c_bytes = element_count(1, p.m, p.n) * width;
  return p;
}

std::optional<AttentionShape> attention_shape(const OpContext& context) {
  const OpRow& row = op_row(context.op);
  const TensorShape* query = context.tensors.at(row.arguments.at(ArgumentName::query));
  const TensorShape* key = context.tensors.at(row.arguments.at(ArgumentName::key));
  if (query == nullptr || key == nullptr || query->rank != 4 || key->rank != 4) {
    return std::nullopt;
  }
  const bool by_length = row.is(length_first);
  const std::size_t length = by_length ? 1 : 2, heads = by_length ? 2 : 1;
  AttentionShape out;
  out.items = query->dims[0];
  out.heads = limits::product(out.items, query->dims[heads]);
  out.queries = query->dims[length];
  out.keys = key->dims[length];
  out.width = query->dims[3];
  out.causal = is_causal(context);
  out.drops_out = drops_out(context);
  out.mask_elements = mask_elements(context, out);
  return out;
}

}  // namespace tandem
