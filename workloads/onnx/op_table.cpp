#include "workloads/onnx/ops.h"

namespace tandem::onnx {

namespace {

constexpr std::uint32_t first = 1, second = 2, third = 4, every = ~0U;

/// Names that end an operation's list are those of the opset that brought it.
constexpr OnnxOp ops[] = {
    // products
    {"Gemm", gemm, second | third},
    {"MatMul", matmul, first | second},
    {"Linear", linear, second | third, own_domain},
    {"Attention", attention, 0, own_domain},
    // images
    {"Conv", convolution, second | third},
    {"ConvTranspose", transposed_convolution, second | third},
    {"BatchNormalization", batch_norm, second | third},
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_average_pool},
    // one element at a time
    {"Relu", unary},
    {"Sigmoid", unary},
    {"Tanh", unary},
    {"Gelu", unary},
    {"HardSwish", unary},
    {"HardSigmoid", unary},
    {"Swish", unary},
    {"LeakyRelu", unary},
    {"Erf", unary},
    {"Exp", unary},
    {"Log", unary},
    {"Sqrt", unary},
    {"Rsqrt", unary, 0, own_domain},
    {"Reciprocal", unary},
    {"Neg", unary},
    {"Abs", unary},
    {"Sin", unary},
    {"Cos", unary},
    {"Not", unary},
    {"IsNaN", unary},
    {"Floor", unary},
    {"Ceil", unary},
    {"Round", unary},
    {"Elu", unary},
    {"Softplus", unary},
    {"Clip", clip},
    {"Add", binary, every},
    {"Sub", binary, every},
    {"Mul", binary, every},
    {"Div", binary, every},
    {"Max", binary},
    {"Min", binary},
    {"Mod", binary},
    {"And", compare},
    {"Or", compare},
    {"Equal", compare},
    {"Greater", compare},
    {"GreaterOrEqual", compare},
    {"Less", compare},
    {"LessOrEqual", compare},
    {"Pow", power},
    {"Where", where},
    {"Cast", cast, first},
    {"Dropout", dropout},
    // rows
    {"Softmax", softmax},
    {"LogSoftmax", softmax},
    {"SafeSoftmax", softmax, 0, own_domain},
    {"LayerNormalization", layer_norm, second | third},
    {"ReduceMean", reduce},
    {"ReduceSum", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"CumSum", scan},
    // shapes
    {"Identity", identity, first},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"RandomUniformLike", random_like},
    {"RandomNormalLike", random_like},
    {"Range", range},
    {"Shape", shape},
    {"Size", size_of},
    {"Reshape", reshape, first},
    {"Flatten", flatten},
    {"Squeeze", squeeze, first},
    {"Unsqueeze", unsqueeze, first},
    {"Transpose", transpose, first},
    {"Expand", expand, first},
    {"Concat", concat, every},
    {"Split", split, first},
    {"Slice", slice},
    {"Pad", pad},
    // tables
    {"Gather", gather, first},
    {"EmbeddingBag", embedding_bag, first, own_domain},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"ScatterND", scatter_nd},
    {"Trilu", triangle},
};

}  // namespace

const OnnxOp* find_op(std::string_view domain, std::string_view name) {
  for (const OnnxOp& op : ops) {
    if (op.name == name && op.domain == domain) return &op;
  }
  return nullptr;
}

std::string op_names() {
  std::string out;
  for (const OnnxOp& op : ops) {
    if (op.domain == own_domain) continue;
    out.append(out.empty() ? "" : ", ").append(op.name);
  }
  return out;
}

}  // namespace tandem::onnx
