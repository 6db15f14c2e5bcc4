#include "models/whatif/compile/attention.h"

#include <algorithm>
#include <cmath>

#include "models/kernel/time/attention.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/product_rows.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/ops/op_table.h"
#include "models/step/attention_calls.h"
#include "models/whatif/compile/inductor/rows.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

ExtraKernel conversion(const KernelContext& c, double elements, double bytes, double passed) {
  return {generated_kernel(c.names, GeneratedKind::pointwise, "_to_copy_clone_transpose"),
          "aten::clone", generated_us(c.gpu, c.law.generated, {.bytes = passed}), bytes,
          pointwise_geometry(elements)};
}

/// Queries, keys, values and the result change their type and order; a copy in their own type
/// stays for the backward pass. Keys are turned, which costs a pass more.
void convert_operands(const KernelContext& c, const AttentionStyle& style, bool back, double width,
                      double elements, std::vector<ExtraKernel>& out) {
  constexpr double wide = 4;
  const double kept = style.trains && width < wide ? width : 0;
  const double each = elements * (back ? 2 * width : width + wide + kept);
  for (int i = 0; i < 4; ++i) {
    const bool turned = !back && i == 1, result = !back && i == 3;
    const double bytes = result ? elements * (width + wide) : each;
    out.push_back(conversion(c, elements, bytes, turned ? 2 * bytes : bytes));
  }
}

/// Rows of one side of a product of every head, those of the other, and what is added up.
struct HeadProduct {
  std::int64_t rows, columns, inner;
  bool left_inner, right_inner;  // whether operands have the addends side by side
};

/// Scores and results; backward the gradients of values, weights, queries and keys.
std::vector<HeadProduct> head_products(const AttentionShape& s, bool back) {
  if (!back) {
    return {{s.queries, s.keys, s.width, true, true}, {s.queries, s.width, s.keys, true, false}};
  }
  return {{s.keys, s.width, s.queries, false, false},
          {s.queries, s.keys, s.width, true, true},
          {s.queries, s.width, s.keys, true, false},
          {s.keys, s.width, s.queries, false, false}};
}

/// Libraries take 16-bit matrices whose rows are not aligned by older instructions.
double score_product_us(const KernelContext& c, const GemmShape& product, double flops,
                        double bytes) {
  const AlignedProducts& law = c.law.products;
  if (!is_half(product.type)) return product_time(c.gpu, product, c.time).time_us;
  if (!aligned_product(product, law.aligned_bytes)) {
    return library_product_time(c.gpu, c.library_products, product, c.time, law.floor_us).time_us;
  }
  AlignedProducts heads_apart = law;
  heads_apart.dram_share = c.law.score_dram_share;
  return aligned_product_us(c.gpu, heads_apart, flops, bytes, product.type);
}

/// `type` is that of the arithmetic.
ExtraKernel score_product(const KernelContext& c, const AttentionShape& shape,
                          const HeadProduct& head, DataType type) {
  const double rows = double(head.rows), columns = double(head.columns);
  const double heads = double(shape.heads), inner = double(head.inner);
  const double flops = 2 * heads * rows * columns * inner;
  const double bytes =
      heads * (rows * inner + inner * columns + rows * columns) * element_bytes(type);
  const GemmShape product{.m = head.rows,
                          .n = head.columns,
                          .k = head.inner,
                          .batch = shape.heads,
                          .type = type,
                          .a_k_major = head.left_inner,
                          .b_k_major = head.right_inner};
  return {c.names.kernel(LibraryUse::score_product, type),
          "aten::bmm",
          score_product_us(c, product, flops, bytes),
          bytes,
          product_geometry(shape.heads, head.rows, head.columns),
          product_factors(shape.heads, head.rows, head.inner, head.columns,
                          type == DataType::tf32 ? DataType::fp32 : type)};
}

/// Of lanes, where a block goes through rows in loops.
double looped_cycles(const GeneratedCode& code, double rows, double keys, bool back) {
  constexpr double loaded = 4;  // elements of FP32 at once
  const double places = rows * held_places(keys), elements = rows * keys;
  if (back) {
    return places * code.looped_gradient_lane_cycles +
           elements * code.looped_gradient_element_cycles;
  }
  const bool odd = std::fmod(keys, loaded) != 0;
  return places * code.looped_softmax_lane_cycles + (odd ? elements * code.odd_row_lane_cycles : 0);
}

TensorShape scores_of(const AttentionShape& s) {
  TensorShape scores;
  scores.dims = {s.items, s.heads / std::max<std::int64_t>(s.items, 1), s.queries, s.keys};
  scores.rank = 4;
  return scores;
}

ExtraKernel softmax(const KernelContext& c, const AttentionShape& shape, bool back, bool drops) {
  const double rows = double(shape.heads) * double(shape.queries), keys = double(shape.keys);
  const bool loops = loops_scores(c.gpu, scores_of(shape), c.law.persistent_columns, back);
  // Scores are read and written in FP32, and a byte of the mask of dropout.
  GeneratedWork work{.kind = loops ? GeneratedKind::reduction : GeneratedKind::row,
                     .bytes = rows * keys * (drops ? 9 : 8)};
  if (loops) work.softmax_cycles = looped_cycles(c.law.generated, rows, keys, back);
  work.random_numbers = drops && !back ? rows * keys : 0;
  work.row_elements = keys;
  work.rows = rows;
  work.softmax = true;
  return {generated_kernel(c.names, work.kind, back ? "_softmax_backward_data" : "_safe_softmax"),
          "aten::_softmax", generated_us(c.gpu, c.law.generated, work), work.bytes,
          pointwise_geometry(rows * keys)};
}

/// How much longer the kernel takes that sees all keys, where it left out what comes later, and
/// reads a mask.
double masked_ratio(const KernelContext& context, const FlowOp& op) {
  const auto shape = attention_shape_of(context.step.trace, op);
  if (!shape) return 1;
  const OpTensors& in = operands_of(context.step.trace, op.op).tensors;
  const bool half = std::any_of(in.shapes.begin(), in.shapes.end(),
                                [](const TensorShape& t) { return is_half(t.type); });
  const DataType type = half ? DataType::fp16 : DataType::fp32;
  const bool back = op.kind == OpKind::attention_backward;
  AttentionShape whole = *shape;
  whole.causal = false;
  return context.law.masked.ratio(*shape, type, back) *
         attention_us(context.gpu, context.time, whole, type, back) /
         attention_us(context.gpu, context.time, *shape, type, back);
}

/// Of attention by products, in place of what fused attention holds.
struct ProductBytes {
  ProductBytes(const AttentionShape& s, bool is_half)
      : scores(double(s.heads) * double(s.queries) * double(s.keys)),
        operands(double(s.heads) * double(s.queries + 2 * s.keys) * double(s.width)),
        drops_out(s.drops_out),
        half(is_half) {}
  /// For the backward pass.
  double saved() const {
    if (!drops_out) return scores * wide;
    return scores * (half ? wide + truth : 2 * wide + truth);
  }
  /// While one of its operations runs.
  double at_work() const { return scores * wide + (half ? operands * wide : 0); }

  static constexpr double wide = 4, truth = 1;  // bytes of an FP32 element, of one of a mask
  double scores, operands;                      // elements
  bool drops_out, half;
};

std::vector<ExtraKernel> attention_by_products(const KernelContext& context,
                                               const AttentionStyle& style, const FlowOp& op) {
  const OpTensors& in = operands_of(context.step.trace, op.op).tensors;
  const auto shape = attention_shape_of(context.step.trace, op);
  const bool back = op.kind == OpKind::attention_backward;
  const TensorShape* q = in.at(back ? 1 : 0);
  if (!shape || q == nullptr) return {};
  std::vector<ExtraKernel> out;
  convert_operands(context, style, back, element_bytes(q->type), double(q->elements()), out);
  const DataType full = style.tf32 ? DataType::tf32 : DataType::fp32;
  // Autocast, within which the backward pass is compiled, lowers its products again.
  const DataType type = back && style.lowered && is_half(q->type) ? q->type : full;
  for (const HeadProduct& head : head_products(*shape, back)) {
    out.push_back(score_product(context, *shape, head, type));
  }
  out.push_back(softmax(context, *shape, back, style.drops));
  return out;
}

}  // namespace

AttentionWays attention_ways(const KernelContext& context, const AttentionStyle& style,
                             const FlowOp& op) {
  const Plan& plan = context.step.plan;
  AttentionWays ways;
  for (const std::uint32_t w : context.flow.works_of(op)) {
    ways.keep_us += to_us(plan.works[w].duration);
    const bool longer =
        ways.longest == no_row || plan.works[w].duration > plan.works[ways.longest].duration;
    if (longer) ways.longest = w;
  }
  const double own_us = to_us(plan.works[ways.longest].duration);
  ways.longest_masked_us = own_us * masked_ratio(context, op);
  ways.masked_us = ways.keep_us + ways.longest_masked_us - own_us;
  ways.products = attention_by_products(context, style, op);
  for (const ExtraKernel& k : ways.products) ways.math_us += k.us;
  if (ways.products.empty()) ways.math_us = ways.keep_us;
  return ways;
}

std::vector<Life> product_lives(const Step& step, const Dataflow& flow, AttentionPath asked) {
  const AttentionStyle style = attention_style(step, flow);
  std::vector<Life> lives;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    const FlowOp* forward = forward_attention(flow, op);
    if (forward == nullptr) continue;
    const AttentionPath path = attention_path(step.trace, flow, style, op, asked);
    const auto shape = attention_shape_of(step.trace, *forward);
    if (path != AttentionPath::math || !shape) continue;
    const TensorShape* q = operands_of(step.trace, forward->op).tensors.at(0);
    const ProductBytes bytes(*shape, q != nullptr && is_half(q->type));
    lives.push_back({i, i, {0, bytes.at_work()}});
    if (&op != forward) lives.push_back({flow.place_of(*forward), i, {0, bytes.saved()}});
  }
  return lives;
}

}  // namespace tandem
