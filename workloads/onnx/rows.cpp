// Operations along whole dimensions: softmax, layer norm, means and sums.
#include <algorithm>

#include "sim/core/tensors/data_type.h"
#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

struct SoftmaxRow {
  std::string_view onnx, aten, backward, node;
};

constexpr SoftmaxRow softmax_rows[] = {
    {"Softmax", "aten::_softmax", "aten::_softmax_backward_data", "SoftmaxBackward0"},
    {"SafeSoftmax", "aten::_safe_softmax", "aten::_softmax_backward_data", "SafeSoftmaxBackward0"},
    {"LogSoftmax", "aten::_log_softmax", "aten::_log_softmax_backward_data", "LogSoftmaxBackward0"},
};

/// How gradients come back from a reduction.
enum class Spread : std::uint8_t { divided, repeated, chosen };

struct ReduceRow {
  std::string_view onnx, aten, node;
  Spread spread;
};

constexpr ReduceRow reduce_rows[] = {
    {"ReduceMean", "aten::mean", "MeanBackward1", Spread::divided},
    {"GlobalAveragePool", "aten::mean", "MeanBackward1", Spread::divided},
    {"ReduceSum", "aten::sum", "SumBackward1", Spread::repeated},
    {"ReduceMax", "aten::amax", "AmaxBackward0", Spread::chosen},
    {"ReduceMin", "aten::amin", "AminBackward0", Spread::chosen},
};

template <class Row, std::size_t N>
const Row& row_of(const Call& call, const Row (&rows)[N]) {
  for (const Row& row : rows) {
    if (row.onnx == call.node.type) return row;
  }
  call.fail("an operation without a row", "one of the table");
}

void give_spread(Step& step, const ReduceRow& row, const Value& x, TensorId operand, TensorId y,
                 const Dims& kept, TensorId g) {
  const TensorId wide = expanded(step, reshaped(step, g, kept), x.dims);
  if (row.spread == Spread::repeated) return step.give(x, wide);
  if (row.spread == Spread::divided) {
    const auto share = count_of(x.dims).divided_by(count_of(kept));
    const NetworkArgument count = share ? size(*share) : whole(1);
    return step.give(x, step.run("aten::div", {of(wide), count}, x.type, x.dims));
  }
  // Elements that equal the result share its gradient.
  const TensorId mask =
      step.run("aten::eq", {of(operand), of(reshaped(step, y, kept))}, DataType::boolean, x.dims);
  step.give(x, step.run("aten::mul", {of(wide), of(mask)}, x.type, x.dims));
}

void run_reduction(Call& call, const std::vector<std::size_t>& axes, bool keep) {
  Step& step = call.step;
  const ReduceRow& row = row_of(call, reduce_rows);
  const Value x = call.input(0);
  const TensorId in = call.tensor(0);
  Dims kept = x.dims, dims;
  std::vector<std::int64_t> numbers;
  for (std::size_t d = 0; d < x.dims.size(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (reduced) kept[d] = one;
    if (reduced)
      numbers.push_back(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(x.dims.size()));
    if (!reduced || keep) dims.push_back(kept[d]);
  }
  Arguments arguments{of(in), wholes(numbers), plain(keep)};
  if (row.spread != Spread::chosen) arguments.push_back(nothing());
  const TensorId y = step.run(std::string(row.aten), arguments, x.type, dims);
  call.result(y, std::string(row.node), {x}, [&step, &row, x, in, y, kept](TensorId g) {
    give_spread(step, row, x, in, y, kept, g);
  });
}

}  // namespace

void softmax(Call& call) {
  Step& step = call.step;
  const SoftmaxRow& row = row_of(call, softmax_rows);
  const Value x = call.input(0);
  const TensorId in = contiguous(step, call.tensor(0));
  const auto axis = static_cast<std::int64_t>(call.axis(call.number("axis", -1), x.dims.size()));
  const TensorId y =
      step.run(std::string(row.aten), {of(in), whole(axis), plain(false)}, x.type, x.dims);
  call.result(y, std::string(row.node), {x}, [&step, &row, x, y, axis](TensorId g) {
    step.give(x, step.run(std::string(row.backward),
                          {of(g), of(y), whole(axis), plain(std::string(to_string(x.type)))},
                          x.type, x.dims));
  });
}

void layer_norm(Call& call) {
  Step& step = call.step;
  const Value x = call.input(0), weight = call.input(1);
  const std::optional<Value> bias =
      call.has(2) ? std::optional<Value>(call.input(2)) : std::nullopt;
  const std::size_t axis = call.axis(call.number("axis", -1), x.dims.size());
  const Dims shape(x.dims.begin() + static_cast<std::ptrdiff_t>(axis), x.dims.end());
  Dims kept(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  kept.resize(x.dims.size(), one);
  const TensorId in = call.tensor(0), w = call.tensor(1);
  const NetworkArgument b = bias ? of(call.tensor(2)) : nothing();
  const TensorId y = step.make(x.type, x.dims);
  const TensorId mean = step.make(DataType::fp32, kept), rstd = step.make(DataType::fp32, kept);
  step.emit("aten::native_layer_norm",
            {of(in), sizes(shape), of(w), b, plain(call.fraction("epsilon", 1e-5))},
            {y, mean, rstd});
  std::vector<Value> operands{x, weight};
  if (bias) operands.push_back(*bias);
  call.result(y, "NativeLayerNormBackward0", operands, [=, &step](TensorId g) {
    std::vector<TensorId> made;
    for (const Value& operand : operands) made.push_back(step.make(operand.type, operand.dims));
    step.emit(
        "aten::native_layer_norm_backward",
        {of(g), of(in), sizes(shape), of(mean), of(rstd), of(w), b, wholes({1, 1, bias ? 1 : 0})},
        made);
    for (std::size_t i = 0; i < operands.size(); ++i) step.give(operands[i], made[i]);
  });
}

void reduce(Call& call) {
  const auto given = call.numbers_of(1, "axes");
  const std::size_t rank = call.dims(0).size();
  std::vector<std::size_t> axes;
  if (given) {
    for (const std::int64_t a : *given) axes.push_back(call.axis(a, rank));
  }
  if (axes.empty() && call.number("noop_with_empty_axes", 0) != 0)
    return call.outputs.push_back(call.input(0));
  if (axes.empty()) {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(d);
  }
  run_reduction(call, axes, call.number("keepdims", 1) != 0);
}

void global_average_pool(Call& call) {
  std::vector<std::size_t> axes;
  for (std::size_t d = 2; d < call.dims(0).size(); ++d) axes.push_back(d);
  run_reduction(call, axes, true);
}

void scan(Call& call) {
  const Value x = call.input(0);
  const std::vector<std::int64_t> axis = call.integers(1);
  if (axis.size() != 1) call.fail("an axis of several numbers", "one");
  const TensorId y = call.step.run("aten::cumsum", {of(call.tensor(0)), whole(axis[0]), nothing()},
                                   x.type, x.dims);
  call.result(y);
}

}  // namespace tandem::onnx
