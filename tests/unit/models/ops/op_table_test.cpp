// The one table of operations: complete, without rows in each other's way, and true to the
// captures.
#include "models/ops/op_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "models/ops/layers.h"
#include "models/ops/op_outputs.h"
#include "sim/trace/importers/kineto/operands.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// What an output rule reads of the arguments.
std::vector<ArgumentName> needs(OutputRule rule) {
  switch (rule) {
    case OutputRule::convolution:
      return {ArgumentName::input, ArgumentName::weight, ArgumentName::stride,
              ArgumentName::padding, ArgumentName::dilation};
    case OutputRule::pooling:
      return {ArgumentName::kernel, ArgumentName::stride, ArgumentName::padding};
    case OutputRule::adaptive_pooling: return {ArgumentName::kernel};
    case OutputRule::reduction:
    case OutputRule::truths:
    case OutputRule::positions: return {ArgumentName::dims};
    case OutputRule::rows:
    case OutputRule::elements: return {ArgumentName::index};
    case OutputRule::table: return {ArgumentName::rows};
    case OutputRule::norm_gradients: return {ArgumentName::input, ArgumentName::weight};
    default: return {};
  }
}

/// "relu_backward"; "SyncBatchNormBackward", a node of Python; "ReluGrad", "FusedBatchNormGradV3"
/// and "Conv2DBackpropInput" of TensorFlow.
bool names_gradient(std::string_view name) {
  if (name.find("backward") != name.npos) return true;
  const bool torch = name.find("::") != name.npos;  // AccumulateGrad computes none
  return !torch && (name.find("Backprop") != name.npos || name.ends_with("Grad") ||
                    name.ends_with("Backward") || name.find("GradV") != name.npos);
}

TEST(OpTable, EveryRowHasEveryColumn) {
  int rows = 0;
  for (const OpRow& row : op_table()) {
    EXPECT_FALSE(names_of(row).empty());
    EXPECT_FALSE(to_string(row.kind).empty()) << row.names;
    EXPECT_FALSE(to_string(row.layer).empty()) << row.names;
    for (const ArgumentName a : needs(row.output)) {
      EXPECT_TRUE(row.arguments.has(a)) << row.names << " lacks " << static_cast<int>(a);
    }
    if (row.output == OutputRule::gradients) {
      EXPECT_NE(row.arguments.saved_inputs, 0) << row.names;
    }
    if (row.output == OutputRule::product) {
      const bool factors =
          row.arguments.has(ArgumentName::left) && row.arguments.has(ArgumentName::right);
      EXPECT_TRUE(factors || is_layer_product(row)) << row.names;
    }
    for (const std::string_view name : names_of(row)) {
      EXPECT_EQ(row.backward, names_gradient(name)) << name;
      EXPECT_FALSE(name.starts_with("aten::")) << name;
    }
    ++rows;
  }
  EXPECT_GT(rows, 80);
}

TEST(OpTable, WhatAKindComputesInSixteenBitsIsTheSameInAllItsRows) {
  for (const OpRow& row : op_table()) {
    const bool product = row.kind == OpKind::convolution || row.kind == OpKind::attention ||
                         row.kind == OpKind::convolution_backward ||
                         row.kind == OpKind::attention_backward;
    if (product) {
      EXPECT_EQ(row.autocast, CastPolicy::lower) << row.names;
    }
    if (row.kind == OpKind::loss || row.kind == OpKind::row_norm) {
      EXPECT_EQ(row.autocast, CastPolicy::full) << row.names;
    }
    if (row.kind == OpKind::softmax) {
      EXPECT_NE(row.autocast, CastPolicy::promote) << row.names;
    }
  }
}

TEST(OpTable, NoNameIsHiddenByAnother) {
  std::map<std::string_view, const OpRow*> seen;
  std::vector<std::string_view> beginnings;
  for (const OpRow& row : op_table()) {
    for (const std::string_view name : names_of(row)) {
      EXPECT_TRUE(seen.emplace(name, &row).second) << name << " stands in two rows";
      if (name.ends_with('*')) beginnings.push_back(name.substr(0, name.size() - 1));
    }
  }
  for (const auto& [name, row] : seen) {
    const std::string text(name.ends_with('*') ? name.substr(0, name.size() - 1) : name);
    EXPECT_EQ(find_op(text + (name.ends_with('*') ? "x" : "")), row) << name;
    for (const std::string_view beginning : beginnings) {
      if (!name.ends_with('*')) break;  // a whole name goes before an ending
      EXPECT_FALSE(beginning != text && text.starts_with(beginning)) << name << " " << beginning;
    }
    EXPECT_FALSE(is_in_place(name) && seen.contains(name.substr(0, name.size() - 1))) << name;
  }
  EXPECT_GT(seen.size(), 250U);
}

TEST(OpTable, FindsOverloadsAndFormsInPlace) {
  EXPECT_EQ(find_op("aten::add_.Tensor"), find_op("aten::add"));
  EXPECT_EQ(find_op("aten::_foreach_mul_.Scalar"), find_op("aten::_foreach_mul"));
  EXPECT_EQ(find_op("aten::_foreach_addcmul_.Scalar"), find_op("aten::_foreach_sub_"));
  EXPECT_EQ(find_op("aten::copy_")->kind, OpKind::cast);
  EXPECT_TRUE(is_in_place("aten::add_.Tensor"));
  EXPECT_FALSE(is_in_place("aten::__or__"));
}

TEST(OpTable, SaysThatItDoesNotKnowAnOperation) {
  EXPECT_EQ(find_op("aten::an_operation_of_tomorrow"), nullptr);
  const OpRow& row = op_row("aten::an_operation_of_tomorrow");
  EXPECT_FALSE(is_known(row));
  EXPECT_EQ(row.kind, OpKind::other);  // and not pointwise, which a compiler would fuse
  EXPECT_TRUE(is_known(op_row("aten::relu")));
}

/// Names for which a predicate holds, of those that it could take for such.
std::vector<std::string> those_of(const std::vector<std::string>& names, auto&& predicate) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (predicate(name)) out.push_back(name);
  }
  return out;
}

TEST(OpTable, SaysWhatModelsAskOfFewOperations) {
  using Names = std::vector<std::string>;
  const auto flagged = [](OpFlag flag) {
    return [flag](std::string_view name) { return op_row(name).is(flag); };
  };
  const Names optimizer = {"aten::_foreach_mul_", "aten::_foreach_sqrt", "aten::mul_",
                           "aten::_foreach_add_"};
  EXPECT_EQ(those_of(optimizer, flagged(multiplies)), (Names{"aten::_foreach_mul_", "aten::mul_"}));
  // In place or not: who asks that looks at the name as well.
  EXPECT_EQ(those_of(optimizer, flagged(copies_all)),
            (Names{"aten::_foreach_sqrt", "aten::_foreach_add_"}));
  const Names scaler = {"aten::_amp_foreach_non_finite_check_and_unscale_",
                        "aten::_amp_update_scale_", "aten::mul"};
  EXPECT_EQ(those_of(scaler, flagged(scales_loss)), (Names{scaler[0], scaler[1]}));
  EXPECT_EQ(those_of(scaler, flagged(checks_gradients)), (Names{scaler[0]}));
  const Names rows = {"aten::_embedding_bag", "aten::embedding_sparse_backward",
                      "aten::embedding_backward", "aten::embedding"};
  EXPECT_EQ(those_of(rows, flagged(sparse_rows)), (Names{rows[0], rows[1]}));
  const Names others = {"aten::sin", "aten::cos", "aten::_scaled_dot_product_attention_math"};
  EXPECT_EQ(those_of(others, flagged(trigonometric)), (Names{others[0], others[1]}));
  EXPECT_EQ(those_of(others, flagged(full_inside)), (Names{others[2]}));
  const Names bounded = {"aten::clamp", "aten::hardtanh", "aten::clamp_min"};
  EXPECT_EQ(those_of(bounded, flagged(clamps)), (Names{bounded[0], bounded[1]}));
  const Names products = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear"};
  const auto with_bias = [](std::string_view name) { return is_product_with_bias(op_row(name)); };
  EXPECT_EQ(those_of(products, with_bias), (Names{"aten::addmm"}));
}

TEST(OpTable, TellsOperationsOfTheFrameworkFromNodesAndRangesOfTheUser) {
  EXPECT_TRUE(is_framework_op("aten::an_operation_of_tomorrow"));
  EXPECT_FALSE(is_framework_op("my_range"));
  EXPECT_EQ(without_framework("aten::add"), "add");
  EXPECT_EQ(without_framework("my_range"), "my_range");
  EXPECT_TRUE(is_backward_node("autograd::engine::evaluate_function: MyFunctionBackward"));
  EXPECT_FALSE(is_backward_node("aten::convolution_backward"));
}

TEST(OpTable, FindsTheForwardOperationOfANode) {
  EXPECT_EQ(forward_of_node("AddmmBackward0"), find_op("aten::addmm"));
  EXPECT_EQ(forward_of_node("autograd::engine::evaluate_function: ToCopyBackward0"),
            find_op("aten::_to_copy"));
  EXPECT_EQ(forward_of_node("MaxPool2DWithIndicesBackward0"),
            find_op("aten::max_pool2d_with_indices"));
  EXPECT_EQ(forward_of_node("MyFunctionBackward"), nullptr);
  EXPECT_EQ(forward_of_node("aten::addmm"), nullptr);
}

TEST(OpTable, KnowsEveryOperationOfTheCaptures) {
  std::ifstream file(source_path("tests/unit/models/ops/op_names.txt"));
  int names = 0;
  for (std::string name; std::getline(file, name); ++names) {
    const bool known =
        find_op(without_engine_prefix(name)) != nullptr || forward_of_node(name) != nullptr;
    EXPECT_TRUE(known) << name;
  }
  EXPECT_GT(names, 400);
}

// lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh): a network of cells has these weights and no others.
TEST(OpTable, CellsNameTheirWeights) {
  const OpArguments& cell = op_row("aten::lstm_cell").arguments;
  EXPECT_TRUE(contains(cell.activations, 0));
  for (const std::size_t weight : {2, 3, 4, 5}) EXPECT_TRUE(contains(cell.parameters, weight));
  EXPECT_FALSE(contains(cell.parameters, 1));
}

// Six places described operations, by pieces of names; these are what they said wrong.
TEST(OpTable, PiecesOfNamesNoLongerDecide) {
  EXPECT_EQ(op_row("aten::_thnn_fused_lstm_cell").kind, OpKind::recurrent);   // "_fused_"
  EXPECT_EQ(op_row("aten::maximum").kind, OpKind::pointwise);                 // "max"
  EXPECT_EQ(layer_of_op("aten::upsample_bilinear2d").layer, Layer::around);   // "linear"
  EXPECT_EQ(layer_of_op("c10d::_allgather_base_").layer, Layer::collective);  // "gather"
  EXPECT_EQ(layer_of_op("All2All_Pooled_Req").layer, Layer::collective);      // "pool"
  EXPECT_EQ(layer_of_op("aten::l1_loss").layer, Layer::loss);
}

/// Of a call whose operands the profiler texts so.
std::vector<OutputShape> outputs(std::string_view name, std::string_view dims,
                                 std::string_view types, std::string_view concrete = "") {
  const Operands in = kineto::parse_operands({dims, types, "", concrete});
  return output_shapes(op_row(name), name, in.tensors, in.arguments);
}

std::vector<std::int64_t> dims_of(const OutputShape& out) {
  EXPECT_TRUE(out.known);
  return {out.shape.dims.begin(), out.shape.dims.begin() + out.shape.rank};
}

using Dims = std::vector<std::int64_t>;

// Autocast asks for FP32 in arguments of the call: half_to_float, or the number of a type.
TEST(OutputShapes, ResultsHaveTheTypeThatIsAskedFor) {
  const auto type = [](std::string_view name, std::string_view concrete) {
    return outputs(name, "[[64,16],[],[],[]]", R"(["c10::Half","Scalar","Scalar","Scalar"])",
                   concrete)[0]
        .shape.type;
  };
  EXPECT_EQ(type("aten::_softmax", R"(["","-1","True",""])"), DataType::fp32);
  EXPECT_EQ(type("aten::_softmax", R"(["","-1","False",""])"), DataType::fp16);
  EXPECT_EQ(type("aten::_softmax_backward_data", R"(["","","-1","6"])"), DataType::fp32);
  EXPECT_EQ(type("aten::softmax", R"(["","-1","15",""])"), DataType::bf16);
  EXPECT_EQ(type("aten::sum", R"(["","[1]","False","6"])"), DataType::fp32);
  EXPECT_EQ(type("aten::sum", R"(["","[1]","False",""])"), DataType::fp16);
}

TEST(OutputShapes, InterpolatedImagesHaveTheSizeThatIsAskedFor) {
  const std::string_view types = R"(["float","ScalarList","Scalar"])";
  EXPECT_EQ(dims_of(outputs("aten::upsample_bilinear2d", "[[2,8,7,7],[],[]]", types,
                            R"(["","[56, 28]","False"])")[0]),
            (Dims{2, 8, 56, 28}));
  EXPECT_EQ(dims_of(outputs("aten::upsample_nearest1d", "[[2,8,7],[],[]]", types,
                            R"(["","[21]",""])")[0]),
            (Dims{2, 8, 21}));
  // Scales are not sizes: how large the result is, nothing tells.
  EXPECT_FALSE(outputs("aten::upsample_bilinear2d", "[[2,8,7,7],[],[]]", types)[0].known);
  EXPECT_EQ(dims_of(outputs("aten::upsample_bilinear2d_backward", "[[2,8,56,56],[],[],[]]",
                            R"(["float","ScalarList","ScalarList","Scalar"])",
                            R"(["","[56, 56]","[2, 8, 7, 7]","False"])")[0]),
            (Dims{2, 8, 7, 7}));
  EXPECT_EQ(cast_policy("aten::upsample_bilinear2d"), CastPolicy::full);
}

// 28 + 2 x 1 - 3, halved, + 1 = 14 windows a side: 196 columns of 192 x 9 places. A window of 31
// is larger than the 30 pixels of a padded side, and so is one of 3 whose places are 15 apart.
TEST(OutputShapes, WindowsOfAnImageAreColumns) {
  const auto columns = [](std::string_view window_and_dilation) {
    return outputs("aten::im2col", "[[32,192,28,28],[],[],[],[]]",
                   R"(["float","ScalarList","ScalarList","ScalarList","ScalarList"])",
                   R"(["",)" + std::string(window_and_dilation) + R"(,"[1, 1]","[2, 2]"])")[0];
  };
  EXPECT_EQ(dims_of(columns(R"("[3, 3]","[1, 1]")")), (Dims{32, 1728, 196}));
  EXPECT_EQ(columns(R"("[3, 3]","[1, 1]")").shape.type, DataType::fp32);
  // 30 - 5 and 30 - 1, halved, + 1 = 13 and 15; 3 places.
  EXPECT_EQ(dims_of(columns(R"("[3, 1]","[2, 1]")")), (Dims{32, 576, 195}));
  for (const char* too_large : {R"("[31, 31]","[1, 1]")", R"("[3, 3]","[15, 15]")"}) {
    EXPECT_FALSE(columns(too_large).known) << too_large;
    EXPECT_EQ(columns(too_large).shape.type, DataType::fp32) << too_large;
  }
  EXPECT_FALSE(outputs("aten::im2col", "[[192,28,28]]", R"(["float"])")[0].known);
}

// Half a spectrum of real values tells all: 128 / 2 + 1 = 65 complex numbers of 8 bytes; back, the
// last size is asked for.
TEST(OutputShapes, SpectraOfRealValuesAreHalfAsLong) {
  const std::string_view r2c = R"(["float","ScalarList","Scalar","Scalar"])";
  const auto half =
      outputs("aten::_fft_r2c", "[[4,16,128],[],[],[]]", r2c, R"(["","[1, 2]","0","True"])")[0];
  EXPECT_EQ(dims_of(half), (Dims{4, 16, 65}));
  EXPECT_EQ(element_bytes(half.shape.type), 8);
  EXPECT_EQ(dims_of(outputs("aten::_fft_r2c", "[[4,16,128],[],[],[]]", r2c,
                            R"(["","[-1]","0","False"])")[0]),
            (Dims{4, 16, 128}));
  const std::string_view complex = R"(["c10::complex<float>","ScalarList","Scalar","Scalar"])";
  const auto back =
      outputs("aten::_fft_c2r", "[[4,16,65],[],[],[]]", complex, R"(["","[1, 2]","2","128"])")[0];
  EXPECT_EQ(dims_of(back), (Dims{4, 16, 128}));
  EXPECT_EQ(back.shape.type, DataType::fp32);
  EXPECT_EQ(dims_of(outputs("aten::_fft_c2c", "[[4,16,65],[],[],[]]", complex,
                            R"(["","[1]","0","True"])")[0]),
            (Dims{4, 16, 65}));
  EXPECT_FALSE(outputs("aten::_fft_c2r", "[[4,16,65]]", complex)[0].known);
  EXPECT_FALSE(
      outputs("aten::_fft_c2r", "[[4,16,65],[],[],[]]", complex, R"(["","[7]","2","128"])")[0]
          .known);
}

// (16 - 1) x 8 - 2 x 4 + (16 - 1) + 1 = 128 places, and one more where the call asks for it.
TEST(OutputShapes, TransposedLayersGrowTheirImages) {
  const auto grown = [](std::string_view added) {
    return outputs(
        "aten::cudnn_convolution_transpose", "[[4,32,1,16],[32,8,1,16],[],[],[],[],[]]",
        R"(["float","float","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"])",
        R"(["","","[0, 4]",")" + std::string(added) + R"(","[1, 8]","[1, 1]","2"])")[0];
  };
  EXPECT_EQ(dims_of(grown("[0, 0]")), (Dims{4, 16, 1, 128}));
  EXPECT_EQ(dims_of(grown("[0, 1]")), (Dims{4, 16, 1, 129}));
  EXPECT_FALSE(grown("[0, -1000]").known);
}

TEST(OutputShapes, BagsAreRowsOfTheTable) {
  const std::string_view types = R"(["float","long int","long int"])";
  EXPECT_EQ(dims_of(outputs("aten::_embedding_bag", "[[100,16],[60],[12]]", types)[0]),
            (Dims{12, 16}));
  EXPECT_EQ(dims_of(outputs("aten::embedding_bag", "[[100,16],[12,5]]", types)[0]), (Dims{12, 16}));
  EXPECT_FALSE(outputs("aten::_embedding_bag", "[[100,16],[60]]", types)[0].known);
}

TEST(OutputShapes, ColumnsAreFoldedIntoTheImageThatIsAskedFor) {
  const std::string_view dims = "[[32,1728,196],[],[],[],[],[]]";
  const std::string_view types =
      R"(["c10::Half","ScalarList","ScalarList","ScalarList","ScalarList","ScalarList"])";
  const auto image = outputs("aten::col2im", dims, types,
                             R"(["","[28, 28]","[3, 3]","[1, 1]","[1, 1]","[2, 2]"])")[0];
  EXPECT_EQ(dims_of(image), (Dims{32, 192, 28, 28}));
  EXPECT_EQ(image.shape.type, DataType::fp16);
  EXPECT_FALSE(outputs("aten::col2im", dims, types)[0].known);  // of a size that nobody recorded
}

TEST(OutputShapes, FollowTheRowOfTheOperation) {
  constexpr std::string_view two = R"(["float","float"])", three = R"(["float","float","float"])";
  EXPECT_EQ(dims_of(outputs("aten::mm", "[[8,16],[16,4]]", two)[0]), (Dims{8, 4}));
  EXPECT_EQ(dims_of(outputs("aten::addmm", "[[4],[8,16],[16,4]]", three)[0]), (Dims{8, 4}));
  EXPECT_EQ(dims_of(outputs("aten::bmm", "[[3,8,16],[3,16,4]]", two)[0]), (Dims{3, 8, 4}));
  EXPECT_EQ(dims_of(outputs("aten::linear", "[[2,8,16],[4,16]]", two)[0]), (Dims{2, 8, 4}));
  EXPECT_EQ(dims_of(outputs("aten::embedding", "[[100,16],[2,8]]", R"(["float","long int"])")[0]),
            (Dims{2, 8, 16}));
  EXPECT_EQ(
      dims_of(outputs("aten::sum", "[[8,16],[]]", R"(["float",""])", R"(["","[0]","True"])")[0]),
      (Dims{1, 16}));
  EXPECT_EQ(outputs("aten::eq", "[[8,16],[8,16]]", two)[0].shape.type, DataType::boolean);
  // 56 + 2 x 1 - 3, halved, + 1 = 28 pixels a side.
  EXPECT_EQ(dims_of(outputs("aten::max_pool2d", "[[2,8,56,56],[],[],[]]", R"(["float","","",""])",
                            R"(["","[3, 3]","[2, 2]","[1, 1]"])")[0]),
            (Dims{2, 8, 28, 28}));
}

// prod, min, all and any were taken for pointwise operations.
TEST(OutputShapes, ReductionsLeaveOneElementOrThoseOfTheOtherDimensions) {
  for (const char* name : {"aten::prod", "aten::min", "aten::max", "aten::all", "aten::any"}) {
    EXPECT_EQ(op_row(name).kind, OpKind::reduction) << name;
    const auto all = outputs(name, "[[8,16]]", R"(["float"])", R"([""])")[0];
    EXPECT_EQ(dims_of(all), (Dims{})) << name;
    const auto columns =
        outputs(name, "[[8,16],[],[]]", R"(["float","",""])", R"(["","0","False"])")[0];
    EXPECT_EQ(dims_of(columns), (Dims{16})) << name;
  }
  // The nearest of 1024 codes of each of 64 places: their numbers, 64 bits each.
  const auto nearest = outputs("aten::argmin", "[[64,1024],[],[]]",
                               R"(["float","Scalar","Scalar"])", R"(["","1","False"])")[0];
  EXPECT_EQ(dims_of(nearest), (Dims{64}));
  EXPECT_EQ(nearest.shape.type, DataType::int64);
  EXPECT_EQ(outputs("aten::all", "[[8]]", R"(["float"])", R"([""])")[0].shape.type,
            DataType::boolean);
}

TEST(OutputShapes, MaximaOfTwoTensorsAreElementByElement) {
  EXPECT_EQ(op_row("aten::maximum").kind, OpKind::pointwise);
  EXPECT_EQ(op_row("aten::minimum").kind, OpKind::pointwise);
  constexpr auto two = R"(["float","float"])";
  EXPECT_EQ(dims_of(outputs("aten::max", "[[8,16],[16]]", two, R"(["",""])")[0]), (Dims{8, 16}));
}

// hardtanh compares, as relu does; its row said that arithmetic bounds it.
// Pairs of the last dimension first: 16 + 1 + 2 wide, 8 + 3 high.
TEST(OutputShapes, APadGrowsTheLastDimensionsFirst) {
  EXPECT_EQ(dims_of(outputs("aten::reflection_pad2d", "[[4,8,16],[]]", R"(["float","ScalarList"])",
                            R"(["","[1, 2, 0, 3]"])")[0]),
            (Dims{4, 11, 19}));
  EXPECT_FALSE(outputs("aten::constant_pad_nd", "[[16],[],[]]",
                       R"(["float","ScalarList","Scalar"])", R"(["","[1, -99]","0."])")[0]
                   .known);
  EXPECT_FALSE(outputs("aten::pad", "[[16],[]]", R"(["float","ScalarList"])",
                       R"(["","[0, -9223372036854775808]"])")[0]
                   .known);
}

// Scores of 28 x 40 places, each read at 7 x 7 places around where the flow points.
TEST(OutputShapes, ASampledImageHasAPixelForEachPlace) {
  const std::string_view pair = R"(["float","float"])", triple = R"(["float","float","float"])";
  const auto out = outputs("aten::cudnn_grid_sampler", "[[4480,1,28,40],[4480,7,7,2]]", pair);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(dims_of(out[0]), (Dims{4480, 1, 7, 7}));
  const auto back = outputs("aten::cudnn_grid_sampler_backward",
                            "[[4480,1,28,40],[4480,7,7,2],[4480,1,7,7]]", triple);
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(dims_of(back[0]), (Dims{4480, 1, 28, 40}));
  EXPECT_EQ(dims_of(back[1]), (Dims{4480, 7, 7, 2}));
}

TEST(OutputShapes, ASlopeHasAGradientForEachElement) {
  const auto out = outputs("aten::_prelu_kernel_backward", "[[8,128,2001],[8,128,2001],[1,1,1]]",
                           R"(["c10::Half","c10::Half","c10::Half"])");
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(dims_of(out[1]), (Dims{8, 128, 2001}));
}

// 32 steps of 16 sequences, both ways through two layers of 96: what cuDNN 9 keeps of them was
// measured. 32 x 16 x 96 x 2 = 98304 states of 4 bytes a layer; 2 x 5 + 1 of them, 256 bytes, and
// with dropout a bit for each of 2 x 98304.
TEST(OutputShapes, ARecurrentLayerMakesItsStatesAndKeepsItsGates) {
  const auto lstm = [](std::string_view mode, std::string_view dropout, std::string_view trains) {
    std::string concrete = R"(["","","4","","","",")";
    concrete.append(mode).append(R"(","96","0","2","False",")").append(dropout);
    concrete.append(R"(",")").append(trains).append(R"(","True","[]",""])");
    return outputs(
        "aten::_cudnn_rnn",
        "[[32,16,64],[],[],[],[4,16,96],[4,16,96],[],[],[],[],[],[],[],[],[],[]]",
        R"(["float","TensorList","Scalar","","float","float","Scalar","Scalar","Scalar",)"
        R"("Scalar","Scalar","Scalar","Scalar","Scalar","ScalarList",""])",
        concrete);
  };
  const auto out = lstm("2", "0.", "True");
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(dims_of(out[0]), (Dims{32, 16, 192}));
  EXPECT_EQ(dims_of(out[1]), (Dims{4325632}));
  EXPECT_EQ(dims_of(lstm("2", "0.5", "True")[1]), (Dims{4350208}));
  EXPECT_EQ(dims_of(lstm("3", "0.", "True")[1]), (Dims{5112064}));  // GRU
  EXPECT_EQ(dims_of(lstm("1", "0.", "True")[1]), (Dims{1179904}));  // tanh
  EXPECT_EQ(lstm("2", "0.", "False").size(), 1U);
}

TEST(OpTable, OnlyArithmeticIsArithmetic) {
  for (const char* name :
       {"aten::relu", "aten::hardtanh", "aten::threshold_backward", "aten::hardtanh_backward"}) {
    EXPECT_FALSE(op_row(name).is(arithmetic)) << name;
  }
  EXPECT_TRUE(op_row("aten::gelu_backward").is(arithmetic));
}

TEST(OutputShapes, AFusedConvolutionHasItsStrideBehindTheBias) {
  // The padding of plain cudnn_convolution stands where this one has its bias.
  const auto out = outputs("aten::cudnn_convolution_relu", "[[2,8,56,56],[16,8,3,3],[16],[],[],[]]",
                           R"(["float","float","float","","",""])",
                           R"(["","","","[2, 2]","[1, 1]","[1, 1]","1"])");
  EXPECT_EQ(dims_of(out[0]), (Dims{2, 16, 28, 28}));
}

TEST(OutputShapes, AGradientForEverythingThatForwardRead) {
  const auto out = outputs("aten::convolution_backward", "[[2,16,28,28],[2,8,56,56],[16,8,3,3]]",
                           R"(["float","float","float"])");
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(dims_of(out[0]), (Dims{2, 8, 56, 56}));
  EXPECT_EQ(dims_of(out[1]), (Dims{16, 8, 3, 3}));
}

}  // namespace
}  // namespace tandem
