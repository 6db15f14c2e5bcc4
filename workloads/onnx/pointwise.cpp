// Operations on one element at a time.
#include <cmath>
#include <numbers>

#include "sim/core/tensors/data_type.h"
#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

/// One operation of a gradient. Its arguments, a letter each: g the gradient of the result, x the
/// operand, y the result, p what the operation before it made, n `number`, f false, t the node's
/// text.
struct GradientOp {
  std::string_view name, arguments;
  double number = 0;
};

struct UnaryRow {
  std::string_view onnx, aten, node;
  std::vector<GradientOp> gradient;  // empty: none flows
  std::string_view arguments = "x";
  double number = 0;
  /// How images are treated, whose activations frameworks' models apply in place. Empty: as others.
  std::string_view in_place = "";
  bool keeps_operand = true;  // the gradient reads it, so that in place a copy of it is kept
  bool is_truth = false;      // the result
};

/// Gradients as in PyTorch's derivatives.yaml.
const std::vector<UnaryRow>& unary_rows() {
  static const std::vector<UnaryRow> rows = {
      {"Relu",
       "aten::relu",
       "ReluBackward0",
       {{"aten::threshold_backward", "gyn"}},
       "x",
       0,
       "aten::relu_",
       false},
      {"Sigmoid", "aten::sigmoid", "SigmoidBackward0", {{"aten::sigmoid_backward", "gy"}}},
      {"Tanh", "aten::tanh", "TanhBackward0", {{"aten::tanh_backward", "gy"}}},
      {"Gelu", "aten::gelu", "GeluBackward0", {{"aten::gelu_backward", "gxt"}}, "xt"},
      {"HardSwish",
       "aten::hardswish",
       "HardswishBackward0",
       {{"aten::hardswish_backward", "gx"}},
       "x",
       0,
       "aten::hardswish_"},
      {"HardSigmoid",
       "aten::hardsigmoid",
       "HardsigmoidBackward0",
       {{"aten::hardsigmoid_backward", "gx"}}},
      {"Swish",
       "aten::silu",
       "SiluBackward0",
       {{"aten::silu_backward", "gx"}},
       "x",
       0,
       "aten::silu_"},
      {"LeakyRelu",
       "aten::leaky_relu",
       "LeakyReluBackward0",
       {{"aten::leaky_relu_backward", "gxnf", 0.01}},
       "xn",
       0.01},
      {"Erf",
       "aten::erf",
       "ErfBackward0",
       {{"aten::pow", "xn", 2},
        {"aten::neg", "p"},
        {"aten::exp", "p"},
        {"aten::mul", "pn", 2 * std::numbers::inv_sqrtpi},
        {"aten::mul", "gp"}}},
      {"Exp", "aten::exp", "ExpBackward0", {{"aten::mul", "gy"}}},
      {"Log", "aten::log", "LogBackward0", {{"aten::div", "gx"}}},
      {"Sqrt", "aten::sqrt", "SqrtBackward0", {{"aten::mul", "yn", 2}, {"aten::div", "gp"}}},
      {"Rsqrt",
       "aten::rsqrt",
       "RsqrtBackward0",
       {{"aten::pow", "yn", 3}, {"aten::mul", "pn", -0.5}, {"aten::mul", "gp"}}},
      {"Reciprocal",
       "aten::reciprocal",
       "ReciprocalBackward0",
       {{"aten::mul", "yy"}, {"aten::neg", "p"}, {"aten::mul", "gp"}}},
      {"Neg", "aten::neg", "NegBackward0", {{"aten::neg", "g"}}},
      {"Abs", "aten::abs", "AbsBackward0", {{"aten::sgn", "x"}, {"aten::mul", "gp"}}},
      {"Sin", "aten::sin", "SinBackward0", {{"aten::cos", "x"}, {"aten::mul", "gp"}}},
      {"Cos",
       "aten::cos",
       "CosBackward0",
       {{"aten::sin", "x"}, {"aten::neg", "p"}, {"aten::mul", "gp"}}},
      {"Elu", "aten::elu", "EluBackward0", {{"aten::elu_backward", "gnnnfy", 1}}, "xnnn", 1},
      {"Softplus",
       "aten::softplus",
       "SoftplusBackward0",
       {{"aten::softplus_backward", "gxn", 1}},
       "xn",
       1},
      {"Floor", "aten::floor", "", {}},
      {"Ceil", "aten::ceil", "", {}},
      {"Round", "aten::round", "", {}},
      {"Not", "aten::logical_not", "", {}, "x", 0, "", true, true},
      {"IsNaN", "aten::isnan", "", {}, "x", 0, "", true, true},
  };
  return rows;
}

struct Operands {
  TensorId gradient, operand, result, previous;
};

Arguments arguments_of(std::string_view letters, const Operands& o, double number,
                       const std::string& text) {
  Arguments out;
  for (const char letter : letters) {
    switch (letter) {
      case 'g': out.push_back(of(o.gradient)); break;
      case 'x': out.push_back(of(o.operand)); break;
      case 'y': out.push_back(of(o.result)); break;
      case 'p': out.push_back(of(o.previous)); break;
      case 'f': out.push_back(plain(false)); break;
      case 't': out.push_back(plain(text)); break;
      default: out.push_back(plain(number));
    }
  }
  return out;
}

/// An operation whose result is like an operand.
TensorId run_like(Step& step, std::string_view name, Arguments arguments, TensorId operand,
                  DataType type) {
  const TensorId out = made_like(step, operand, type);
  step.emit(std::string(name), std::move(arguments), {out});
  return out;
}

TensorId run_like(Step& step, std::string_view name, Arguments arguments, TensorId operand) {
  return run_like(step, name, std::move(arguments), operand, step.tensor(operand).type);
}

bool is_image(const Value& value) {
  return value.dims.size() == image_rank && is_floating(value.type);
}

/// The result takes the operand's place. A gradient that reads the operand reads a copy of it.
std::pair<TensorId, TensorId> run_in_place(Step& step, std::string_view name, TensorId x,
                                           Arguments rest, bool keeps_operand) {
  TensorId kept = x;
  if (keeps_operand) kept = run_like(step, "aten::clone", {of(x), nothing()}, x);
  const TensorId y = step.rewritten(x);
  rest.insert(rest.begin(), of(x));
  step.emit(std::string(name), std::move(rest), {y});
  return {kept, y};
}

/// Which number of the host stands for an operand, if it is one.
std::optional<double> scalar_of(const Value& value) {
  if (value.fraction) return value.fraction;
  if (!value.numbers || value.numbers->size() != 1) return {};
  const auto number = value.numbers->front().number();
  return number ? static_cast<double>(*number) : std::nan("");
}

NetworkArgument scalar_argument(double scalar) {
  return std::isfinite(scalar) ? plain(scalar) : plain(1.0);
}

struct BinaryRow {
  std::string_view onnx, aten, node;
  bool has_factor = false;  // a third argument, alpha
};

constexpr BinaryRow binary_rows[] = {
    {"Add", "aten::add", "AddBackward0", true},
    {"Sub", "aten::sub", "SubBackward0", true},
    {"Mul", "aten::mul", "MulBackward0"},
    {"Div", "aten::div", "DivBackward0"},
    {"Max", "aten::maximum", "MaximumBackward0"},
    {"Min", "aten::minimum", "MinimumBackward0"},
    {"Mod", "aten::remainder", "RemainderBackward0"},
    {"And", "aten::logical_and", ""},
    {"Or", "aten::logical_or", ""},
    {"Equal", "aten::eq", ""},
    {"Greater", "aten::gt", ""},
    {"GreaterOrEqual", "aten::ge", ""},
    {"Less", "aten::lt", ""},
    {"LessOrEqual", "aten::le", ""},
};

const BinaryRow& binary_row(const Call& call) {
  for (const BinaryRow& row : binary_rows) {
    if (row.onnx == call.node.type) return row;
  }
  call.fail("an operation without a row", "one of the table");
}

/// What gradients of a pair of operands are made with.
struct Pair {
  Value a, b;
  std::optional<TensorId> x, y;  // nothing: a number of the host
  TensorId out = 0;
};

using PairGradient = void (*)(Step&, const Pair&, TensorId);

void give_sum(Step& step, const Value& to, TensorId gradient) {
  if (to.needs_gradient) step.give(to, unexpanded(step, gradient, to.dims));
}

/// The gradient times or over the other operand.
void give_scaled(Step& step, std::string_view op, const Value& to, TensorId g, const Value& other,
                 std::optional<TensorId> factor) {
  if (!to.needs_gradient) return;
  const NetworkArgument by = factor ? of(*factor) : scalar_argument(scalar_of(other).value_or(1));
  give_sum(step, to, run_like(step, op, {of(g), by}, g));
}

void add_gradient(Step& step, const Pair& p, TensorId g) {
  give_sum(step, p.a, g);
  give_sum(step, p.b, g);
}

void sub_gradient(Step& step, const Pair& p, TensorId g) {
  give_sum(step, p.a, g);
  if (p.b.needs_gradient) give_sum(step, p.b, run_like(step, "aten::neg", {of(g)}, g));
}

void mul_gradient(Step& step, const Pair& p, TensorId g) {
  give_scaled(step, "aten::mul", p.a, g, p.b, p.y);
  give_scaled(step, "aten::mul", p.b, g, p.a, p.x);
}

void div_gradient(Step& step, const Pair& p, TensorId g) {
  give_scaled(step, "aten::div", p.a, g, p.b, p.y);
  if (!p.b.needs_gradient) return;
  const TensorId minus = run_like(step, "aten::neg", {of(g)}, g);
  const TensorId ratio = run_like(step, "aten::div", {of(p.out), of(*p.y)}, p.out);
  give_sum(step, p.b, run_like(step, "aten::mul", {of(minus), of(ratio)}, g));
}

/// Of the larger or smaller of two: masked where the other one was taken.
void choice_gradient(Step& step, const Pair& p, TensorId g) {
  const auto other = [](std::optional<TensorId> t, const Value& v) {
    return t ? of(*t) : scalar_argument(scalar_of(v).value_or(0));
  };
  for (const bool first : {true, false}) {
    const Value& to = first ? p.a : p.b;
    const auto& operand = first ? p.x : p.y;
    if (!to.needs_gradient || !operand) continue;
    const TensorId mask =
        run_like(step, "aten::ge", {of(*operand), first ? other(p.y, p.b) : other(p.x, p.a)}, g,
                 DataType::boolean);
    give_sum(step, to, run_like(step, "aten::masked_fill", {of(g), of(mask), whole(0)}, g));
  }
}

struct PairGradientRow {
  std::string_view onnx;
  PairGradient run;
};

constexpr PairGradientRow pair_gradients[] = {
    {"Add", add_gradient}, {"Sub", sub_gradient},    {"Mul", mul_gradient},
    {"Div", div_gradient}, {"Max", choice_gradient}, {"Min", choice_gradient},
};

Arguments pair_arguments(const BinaryRow& row, const Pair& p) {
  const auto argument = [](std::optional<TensorId> t, const Value& v) {
    return t ? of(*t) : scalar_argument(scalar_of(v).value_or(1));
  };
  Arguments out{argument(p.x, p.a), argument(p.y, p.b)};
  if (!p.x) std::swap(out[0], out[1]);  // a number comes second, whatever it is subtracted from
  if (row.has_factor) out.push_back(whole(1));
  return out;
}

/// Where results of a pair lie: like the operand that has all sizes.
TensorId make_pair_result(Step& step, const Pair& p, const Dims& dims, DataType type) {
  for (const auto& operand : {p.x, p.y}) {
    if (operand && step.tensor(*operand).dims == dims) return made_like(step, *operand, type);
  }
  return step.make(type, dims);
}

void run_pair(Call& call, DataType type) {
  const BinaryRow& row = binary_row(call);
  Pair p{call.input(0), call.input(1), {}, {}, 0};
  const bool first_known = scalar_of(p.a).has_value();
  const bool second_known = scalar_of(p.b).has_value();
  if (!first_known || second_known) p.x = call.tensor(0);
  if (!second_known) p.y = call.tensor(1);
  const Dims dims = broadcast(call, p.a.dims, p.b.dims);
  p.out = make_pair_result(call.step, p, dims, type);
  call.step.emit(std::string(row.aten), pair_arguments(row, p), {p.out});
  for (const PairGradientRow& gradient : pair_gradients) {
    if (gradient.onnx != call.node.type || !is_floating(type)) continue;
    Step& step = call.step;
    return call.result(p.out, std::string(row.node), {p.a, p.b},
                       [&step, p, run = gradient.run](TensorId g) { run(step, p, g); });
  }
  call.result(p.out);
}

}  // namespace

void unary(Call& call) {
  const UnaryRow* found = nullptr;
  for (const UnaryRow& r : unary_rows()) {
    if (r.onnx == call.node.type) found = &r;
  }
  if (found == nullptr) call.fail("an operation without a row", "one of the table");
  const UnaryRow& row = *found;
  Step& step = call.step;
  const Value& input = call.input(0);
  const std::string text = call.text("approximate", "none");
  TensorId x = call.tensor(0);
  TensorId y = x;
  if (!row.in_place.empty() && is_image(input)) {
    std::tie(x, y) =
        run_in_place(step, row.in_place, x, {}, row.keeps_operand && input.needs_gradient);
  } else {
    const DataType type = row.is_truth ? DataType::boolean : input.type;
    y = run_like(step, row.aten, arguments_of(row.arguments, {x, x, x, x}, row.number, text), x,
                 type);
  }
  if (row.gradient.empty()) return call.result(y);
  call.result(y, std::string(row.node), {input}, [&step, &row, input, x, y, text](TensorId g) {
    Operands o{g, x, y, g};
    for (const GradientOp& op : row.gradient) {
      o.previous = run_like(step, op.name, arguments_of(op.arguments, o, op.number, text), g);
    }
    step.give(input, o.previous);
  });
}

void clip(Call& call) {
  Step& step = call.step;
  const Value& input = call.input(0);
  const auto bound = [&](std::size_t i, double otherwise) {
    return scalar_argument(call.has(i) ? scalar_of(call.input(i)).value_or(otherwise) : otherwise);
  };
  const Arguments bounds{bound(1, 0), bound(2, 6)};
  TensorId x = call.tensor(0);
  TensorId y = x;
  if (is_image(input)) {
    std::tie(x, y) = run_in_place(step, "aten::hardtanh_", x, bounds, input.needs_gradient);
  } else {
    y = run_like(step, "aten::hardtanh", {of(x), bounds[0], bounds[1]}, x);
  }
  call.result(y, "HardtanhBackward0", {input}, [&step, input, x, bounds](TensorId g) {
    step.give(input,
              run_like(step, "aten::hardtanh_backward", {of(g), of(x), bounds[0], bounds[1]}, g));
  });
}

void binary(Call& call) {
  const DataType type = call.input(0).on_host() ? call.input(1).type : call.input(0).type;
  run_pair(call, type);
}

void compare(Call& call) { run_pair(call, DataType::boolean); }

void power(Call& call) {
  Step& step = call.step;
  const Value& input = call.input(0);
  const std::optional<double> known = scalar_of(call.input(1));
  if (!known) call.fail("an exponent that only the device knows", "a number in the file");
  const double exponent = std::isfinite(*known) ? *known : 2;
  const TensorId x = call.tensor(0);
  const TensorId y = run_like(step, "aten::pow", {of(x), plain(exponent)}, x);
  call.result(y, "PowBackward0", {input}, [&step, input, x, exponent](TensorId g) {
    const TensorId lower = run_like(step, "aten::pow", {of(x), plain(exponent - 1)}, x);
    const TensorId scaled = run_like(step, "aten::mul", {of(lower), plain(exponent)}, x);
    step.give(input, run_like(step, "aten::mul", {of(g), of(scaled)}, g));
  });
}

void where(Call& call) {
  Step& step = call.step;
  const Value a = call.input(1), b = call.input(2);
  const Dims dims = broadcast(call, call.dims(0), broadcast(call, a.dims, b.dims));
  const TensorId mask = call.tensor(0);
  const TensorId y =
      step.run("aten::where", {of(mask), of(call.tensor(1)), of(call.tensor(2))}, a.type, dims);
  call.result(y, "WhereBackward0", {a, b}, [&step, a, b, mask](TensorId g) {
    for (const Value& to : {a, b}) {
      if (!to.needs_gradient) continue;
      const TensorId none = step.make(to.type, {});
      step.emit("aten::scalar_tensor", {whole(0)}, {none});
      give_sum(step, to, run_like(step, "aten::where", {of(mask), of(g), of(none)}, g));
    }
  });
}

void cast(Call& call) {
  Step& step = call.step;
  const Value& input = call.input(0);
  const DataType type = element_type(call.number("to", 1));
  if (type == DataType::unknown) call.fail("a type that is no number", "numbers or truth values");
  const TensorId x = call.tensor(0);
  if (type == input.type) return call.outputs.push_back(input);
  const auto convert = [](Step& at, TensorId from, DataType to) {
    return run_like(at, "aten::_to_copy",
                    {of(from), plain(std::string(to_string(to))), nothing(), nothing(), nothing(),
                     plain(false), nothing()},
                    from, to);
  };
  const TensorId y = convert(step, x, type);
  if (!is_floating(type)) return call.result(y);
  call.result(y, "ToCopyBackward0", {input}, [&step, input, convert](TensorId g) {
    step.give(input, convert(step, g, input.type));
  });
}

void dropout(Call& call) {
  Step& step = call.step;
  const Value& input = call.input(0);
  const double ratio = call.has(1) ? scalar_of(call.input(1)).value_or(0.5) : 0.5;
  if (!step.trains() || ratio <= 0 || ratio >= 1) {
    call.outputs.push_back(input);
    return;
  }
  const TensorId x = call.tensor(0);
  const TensorId y = made_like(step, x, input.type);
  const TensorId mask = made_like(step, x, DataType::boolean);
  step.emit("aten::native_dropout", {of(x), plain(ratio), plain(true)}, {y, mask});
  const double scale = 1 / (1 - ratio);
  call.result(y, "NativeDropoutBackward0", {input}, [&step, input, mask, scale](TensorId g) {
    step.give(input,
              run_like(step, "aten::native_dropout_backward", {of(g), of(mask), plain(scale)}, g));
  });
}

}  // namespace tandem::onnx
