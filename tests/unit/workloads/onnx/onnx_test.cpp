// ONNX files as networks: what each operation becomes, forward and backward.
#include <limits>

#include "tests/unit/workloads/onnx/onnx_for_tests.h"

namespace tandem {
namespace {

using test::load;
using test::Names;
using test::Numbers;
using test::OnnxModel;
using test::op_names;

TEST(SizeFormulas, AreArithmetic) {
  const Expression batch = Expression::symbol(0), seq = Expression::symbol(1);
  const std::vector<std::int64_t> values{7, 100};
  EXPECT_EQ((batch * seq + batch).at(values), 707);
  EXPECT_EQ(batch * seq, seq * batch);
  EXPECT_EQ((batch + seq) - batch, seq);
  EXPECT_EQ((batch - batch).number(), 0);
  EXPECT_EQ((Expression(12) * batch * seq).divided_by(Expression(4) * batch), Expression(3) * seq);
  EXPECT_EQ((batch + seq).divided_by(batch + seq), Expression(1));
  EXPECT_FALSE((batch * seq + seq).divided_by(batch));
  EXPECT_FALSE(Expression(7).divided_by(Expression(2)));
  EXPECT_FALSE(batch.divided_by(Expression(0)));
  EXPECT_THROW(Expression(std::int64_t{1} << 40) * Expression(std::int64_t{1} << 40), SizeOverflow);
  Expression power = batch + seq;
  EXPECT_THROW(
      {
        for (int i = 0; i < 8; ++i) power = power * power;
      },
      SizeOverflow);
}

OnnxModel small_images() {
  return OnnxModel()
      .input("x", {"N", 3, 32, 32})
      .weight("w", {8, 3, 3, 3})
      .weight("scale", {8})
      .weight("shift", {8})
      .weight("mean", {8})
      .weight("variance", {8})
      .node("Conv", {"x", "w"}, {"c"}, {{"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}})
      .node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"b"})
      .node("Relu", {"b"}, {"r"})
      .node("GlobalAveragePool", {"r"}, {"p"})
      .node("Flatten", {"p"}, {"f"})
      .weight("fw", {10, 8})
      .weight("fb", {10})
      .node("Gemm", {"f", "fw", "fb"}, {"y"}, {{"transB", {1}}})
      .output("y");
}

TEST(Onnx, ForwardOfImages) {
  const Network network = load(small_images());
  EXPECT_EQ(op_names(network),
            (Names{"cudnn_convolution", "cudnn_batch_norm", "relu_", "mean", "addmm"}));
  // (32 + 2 * 1 - 3) / 2 + 1 = 16
  EXPECT_EQ(test::dims_at(network, 0, {{"batch", 5}}), (Numbers{5, 8, 16, 16}));
  EXPECT_EQ(test::dims_at(network, 4, {{"batch", 5}}), (Numbers{5, 10}));
}

TEST(Onnx, BackwardAndOptimizerOfImages) {
  const Network network = load(small_images(), Task::train);
  EXPECT_EQ(op_names(network, Phase::backward),
            (Names{"nll_loss_backward", "_log_softmax_backward_data", "mm", "mm", "sum", "div",
                   "threshold_backward", "cudnn_batch_norm_backward", "convolution_backward"}));
  EXPECT_EQ(op_names(network, Phase::optimizer),
            (Names{"_foreach_add", "_foreach_mul_", "_foreach_add_", "_foreach_add_"}));
  // w, scale, shift, fw, fb; not the statistics
  EXPECT_EQ(network.ops.back().arguments[0].tensors.size(), 5U);
  const NetworkOp& convolution = network.ops[network.ops.size() - 5];
  ASSERT_EQ(convolution.name, "aten::convolution_backward");
  EXPECT_EQ(convolution.outputs.size(), 1U);  // the input of the network needs no gradient
}

TEST(Onnx, LinearLayersBecomeOneProduct) {
  const OnnxModel model = OnnxModel()
                              .input("x", {"N", "T", 64})
                              .weight("w", {64, 32})
                              .weight("b", {32})
                              .node("MatMul", {"x", "w"}, {"m"})
                              .node("Add", {"b", "m"}, {"y"})
                              .output("y");
  const Network network = load(model, Task::train);
  ASSERT_EQ(op_names(network)[0], "addmm");
  EXPECT_EQ(test::dims_at(network, 0, {{"batch", 2}, {"seq", 8}}), (Numbers{16, 32}));
  // The framework keeps [to, from], so that the weight is read turned and its gradient is not.
  const NetworkTensor& weight = network.tensors[network.ops[0].arguments[2].tensors[0]];
  ASSERT_EQ(weight.strides.size(), 2U);
  EXPECT_EQ(weight.strides[0].number(), 1);
  EXPECT_EQ(weight.strides[1].number(), 64);
}

TEST(Onnx, GradientsOfAValueWithTwoReadersAreAdded) {
  const OnnxModel model = OnnxModel()
                              .input("x", {"N", 16})
                              .weight("w", {16, 16})
                              .node("MatMul", {"x", "w"}, {"m"})
                              .node("Tanh", {"m"}, {"t"})
                              .node("Add", {"m", "t"}, {"y"})
                              .output("y");
  const Names backward = op_names(load(model, Task::train), Phase::backward);
  EXPECT_EQ(backward, (Names{"nll_loss_backward", "_log_softmax_backward_data", "tanh_backward",
                             "add_", "mm"}));
}

TEST(Onnx, BroadcastOperandsGetSums) {
  const OnnxModel model = OnnxModel()
                              .input("x", {"N", 4, 16})
                              .weight("w", {16, 16})
                              .weight("position", {1, 4, 16})
                              .node("MatMul", {"x", "w"}, {"m"})
                              .node("Add", {"m", "position"}, {"y"})
                              .output("y");
  const Names backward = op_names(load(model, Task::train), Phase::backward);
  EXPECT_EQ(backward, (Names{"nll_loss_backward", "_log_softmax_backward_data", "sum", "mm"}));
}

/// Scores of queries and keys [N, 2 heads, T, 8], as exporters write attention.
OnnxModel attention_model() {
  return OnnxModel()
      .input("x", {"N", "T", 16})
      .weight("qw", {16, 16})
      .weight("kw", {16, 16})
      .weight("vw", {16, 16})
      .numbers("heads", {0, 0, 2, 8})
      .numbers("joined", {0, 0, 16})
      .fraction("scale", 0.5F)
      .node("MatMul", {"x", "qw"}, {"q0"})
      .node("MatMul", {"x", "kw"}, {"k0"})
      .node("MatMul", {"x", "vw"}, {"v0"})
      .node("Reshape", {"q0", "heads"}, {"q1"})
      .node("Reshape", {"k0", "heads"}, {"k1"})
      .node("Reshape", {"v0", "heads"}, {"v1"})
      .node("Transpose", {"q1"}, {"q"}, {{"perm", {0, 2, 1, 3}}})
      .node("Transpose", {"k1"}, {"k"}, {{"perm", {0, 2, 3, 1}}})
      .node("Transpose", {"v1"}, {"v"}, {{"perm", {0, 2, 1, 3}}})
      .node("Mul", {"q", "scale"}, {"qs"})
      .node("MatMul", {"qs", "k"}, {"s"})
      .node("Softmax", {"s"}, {"p"})
      .node("MatMul", {"p", "v"}, {"o"})
      .node("Transpose", {"o"}, {"o1"}, {{"perm", {0, 2, 1, 3}}})
      .node("Reshape", {"o1", "joined"}, {"y"})
      .output("y");
}

TEST(Onnx, AttentionIsFused) {
  const Network network = load(attention_model());
  EXPECT_EQ(op_names(network),
            (Names{"mm", "mm", "mm", "_scaled_dot_product_efficient_attention"}));
  const Names backward = op_names(load(attention_model(), Task::train), Phase::backward);
  // loss, attention, then three weights; x needs no gradient
  EXPECT_EQ(backward,
            (Names{"nll_loss_backward", "_log_softmax_backward_data",
                   "_scaled_dot_product_efficient_attention_backward", "mm", "mm", "mm"}));
}

TEST(Onnx, AttentionWhoseScoresAreReadStaysProducts) {
  OnnxModel model = attention_model();
  model.output("s");
  const Names names = op_names(load(model));
  EXPECT_EQ(std::count(names.begin(), names.end(), "bmm"), 2);
  EXPECT_EQ(std::count(names.begin(), names.end(), "_scaled_dot_product_efficient_attention"), 0);
}

/// Scores plus a mask of positions below or at the row's: 0, 1, 2 ... T against themselves.
OnnxModel masked_attention() {
  OnnxModel model = attention_model();
  model.graph().mutable_node(11)->set_input(0, "masked");  // the softmax
  OnnxModel mask;
  mask.numbers("zero", {0}, true)
      .numbers("one", {1}, true)
      .numbers("rows", {1})
      .fraction("none", 0)
      .fraction("low", -1e9F)
      .node("Shape", {"x"}, {"sizes"})
      .node("Gather", {"sizes", "one"}, {"length"})
      .node("Range", {"zero", "length", "one"}, {"columns"})
      .node("Unsqueeze", {"columns", "rows"}, {"lines"})
      .node("LessOrEqual", {"columns", "lines"}, {"seen"})
      .node("Where", {"seen", "none", "low"}, {"mask"})
      .node("Add", {"s", "mask"}, {"masked"});
  ::onnx::GraphProto graph = model.graph();
  graph.clear_node();
  for (int n = 0; n < 11; ++n) *graph.add_node() = model.graph().node(n);
  for (const auto& node : mask.graph().node()) *graph.add_node() = node;
  for (int n = 11; n < model.graph().node_size(); ++n) *graph.add_node() = model.graph().node(n);
  for (const auto& tensor : mask.graph().initializer()) *graph.add_initializer() = tensor;
  model.graph() = graph;
  return model;
}

TEST(Onnx, MasksThatComparePositionsAreCausal) {
  const Network network = load(masked_attention());
  const auto names = op_names(network);
  ASSERT_EQ(names, (Names{"mm", "mm", "mm", "_scaled_dot_product_efficient_attention"}));
  const NetworkOp& attention = network.ops.back();
  EXPECT_EQ(attention.arguments[3].form, NetworkArgument::Form::none);  // no mask
  EXPECT_EQ(attention.arguments[6].value, Argument(true));              // is_causal
}

TEST(Onnx, EmbeddingBagsAreLoopsOverBags) {
  OnnxModel model = OnnxModel()
                        .input("ids", {"N"}, ::onnx::TensorProto::INT64)
                        .input("offsets", {"N"}, ::onnx::TensorProto::INT64)
                        .weight("table", {1000, 16})
                        .numbers("zero", {0}, true)
                        .numbers("first", {0})
                        .node("Shape", {"offsets"}, {"sizes"})
                        .node("Gather", {"sizes", "zero"}, {"bags"})
                        .node("Loop", {"bags", ""}, {"y"})
                        .output("y");
  auto* attribute = model.graph().mutable_node(2)->add_attribute();
  attribute->set_name("body");
  OnnxModel body;
  body.node("Slice", {"ids", "begin", "end"}, {"part"})
      .node("Gather", {"table", "part"}, {"rows"})
      .node("ReduceSum", {"rows", "first"}, {"sum"});
  *attribute->mutable_g() = body.graph();
  const Network network = load(model, Task::train);
  EXPECT_EQ(op_names(network)[0], "_embedding_bag");
  EXPECT_EQ(test::dims_at(network, 0, {{"batch", 9}}), (Numbers{9, 16}));
  EXPECT_EQ(op_names(network, Phase::optimizer), Names{"index_add_"});  // its gradient is rows
}

TEST(Onnx, FormulasOfActivationsBecomeOneOperation) {
  const OnnxModel gelu = OnnxModel()
                             .input("x", {"N", 16})
                             .fraction("root", 1.414F)
                             .fraction("one", 1)
                             .fraction("half", 0.5F)
                             .node("Div", {"x", "root"}, {"d"})
                             .node("Erf", {"d"}, {"e"})
                             .node("Add", {"e", "one"}, {"a"})
                             .node("Mul", {"x", "a"}, {"m"})
                             .node("Mul", {"m", "half"}, {"y"})
                             .output("y");
  EXPECT_EQ(op_names(load(gelu)), Names{"gelu"});
  const OnnxModel silu = OnnxModel()
                             .input("x", {"N", 16})
                             .node("Sigmoid", {"x"}, {"s"})
                             .node("Mul", {"x", "s"}, {"y"})
                             .output("y");
  EXPECT_EQ(op_names(load(silu)), Names{"silu"});
}

TEST(Onnx, ShapesComputedInTheGraphLaunchNothing) {
  const OnnxModel model = OnnxModel()
                              .input("x", {"N", "T", 12})
                              .numbers("zero", {0}, true)
                              .numbers("axis", {0})
                              .numbers("open", {-1})
                              .numbers("three", {3})
                              .node("Shape", {"x"}, {"s"})
                              .node("Gather", {"s", "zero"}, {"n"})
                              .node("Unsqueeze", {"n", "axis"}, {"n1"})
                              .node("Concat", {"n1", "open", "three"}, {"to"}, {{"axis", {0}}})
                              .node("Reshape", {"x", "to"}, {"r"})
                              .node("Tanh", {"r"}, {"y"})
                              .output("y");
  const Network network = load(model);
  EXPECT_EQ(op_names(network), Names{"tanh"});
  EXPECT_EQ(test::dims_at(network, 0, {{"batch", 2}, {"seq", 5}}),
            (Numbers{2, 20, 3}));  // 5 * 12 / 3
}

/// Exporters turn pads of PyTorch, last dimension first, into those of ONNX by way of a table.
TEST(Onnx, TablesOfNumbersAreComputed) {
  const OnnxModel model =
      OnnxModel()
          .input("x", {"N", 8})
          .numbers("pads", {1, 2, 3, 4})
          .numbers("table", {-1, 2})
          .numbers("all", {-1})
          .numbers("last", {-1})
          .numbers("before", {std::numeric_limits<std::int64_t>::min()})
          .numbers("axis", {0})
          .node("Reshape", {"pads", "table"}, {"p"})                      // 1 2 | 3 4
          .node("Slice", {"p", "last", "before", "axis", "last"}, {"q"})  // 3 4 | 1 2
          .node("Transpose", {"q"}, {"r"}, {{"perm", {1, 0}}})            // 3 1 | 4 2
          .node("Reshape", {"r", "all"}, {"s"})
          .node("Pad", {"x", "s"}, {"y"})
          .output("y");
  // Rows 3 before and 4 after, columns 1 before and 2 after.
  EXPECT_EQ(test::dims_at(load(model), 0, {{"batch", 5}}), (Numbers{12, 11}));
}

TEST(Onnx, CopiesWhereStridesAllowNoView) {
  const OnnxModel model = OnnxModel()
                              .input("x", {"N", 4, 6})
                              .numbers("to", {0, 24})
                              .node("Transpose", {"x"}, {"t"}, {{"perm", {0, 2, 1}}})
                              .node("Reshape", {"t", "to"}, {"r"})
                              .node("Tanh", {"r"}, {"y"})
                              .output("y");
  EXPECT_EQ(op_names(load(model)), (Names{"clone", "tanh"}));
}

TEST(Onnx, EmbeddingsAndTheirGradients) {
  const OnnxModel model = OnnxModel()
                              .input("ids", {"N", "T"}, ::onnx::TensorProto::INT64)
                              .weight("words", {100, 16})
                              .node("Gather", {"words", "ids"}, {"y"})
                              .output("y");
  const Network network = load(model, Task::train, "adamw");
  EXPECT_EQ(op_names(network)[0], "embedding");
  EXPECT_EQ(op_names(network, Phase::backward).back(), "embedding_dense_backward");
  EXPECT_EQ(op_names(network, Phase::optimizer),
            (Names{"_foreach_mul_", "_foreach_lerp_", "_foreach_mul_", "_foreach_addcmul_",
                   "_foreach_sqrt", "_foreach_div_", "_foreach_add_", "_foreach_addcdiv_"}));
}

TEST(Onnx, WeightsInTheFileArePassedOver) {
  OnnxModel model = small_images();
  for (auto& tensor : *model.graph().mutable_initializer()) {
    tensor.clear_data_location();
    tensor.set_raw_data(
        std::string(1 << 16, 'x'));  // of no length that would fit, for nobody looks
  }
  EXPECT_EQ(op_names(load(model, Task::train)), op_names(load(small_images(), Task::train)));
}

TEST(Onnx, WhatNobodyReadsIsNotComputed) {
  OnnxModel model = small_images();
  model.node("Tanh", {"x"}, {"unread"});
  EXPECT_EQ(op_names(load(model)), op_names(load(small_images())));
}

TEST(Onnx, FixedSizesAreTheBatch) {
  const OnnxModel model = OnnxModel().input("x", {6, 16}).node("Tanh", {"x"}, {"y"}).output("y");
  const Network network = load(model);
  EXPECT_TRUE(network.symbols.empty());
  EXPECT_EQ(network.fixed_batch, 6);
}

TEST(Onnx, PoolsRoundAsAsked) {
  const auto pooled = [](std::int64_t ceil) {
    const OnnxModel model =
        OnnxModel()
            .input("x", {"N", 2, 8, 8})
            .node("MaxPool", {"x"}, {"y"},
                  {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"ceil_mode", {ceil}}})
            .output("y");
    return test::dims_at(load(model), 0, {{"batch", 1}});
  };
  EXPECT_EQ(pooled(0), (Numbers{1, 2, 3, 3}));  // (8 - 3) / 2 + 1 = 3.5
  EXPECT_EQ(pooled(1), (Numbers{1, 2, 4, 4}));
}

}  // namespace
}  // namespace tandem
