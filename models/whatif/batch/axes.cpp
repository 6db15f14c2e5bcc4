// The rules that decide which operand of an operation grows with the batch.
#include <algorithm>
#include <array>

#include "models/whatif/batch/roles.h"

namespace tandem {
namespace {

// Arguments that hold parameters and arguments that always hold activations, as bits.
struct ArgumentRow {
  std::string_view op;
  std::uint32_t parameters;
  std::uint32_t activations;
};

constexpr ArgumentRow argument_rows[] = {
    {"aten::conv1d", 0b110, 0b1},
    {"aten::conv2d", 0b110, 0b1},
    {"aten::conv3d", 0b110, 0b1},
    {"aten::convolution", 0b110, 0b1},
    {"aten::_convolution", 0b110, 0b1},
    {"aten::cudnn_convolution", 0b10, 0b1},
    {"aten::cudnn_convolution_relu", 0b110, 0b1},
    {"aten::cudnn_convolution_transpose", 0b10, 0b1},
    {"aten::_conv_depthwise2d", 0b110, 0b1},
    {"aten::convolution_backward", 0b100, 0b11},
    {"aten::batch_norm", 0b11110, 0b1},
    {"aten::_batch_norm_impl_index", 0b11110, 0b1},
    {"aten::native_batch_norm", 0b11110, 0b1},
    {"aten::cudnn_batch_norm", 0b11110, 0b1},
    {"aten::cudnn_batch_norm_backward", 0b1111100, 0b11},
    {"aten::native_batch_norm_backward", 0b1111100, 0b11},
    {"aten::linear", 0b110, 0b1},
    {"aten::addmm", 0b101, 0},
    {"aten::layer_norm", 0b1100, 0b1},
    {"aten::native_layer_norm", 0b1100, 0b1},
    {"aten::native_layer_norm_backward", 0b1100000, 0b11},
    {"aten::rms_norm", 0b100, 0b1},
    {"aten::group_norm", 0b1100, 0b1},
    {"aten::native_group_norm", 0b110, 0b1},
    {"aten::embedding", 0b1, 0b10},
    {"aten::embedding_bag", 0b1, 0b110},
    {"aten::_embedding_bag", 0b1, 0b110},
    {"aten::gather", 0, 0b10100},
    {"aten::_cudnn_rnn", 0b1010, 0b1},
    {"aten::_cudnn_rnn_backward", 0b1010, 0b1},
    {"aten::_thnn_fused_lstm_cell", 0b11000, 0b11},
    {"aten::sum", 0, 0b1},
    {"aten::mean", 0, 0b1},
    {"aten::gelu", 0, 0b1},
    {"aten::gelu_backward", 0, 0b11},
    {"aten::relu", 0, 0b1},
    {"aten::clamp_min", 0, 0b1},
    {"aten::clamp_min_", 0, 0b1},
    {"aten::threshold_backward", 0, 0b11},
    {"aten::softmax", 0, 0b1},
    {"aten::log_softmax", 0, 0b1},
    {"aten::cross_entropy_loss", 0, 0b11},
    {"aten::nll_loss_nd", 0, 0b11},
    {"aten::nll_loss", 0, 0b11},
    {"aten::nll_loss_forward", 0, 0b11},
    {"aten::nll_loss_backward", 0, 0b111},
    {"aten::_softmax", 0, 0b1},
    {"aten::_log_softmax", 0, 0b1},
    {"aten::_softmax_backward_data", 0, 0b11},
    {"aten::_log_softmax_backward_data", 0, 0b11},
    {"aten::native_dropout", 0, 0b1},
    {"aten::native_dropout_backward", 0, 0b11},
};

const ArgumentRow* find_row(std::string_view op) {
  const auto it = std::find_if(std::begin(argument_rows), std::end(argument_rows),
                               [&](const ArgumentRow& row) { return row.op == op; });
  return it == std::end(argument_rows) ? nullptr : it;
}

bool multiple(std::int64_t dim, std::int64_t batch) { return dim > 0 && dim % batch == 0; }

// Leading dimension, if it counts items (or tokens of items); else one that is the batch itself.
std::int8_t axis_of(const TensorShape& t, std::int64_t batch, bool sequence_first) {
  if (t.rank == 0) return -1;
  if (sequence_first && t.rank >= 3 && t.dims[1] == batch) return 1;
  if (t.dims[0] == 1 && (batch != 1 || t.rank == 1)) return -1;  // broadcast over the batch
  if (multiple(t.dims[0], batch)) return 0;
  for (std::int8_t i = 1; i < t.rank && batch > 1; ++i) {
    if (t.dims[static_cast<std::size_t>(i)] == batch) return i;
  }
  return -1;
}

// A product [m,k] x [k,n]: the operand or result that has the shape of a parameter does not grow.
struct ProductAxes {
  std::int8_t left = -1, right = -1;
};
ProductAxes product_axes(const TensorShape& left, const TensorShape& right,
                         const ParameterShapes& parameters, std::int64_t batch,
                         bool weight_gradient) {
  const std::int64_t m = left.dims[0], k = left.dims[1], n = right.dims[1];
  const bool left_fixed = parameters.contains(left), right_fixed = parameters.contains(right);
  const bool result_fixed = parameters.contains(m, n);
  // Where tokens = width of a layer, activations look like parameters.
  const bool ambiguous = result_fixed && (left_fixed || right_fixed);
  constexpr ProductAxes rows{0, -1}, inner{1, 0}, columns{-1, 1};
  if (ambiguous && weight_gradient && multiple(k, batch)) return inner;
  struct Candidate {
    bool fits;
    ProductAxes axes;
  };
  const std::array<Candidate, 3> by_shape{{
      {right_fixed && !left_fixed && multiple(m, batch), rows},
      {result_fixed && !left_fixed && !right_fixed && multiple(k, batch), inner},
      {left_fixed && !right_fixed && multiple(n, batch), columns},
  }};
  const auto fits =
      std::find_if(by_shape.begin(), by_shape.end(), [](const Candidate& c) { return c.fits; });
  if (fits != by_shape.end()) return fits->axes;
  // All of them are shapes of parameters: the order decides.
  if (weight_gradient && multiple(k, batch)) return inner;
  if (multiple(m, batch)) return rows;
  return multiple(k, batch) ? inner : ProductAxes{};
}

bool is_product(std::string_view op) { return op == "aten::mm" || op == "aten::addmm"; }

}  // namespace

std::uint32_t parameter_arguments(std::string_view op) {
  const ArgumentRow* row = find_row(op);
  return row == nullptr ? 0 : row->parameters;
}

std::vector<std::int8_t> growing_axes(std::string_view op, const OpTensors& tensors,
                                      const ParameterShapes& parameters, std::int64_t batch,
                                      bool sequence_first, bool weight_gradient) {
  std::vector<std::int8_t> axes(tensors.shapes.size(), -1);
  const std::size_t first = op == "aten::addmm" ? 1 : 0;
  if (is_product(op) && axes.size() >= first + 2 && tensors.shapes[first].rank == 2 &&
      tensors.shapes[first + 1].rank == 2) {
    const ProductAxes p = product_axes(tensors.shapes[first], tensors.shapes[first + 1], parameters,
                                       batch, weight_gradient);
    axes[first] = p.left, axes[first + 1] = p.right;
    return axes;
  }
  const ArgumentRow* row = find_row(op);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::uint32_t bit = tensors.arguments[i] < 32 ? 1U << tensors.arguments[i] : 0;
    const bool activation = row != nullptr && (row->activations & bit) != 0;
    const bool parameter = row != nullptr && (row->parameters & bit) != 0;
    if (parameter || (!activation && parameters.contains(tensors.shapes[i]))) continue;
    axes[i] = axis_of(tensors.shapes[i], batch, sequence_first);
  }
  return axes;
}

}  // namespace tandem
