#include <gtest/gtest.h>

#include <algorithm>

#include "sim/predict/network_run.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/network_for_tests.h"
#include "workloads/memory.h"

namespace tandem {
namespace {

using test::network_of;
using test::small_network;

TEST(NetworkExpression, SumsOfProducts) {
  const std::vector<Symbol> symbols = {{"batch", {}, 1}, {"seq", {}, 1}};
  const std::vector<std::int64_t> values = {3, 5};
  const auto at = [&](std::string_view text) {
    std::string unknown;
    return Expression::parse(text, symbols, unknown).value().at(values);
  };
  EXPECT_EQ(at("12"), 12);
  EXPECT_EQ(at("batch*seq*seq"), 75);   // 3 x 5 x 5
  EXPECT_EQ(at("12*batch + seq"), 41);  // 36 + 5
  EXPECT_EQ(at("seq+-1"), 4);           // 5 - 1
  EXPECT_EQ(at("9223372036854775807*seq"), std::nullopt);
}

TEST(NetworkExpression, WhatIsNone) {
  const std::vector<Symbol> symbols = {{"batch", {}, 1}};
  std::string unknown;
  for (const char* text : {"", "batch*", "+1", "batch-1", "2 3", "1.5"}) {
    EXPECT_FALSE(Expression::parse(text, symbols, unknown)) << text;
    EXPECT_EQ(unknown, "") << text;
  }
  EXPECT_FALSE(Expression::parse("2*length", symbols, unknown));
  EXPECT_EQ(unknown, "length");
}

TEST(Network, SizesAtABatch) {
  const Network network = network_of(small_network());
  const SymbolValue batch{"batch", 16};
  const BoundNetwork bound = bind_network(network, {&batch, 1});
  ASSERT_EQ(bound.ops.size(), 2U);
  const OpTensors& tensors = bound.ops[0].operands.tensors;
  ASSERT_EQ(tensors.shapes.size(), 3U);  // bias, input, weight
  EXPECT_EQ(tensors.shapes[1].dims[0], 16);
  EXPECT_EQ(tensors.shapes[2].strides[0], 1);  // a transposed view of the weight
  EXPECT_EQ(bound.ops[0].outputs[0].elements(), 16 * 32);
  EXPECT_EQ(bound.value("batch", 0), 16);
  EXPECT_EQ(bound.value("seq", 7), 7);
  EXPECT_EQ(bound.storage_bytes[1], 32 * 64 * 4);  // both views of the weight
}

TEST(Network, DefaultSizes) {
  const Network network = network_of(small_network());
  EXPECT_EQ(bind_network(network, {}).value("batch", 0), 8);
}

// Indices of the host are not recorded: a list of nothing else holds neither tensors nor numbers.
TEST(Network, PicksByIndicesOfTheHost) {
  const Network network = network_of(small_network(R"([
    {"op": "aten::index", "phase": "forward", "module": 0, "args": [{"t": 0}, [null, null]],
     "out": [4]}])"));
  ASSERT_EQ(network.ops.size(), 1U);
  ASSERT_EQ(network.ops[0].arguments.size(), 2U);
  EXPECT_TRUE(network.ops[0].arguments[1].tensors.empty());
  EXPECT_TRUE(network.ops[0].arguments[1].numbers.empty());
}

TEST(NetworkMemory, ActivationsLiveFromWriterToLastReader) {
  const Network network = network_of(small_network());
  const SymbolValue batch{"batch", 16};
  const NetworkMemory memory = network_memory(bind_network(network, {&batch, 1}));
  // input 16 x 64 x 4 = 4096, weight 8192, bias 128 rounded to 512
  EXPECT_EQ(memory.kept.bytes(), 4096 + 8192 + 512);
  // during the activation both 16 x 32 x 4 = 2048 are alive
  EXPECT_EQ(memory.peak_bytes(), memory.kept.bytes() + 2048 + 2048);
}

// A name of the program holds what lies in storage 3, which the second of three operations reads,
// until the third has run: by then all three results of 16 x 32 x 4 = 2048 are there.
TEST(NetworkMemory, WhatAProgramHoldsLivesOn) {
  const std::string ops = R"([
    {"op": "aten::addmm", "phase": "forward", "module": 0, "seq": 0,
     "args": [{"t": 2}, {"t": 0}, {"t": 3}, 1, 1], "out": [4]},
    {"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 4}], "out": [5]},
    {"op": "aten::tanh", "phase": "forward", "module": 0, "args": [{"t": 5}], "out": [6]}])";
  std::string text = small_network(ops);
  const auto insert = [&](const std::string& before, const std::string& what) {
    text.insert(text.find(before), what);
  };
  insert("],\n  \"ops\"", R"(, ["fp32", ["batch", 32], null, 5])");
  insert("],\n  \"tensors\"", R"(, "activation")");
  const SymbolValue batch{"batch", 16};
  const auto peak = [&](const std::string& network) {
    const Network read = network_of(network);
    return network_memory(bind_network(read, {&batch, 1})).peak_bytes();
  };
  const double kept = 4096 + 8192 + 512;
  EXPECT_EQ(peak(text), kept + 2 * 2048);
  insert("\"ops\"", R"("held": [[4, 2]], )");
  EXPECT_EQ(peak(text), kept + 3 * 2048);
}

// Twice the batch, 32, takes twice the input and both results; weight and bias stay.
TEST(NetworkMemory, WhatGrowsIsWhatTwiceTheBatchTakesMore) {
  const Network network = network_of(small_network());
  const SymbolValue batch{"batch", 16}, larger{"batch", 32};
  const BoundNetwork at = bind_network(network, {&batch, 1});
  const BoundNetwork twice = bind_network(network, {&larger, 1});
  const NetworkMemory memory = network_memory(at, &twice);
  EXPECT_EQ(memory.kept.fixed_bytes, 8192 + 512);
  EXPECT_EQ(memory.kept.growing_bytes, 4096);
  EXPECT_EQ(memory.peak_bytes(), network_memory(at).peak_bytes());
  EXPECT_EQ(worst_bytes(memory.moments, 4), 8192 + 512 + 4 * (4096 + 2 * 2048));
}

// As the recorder writes it: input, weight, padding, stride, dilation, groups, benchmark,
// deterministic, allow_tf32.
std::string network_of_one_layer(const std::string& allow_tf32) {
  return R"({"schema": "tandem.network/1", "name": "layer", "framework": "pytorch",
  "task": "infer", "source": "by hand", "recorded_with": "nothing", "optimizer": "",
  "precision": "fp32", "symbols": [{"name": "batch", "recorded": [1, 2], "default": 64}],
  "modules": [""], "storages": ["input", "parameter", "activation"],
  "tensors": [["fp32", ["batch", 256, 28, 28], null, 0], ["fp32", [256, 256, 3, 3], null, 1],
              ["fp32", ["batch", 256, 28, 28], null, 2]],
  "ops": [{"op": "aten::cudnn_convolution", "phase": "forward", "module": 0, "args": [{"t": 0},
    {"t": 1}, [1, 1], [1, 1], [1, 1], 1, false, false, )" +
         allow_tf32 + R"(], "out": [2]}]})";
}

TEST(Network, TellsWhetherConvolutionsMayRunInTf32) {
  EXPECT_TRUE(allows_tf32(network_of(network_of_one_layer("true"))));
  EXPECT_FALSE(allows_tf32(network_of(network_of_one_layer("false"))));
  EXPECT_TRUE(allows_tf32(network_of(small_network())));
}

NetworkRequest on_gpu(const test::NetworkFile& file, const std::string& gpu) {
  NetworkRequest request;
  request.path = file.path();
  request.gpu = gpu;
  return request;
}

ReplayOptions shipped_constants() {
  ReplayOptions options;
  options.configs = source_path("configs");
  return options;
}

TEST(Network, ConvolutionsWithoutTf32UseNoTensorCores) {
  const auto run = [](const std::string& allow_tf32) {
    const test::NetworkFile file(network_of_one_layer(allow_tf32));
    return run_network(on_gpu(file, "a100_sxm4_80gb"), shipped_constants()).prediction.result;
  };
  const Result with = run("true"), without = run("false");
  EXPECT_GT(with.gpu_kernel_time->tc_active_utilization, 0.1);
  EXPECT_EQ(without.gpu_kernel_time->tc_active_utilization, 0);
  // 59 GFLOP: 0.38 ms at the TF32 peak of 156 TFLOP/s; with Winograd, which spares at most three of
  // four products, 0.76 ms at the 19.5 TFLOP/s of FP32 pipes.
  EXPECT_GT(with.step.gpu_kernel_us, 380);
  EXPECT_GT(without.step.gpu_kernel_us, 760);
}

/// A layer of one tap with a bias, at inference: nothing joins the two operations but what they
/// read.
constexpr std::string_view biased_layer = R"({
  "schema": "tandem.network/1", "name": "biased", "framework": "pytorch", "task": "infer",
  "source": "by hand", "recorded_with": "nothing", "optimizer": "", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 32}], "modules": [""],
  "storages": ["input", "parameter", "activation", "parameter"],
  "tensors": [["fp32", ["batch", 16, 128, 128], null, 0], ["fp32", [64, 16, 1, 1], null, 1],
              ["fp32", ["batch", 64, 128, 128], null, 2], ["fp32", [1, 64, 1, 1], null, 3]],
  "ops": [
    {"op": "aten::cudnn_convolution", "phase": "forward", "module": 0,
     "args": [{"t": 0}, {"t": 1}, [0, 0], [1, 1], [1, 1], 1, false, false, true], "out": [2]},
    {"op": "aten::add_", "phase": "forward", "module": 0, "args": [{"t": 2}, {"t": 3}, 1], "out": [2]}
  ]})";

// The bias is a part of the layer, which autocast runs in 16 bits: half the bytes. By itself it
// would be added in FP32, the wider of its operands' types.
TEST(Network, TheBiasOfALayerIsRunInItsType) {
  const auto run = [](const char* precision) {
    const test::NetworkFile file{std::string(biased_layer)};
    ReplayOptions options = shipped_constants();
    if (precision != nullptr) options.what_ifs.set("precision", precision);
    const Result result = run_network(on_gpu(file, "h200_sxm"), options).prediction.result;
    return std::pair{result.step.gpu_kernel_us, result.step.kernels};
  };
  const auto full = run(nullptr), half = run("amp");
  EXPECT_LT(half.first, full.first);
  EXPECT_EQ(full.second, 2);
  EXPECT_EQ(half.second, 2 + 3);  // image, weights and bias are converted
}

/// Two passes of one layer, x [batch, 64] and w [64, 32], whose gradients are added up and bounded.
constexpr std::string_view two_passes = R"({
  "schema": "tandem.network/1", "name": "passes", "framework": "pytorch", "task": "train",
  "source": "by hand", "recorded_with": "nothing", "optimizer": "sgd", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 8}], "modules": [""],
  "storages": ["input", "parameter", "activation", "gradient", "activation", "activation"],
  "tensors": [["fp32", ["batch", 64], null, 0], ["fp32", [64, 32], null, 1],
              ["fp32", ["batch", 32], null, 2], ["fp32", [64, "batch"], [1, 64], 0],
              ["fp32", [64, 32], null, 3], ["fp32", ["batch", 32], null, 4],
              ["fp32", [64, 32], null, 5]],
  "ops": [
    {"op": "aten::mm", "phase": "forward", "module": 0, "seq": 0, "args": [{"t": 0}, {"t": 1}],
     "out": [2]},
    {"op": "aten::mm", "phase": "backward", "module": 0, "seq": 0, "node": "MmBackward0",
     "args": [{"t": 3}, {"t": 2}], "out": [4]},
    {"op": "aten::mm", "phase": "forward", "module": 0, "seq": 1, "args": [{"t": 0}, {"t": 1}],
     "out": [5]},
    {"op": "aten::mm", "phase": "backward", "module": 0, "seq": 1, "node": "MmBackward0",
     "args": [{"t": 3}, {"t": 5}], "out": [6]},
    {"op": "aten::add_", "phase": "backward", "module": 0,
     "node": "torch::autograd::AccumulateGrad", "args": [{"t": 4}, {"t": 6}, 1], "out": [4]},
    {"op": "aten::_foreach_mul_", "phase": "backward", "module": 0, "args": [{"tl": [4]}, 0.5],
     "out": [4]},
    {"op": "aten::_foreach_add_", "phase": "optimizer", "module": 0,
     "args": [{"tl": [1]}, {"tl": [4]}, 1], "out": [1]}]})";

/// Eight heads of 64 that share two keys, over 256 positions, by products; `call`: what the rows
/// name as the operation around them.
std::string shared_keys(const std::string& call) {
  const std::string row = R"("phase": "forward", "module": 0, )" + call;
  return R"({"schema": "tandem.network/1", "name": "heads", "framework": "pytorch", "task": "infer",
  "source": "by hand", "recorded_with": "nothing", "optimizer": "", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 8}], "modules": [""],
  "storages": ["input", "input", "input", "activation", "activation", "activation", "activation",
               "activation"],
  "tensors": [["fp32", ["batch", 8, 256, 64], null, 0], ["fp32", ["batch", 2, 256, 64], null, 1],
              ["fp32", ["batch", 2, 256, 64], null, 2], ["fp32", ["batch", 8, 256, 64], null, 3],
              ["fp32", ["8*batch", 256, 64], null, 0], ["fp32", ["8*batch", 64, 256], [16384, 1, 64], 3],
              ["fp32", ["8*batch", 256, 256], null, 4], ["fp32", ["8*batch", 256, 256], null, 5],
              ["fp32", ["8*batch", 256, 64], null, 6], ["fp32", ["8*batch", 256, 64], null, 7]],
  "calls": [{"op": "aten::_scaled_dot_product_attention_math",
             "args": [{"t": 0}, {"t": 1}, {"t": 2}, null, 0.0, true, null, null, true]}],
  "ops": [
    {"op": "aten::index_select", )" +
         row + R"("args": [{"t": 1}, 1, null], "out": [3]},
    {"op": "aten::bmm", )" +
         row + R"("args": [{"t": 4}, {"t": 5}], "out": [6]},
    {"op": "aten::_softmax", )" +
         row + R"("args": [{"t": 6}, -1, false], "out": [7]},
    {"op": "aten::index_select", )" +
         row + R"("args": [{"t": 2}, 1, null], "out": [8]},
    {"op": "aten::bmm", )" +
         row + R"("args": [{"t": 7}, {"t": 8}], "out": [9]}]})";
}

Result run_heads(const std::string& call, const char* precision) {
  const test::NetworkFile file(shared_keys(call));
  const NetworkRequest request = on_gpu(file, "h200_sxm");
  ReplayOptions options = shipped_constants();
  if (precision != nullptr) options.what_ifs.set("precision", precision);
  return run_network(request, options).prediction.result;
}

bool fuses_attention(const Result& result) {
  return std::any_of(result.families.begin(), result.families.end(), [](const FamilyShare& share) {
    return share.family == KernelFamily::attention;
  });
}

// The operation around products costs nothing in FP32; a kernel of 16 bits takes the place of all,
// which nothing tells of products that stand by themselves.
TEST(Network, ProductsOfOneCallAreFusedInSixteenBits) {
  const std::string within = R"("call": 0, )";
  const double alone = run_heads("", nullptr).step.gpu_kernel_us;
  EXPECT_NEAR(run_heads(within, nullptr).step.gpu_kernel_us, alone, 1e-9);
  EXPECT_FALSE(fuses_attention(run_heads(within, nullptr)));
  EXPECT_FALSE(fuses_attention(run_heads("", "bf16")));
  const Result fused = run_heads(within, "bf16");
  EXPECT_TRUE(fuses_attention(fused));
  EXPECT_LT(fused.step.gpu_kernel_us, run_heads("", "bf16").step.gpu_kernel_us);
}

std::int64_t kernels_of(const std::string& ops, const char* precision) {
  const test::NetworkFile file(small_network(ops));
  ReplayOptions options = shipped_constants();
  if (precision != nullptr) options.what_ifs.set("precision", precision);
  const Result result = run_network(on_gpu(file, "h200_sxm"), options).prediction.result;
  return result.step.kernels;
}

/// The layer of small_network() and a further activation, whose program asks for FP32 behind the
/// product and for the type of its operand behind the first activation.
constexpr const char* asks_for_fp32 = R"([
    {"op": "aten::addmm", "phase": "forward", "module": 0, "seq": 0,
     "args": [{"t": 2}, {"t": 0}, {"t": 3}, 1, 1], "out": [4]},
    {"op": "aten::to", "phase": "forward", "module": 0,
     "args": [{"t": 4}, "fp32", false, false, null], "out": []},
    {"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 4}], "out": [5]},
    {"op": "aten::to", "phase": "forward", "module": 0,
     "args": [{"t": 5}, "fp32", false, false, null], "out": []},
    {"op": "aten::tanh", "phase": "forward", "module": 0, "args": [{"t": 5}], "out": [4]}])";

// In FP32 neither does anything; a model of 16 bits copies its product and the result.
TEST(Network, CopiesWhatItsProgramAsksForInFp32) {
  EXPECT_EQ(kernels_of(asks_for_fp32, nullptr), 3);
  EXPECT_EQ(kernels_of(asks_for_fp32, "bf16w"), 5);
}

/// The small network, which applies a second function in FP16.
std::string with_form() {
  std::string text = small_network();
  const std::string parts = text.substr(text.find("\"modules\""));
  std::string form = parts.substr(0, parts.rfind(']'));
  form +=
      R"(, {"op": "aten::tanh", "phase": "forward", "module": 0, "args": [{"t": 5}], "out": [5]}])";
  return text.insert(text.rfind('}'), R"(, "forms": [{"type": "fp16", )" + form + "}]");
}

// Product and activation; in FP16 one more, in BF16 what FP32 does.
TEST(Network, DoesOtherWorkInATypeThatItsProgramLooksAt) {
  const test::NetworkFile file(with_form());
  const auto kernels = [&](const char* precision) {
    ReplayOptions options = shipped_constants();
    options.what_ifs.set("precision", precision);
    NetworkRequest request = on_gpu(file, "h200_sxm");
    request.whole_type = whole_type(options.what_ifs);
    return run_network(request, options).prediction.result.step.kernels;
  };
  EXPECT_EQ(kernels("fp16w"), 3);
  EXPECT_EQ(kernels("bf16w"), 2);
  EXPECT_EQ(kernels("fp32"), 2);
}

std::string product_that_applies(const std::string& gelu) {
  return R"([{"op": "aten::_addmm_activation", "phase": "forward", "module": 0,
     "args": [{"t": 2}, {"t": 0}, {"t": 3}, 1, 1, )" +
         gelu + R"(], "out": [4]}])";
}

// The library's FP32 products leave GELU to a kernel of their own.
TEST(Network, ProductsThatApplyAFunctionToTheirResult) {
  EXPECT_EQ(kernels_of(product_that_applies("false"), nullptr), 1);
  EXPECT_EQ(kernels_of(product_that_applies("true"), nullptr), 2);
  EXPECT_EQ(kernels_of(product_that_applies("true"), "fp16w"), 1);
}

TEST(Network, TellsThePassesThatAreAddedUp) {
  const test::NetworkFile file{std::string(two_passes)};
  const TracedRun run = analyse_network(on_gpu(file, "h200_sxm"), shipped_constants());
  EXPECT_EQ(run.summary.batch, 8);
  EXPECT_EQ(run.summary.passes, 2);
}

}  // namespace
}  // namespace tandem
