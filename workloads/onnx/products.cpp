// Products of matrices, and attention, which frameworks run as one operation.
#include <cmath>

#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

struct Product {
  Value x, w;  // rows of x times w of [from, to]
  std::optional<Value> bias;
};

bool is_turned(const NetworkTensor& tensor) {
  return tensor.strides.size() == 2 && tensor.strides[0] == one;
}

/// Sizes of a product's result: those of x, but for the last.
Dims result_dims(const Dims& x, const Dims& w) {
  Dims out = x;
  out.back() = w.back();
  return out;
}

Dims as_rows(const Dims& dims) {
  Dims rows = dims;
  const Expression last = rows.back();
  rows.pop_back();
  return {count_of(rows), last};
}

void product_gradients(Step& step, const Product& p, TensorId x, TensorId w, TensorId gradient) {
  const TensorId g = reshaped(step, gradient, as_rows(step.tensor(gradient).dims));
  const DataType type = p.x.type;
  const Dims& from_to = step.tensor(w).dims;
  const Expression from = from_to[0], to = from_to[1], rows = step.tensor(g).dims[0];
  if (p.x.needs_gradient) {
    const TensorId made = step.run("aten::mm", {of(g), of(turned(step, w))}, type, {rows, from});
    step.give(p.x, reshaped(step, made, p.x.dims));
  }
  if (p.w.needs_gradient) {
    // A weight that is used turned gets its gradient in its own order.
    if (is_turned(step.tensor(w))) {
      const TensorId made = step.run("aten::mm", {of(turned(step, g)), of(x)}, type, {to, from});
      step.give(p.w, turned(step, made));
    } else {
      step.give(p.w, step.run("aten::mm", {of(turned(step, x)), of(g)}, type, {from, to}));
    }
  }
  if (p.bias && p.bias->needs_gradient) step.give(*p.bias, unexpanded(step, g, p.bias->dims));
}

/// nn.Linear and torch.matmul with a matrix: rows of all leading dimensions at once.
void run_product(Call& call, const Product& p) {
  Step& step = call.step;
  if (p.x.dims.empty() || p.x.dims.back() != p.w.dims[0]) {
    call.fail("operands whose inner sizes differ", "equal inner sizes");
  }
  const bool in_order = is_contiguous(p.x.dims, step.tensor(*p.x.tensor).strides);
  const TensorId x = reshaped(step, *p.x.tensor, as_rows(p.x.dims));
  const TensorId w = *p.w.tensor;
  const Dims dims = result_dims(p.x.dims, p.w.dims);
  const Dims rows = as_rows(dims);
  TensorId y = 0;
  if (p.bias && (in_order || p.x.dims.size() == 2)) {
    y = step.run("aten::addmm", {of(*p.bias->tensor), of(x), of(w), whole(1), whole(1)}, p.x.type,
                 rows);
    y = reshaped(step, y, dims);
  } else {
    y = reshaped(step, step.run("aten::mm", {of(x), of(w)}, p.x.type, rows), dims);
    if (p.bias) {
      const TensorId sum = step.rewritten(y);
      step.emit("aten::add_", {of(y), of(*p.bias->tensor), whole(1)}, {sum});
      y = sum;
    }
  }
  std::vector<Value> operands{p.x, p.w};
  if (p.bias) operands.push_back(*p.bias);
  call.result(y, p.bias ? "AddmmBackward0" : "MmBackward0", operands,
              [&step, p, x, w](TensorId g) { product_gradients(step, p, x, w, g); });
}

/// A view with the last two dimensions exchanged, whose gradient is turned back.
Value turned_value(Step& step, const Value& base) {
  Value view = step.value(turned(step, *base.tensor));
  step.differentiable("TBackward0", {&view}, {base}, [&step, base](const Step::Gradients& g) {
    step.give(base, turned(step, *g[0]));
  });
  return view;
}

/// The operand of a batched product: leading sizes repeated to `batch`, then counted as one.
TensorId as_batch(Step& step, TensorId id, const Dims& batch) {
  const Dims own = step.tensor(id).dims;
  Dims full = batch;
  full.insert(full.end(), own.end() - 2, own.end());
  return reshaped(step, expanded(step, id, full),
                  {count_of(batch), own[own.size() - 2], own.back()});
}

Value batched_product(Call& call, const Value& a, const Value& b) {
  Step& step = call.step;
  const Dims leading_a(a.dims.begin(), a.dims.end() - 2),
      leading_b(b.dims.begin(), b.dims.end() - 2);
  if (a.dims.back() != b.dims[b.dims.size() - 2]) {
    call.fail("operands whose inner sizes differ", "equal inner sizes");
  }
  const Dims batch = broadcast(call, leading_a, leading_b);
  const TensorId x = as_batch(step, *a.tensor, batch), y = as_batch(step, *b.tensor, batch);
  const Expression rows = a.dims[a.dims.size() - 2], columns = b.dims.back();
  const TensorId z =
      step.run("aten::bmm", {of(x), of(y)}, a.type, {count_of(batch), rows, columns});
  Dims dims = batch;
  dims.insert(dims.end(), {rows, columns});
  Value out = step.value(reshaped(step, z, dims));
  step.differentiable(
      "BmmBackward0", {&out}, {a, b}, [&step, a, b, x, y, batch](const Step::Gradients& all) {
        const Dims of_g = step.tensor(*all[0]).dims;
        const TensorId g =
            reshaped(step, *all[0], {count_of(batch), of_g[of_g.size() - 2], of_g.back()});
        const auto give = [&](const Value& to, const Arguments& factors, TensorId like) {
          if (!to.needs_gradient) return;
          const TensorId made = step.run("aten::bmm", factors, to.type, step.tensor(like).dims);
          Dims full = batch;
          full.insert(full.end(), to.dims.end() - 2, to.dims.end());
          step.give(to, unexpanded(step, reshaped(step, made, full), to.dims));
        };
        give(b, {of(turned(step, x)), of(g)}, y);
        give(a, {of(g), of(turned(step, y))}, x);
      });
  return out;
}

constexpr std::int64_t attention_rows = 32;      // sums of a row are padded to as many
constexpr std::int64_t attention_alignment = 4;  // elements of 16 bytes

/// Memory as [batch, rows, heads, columns], which the layer after attention reads, for results of
/// [batch, heads, rows, columns].
TensorId make_heads(Step& step, DataType type, const Dims& dims) {
  const TensorId out = step.make(type, {dims[0], dims[2], dims[1], dims[3]});
  return permuted(step, out, {0, 2, 1, 3});
}

struct Attention {
  Value q, k, v;
  std::optional<TensorId> mask;
  bool causal = false;  // the mask hides what comes later, so that the fused kernel needs none
  double dropout = 0;
};

bool is_fused(const Attention& a) {
  if (a.q.dims.size() != 4 || a.k.dims.size() != 4 || a.v.dims.size() != 4) return false;
  if (a.q.dims[1] != a.k.dims[1] || a.q.type != DataType::fp32) return false;
  const auto columns = a.q.dims[3].number(), values = a.v.dims[3].number();
  return columns && values && *columns % attention_alignment == 0 &&
         *values % attention_alignment == 0;
}

void fused_attention(Call& call, const Attention& a) {
  Step& step = call.step;
  const TensorId q = *a.q.tensor, k = *a.k.tensor, v = *a.v.tensor;
  const Expression& rows = a.q.dims[2];
  const auto known = rows.number();
  const Expression padded =
      known ? Expression((*known + attention_rows - 1) / attention_rows * attention_rows) : rows;
  const TensorId out = make_heads(step, a.q.type, {a.q.dims[0], a.q.dims[1], rows, a.v.dims[3]});
  const TensorId sums =
      step.make(DataType::fp32, {a.q.dims[0], a.q.dims[1], step.trains() ? padded : Expression(0)});
  const TensorId seed = step.make(DataType::int64, {}), offset = step.make(DataType::int64, {});
  const NetworkArgument mask = a.mask && !a.causal ? of(*a.mask) : nothing();
  const NetworkArgument scale = nothing();  // it changes nothing but the numbers
  step.emit(
      "aten::_scaled_dot_product_efficient_attention",
      {of(q), of(k), of(v), mask, plain(step.trains()), plain(a.dropout), plain(a.causal), scale},
      {out, sums, seed, offset});
  call.result(
      out, "ScaledDotProductEfficientAttentionBackward0", {a.q, a.k, a.v}, [=, &step](TensorId g) {
        std::vector<TensorId> made;
        for (const Value* operand : {&a.q, &a.k, &a.v})
          made.push_back(make_heads(step, operand->type, operand->dims));
        step.emit("aten::_scaled_dot_product_efficient_attention_backward",
                  {of(g), of(q), of(k), of(v), mask, of(out), of(sums), of(seed), of(offset),
                   plain(a.dropout), wholes({1, 1, 1, 0}), plain(a.causal), scale},
                  made);
        step.give(a.q, made[0]);
        step.give(a.k, made[1]);
        step.give(a.v, made[2]);
      });
}

/// What attention is where no fused kernel takes it.
void attention_by_products(Call& call, const Attention& a) {
  Step& step = call.step;
  const auto scaled = [&](const Value& v) {
    Value out = step.value(step.run("aten::mul", {of(*v.tensor), plain(1.0)}, v.type, v.dims));
    step.differentiable("MulBackward0", {&out}, {v}, [&step, v](const Step::Gradients& g) {
      step.give(v, step.run("aten::mul", {of(*g[0]), plain(1.0)}, v.type, v.dims));
    });
    return out;
  };
  Value scores = batched_product(call, scaled(a.q), turned_value(step, scaled(a.k)));
  if (a.mask) {
    const TensorId sum = step.run("aten::add", {of(*scores.tensor), of(*a.mask), whole(1)},
                                  scores.type, scores.dims);
    scores.tensor = sum;
  }
  const TensorId y = step.run("aten::_softmax", {of(*scores.tensor), whole(-1), plain(false)},
                              scores.type, scores.dims);
  Value weights = step.value(y);
  step.differentiable(
      "SoftmaxBackward0", {&weights}, {scores}, [&step, scores, y](const Step::Gradients& g) {
        step.give(scores,
                  step.run("aten::_softmax_backward_data",
                           {of(*g[0]), of(y), whole(-1), plain("fp32")}, scores.type, scores.dims));
      });
  call.outputs.push_back(batched_product(call, weights, a.v));
}

}  // namespace

void gemm(Call& call) {
  if (call.dims(0).size() != 2 || call.dims(1).size() != 2) {
    call.fail("operands that are no matrices", "two dimensions each");
  }
  // A turned operand is a view whose gradient is turned back.
  const auto operand = [&](std::size_t input, std::string_view flag) {
    const Value base = call.placed(input);
    return call.number(flag, 0) == 0 ? base : turned_value(call.step, base);
  };
  Product p{operand(0, "transA"), operand(1, "transB"), {}};
  if (call.has(2)) p.bias = call.placed(2);
  run_product(call, p);
}

void linear(Call& call) {
  if (call.dims(1).size() != 2) call.fail("a weight that is no matrix", "two dimensions");
  run_product(call, {call.placed(0), call.placed(1), call.placed(2)});
}

void matmul(Call& call) {
  const std::size_t a = call.dims(0).size(), b = call.dims(1).size();
  if (a < 2 || b < 2) call.fail("a vector as operand", "matrices, or batches of them");
  if (b == 2) return run_product(call, {call.placed(0), call.placed(1), {}});
  call.outputs.push_back(batched_product(call, call.placed(0), call.placed(1)));
}

void attention(Call& call) {
  Attention a{call.placed(0), call.placed(1), call.placed(2), {}, 0};
  if (a.k.dims.size() < 2) call.fail("vectors", "batches of matrices");
  if (call.number("turned", 0) != 0) a.k = turned_value(call.step, a.k);
  if (call.step.trains()) a.dropout = call.fraction("dropout", 0);
  a.causal = call.number("causal", 0) != 0;
  if (call.has(3)) {
    Dims scores = a.q.dims;
    if (scores.size() < 2) call.fail("vectors", "batches of matrices");
    scores.back() = a.k.dims[a.k.dims.size() - 2];
    broadcast(call, scores, call.dims(3));
    if (call.dims(3).size() > scores.size())
      call.fail("a mask of more dimensions than scores", "as many");
    a.mask = expanded(call.step, call.tensor(3), scores);
  }
  if (is_fused(a)) return fused_attention(call, a);
  attention_by_products(call, a);
}

}  // namespace tandem::onnx
