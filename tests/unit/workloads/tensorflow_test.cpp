// Networks of TensorFlow: operands in the order that models read, host memory, and the kernels of
// single operations, against TensorFlow's sources.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/arch/gpu_config.h"
#include "models/ops/op_table.h"
#include "sim/predict/configs.h"
#include "tests/operands_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/network_for_tests.h"
#include "workloads/lower/lower.h"
#include "workloads/memory.h"

namespace tandem {
namespace {

using test::row_major;

/// Images [batch, 57, 57, 64], a filter of 3 x 3 with stride 2 and "SAME" padding, both its
/// gradients, a transposed product, and sizes on the host.
Network small_tensorflow() {
  return test::network_of(
      R"({"schema": "tandem.network/1", "name": "small", "framework": "tensorflow",
  "task": "train", "source": "by hand", "recorded_with": "nothing", "optimizer": "sgd", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 8}], "modules": [""],
  "storages": ["input", "parameter", "activation", "host", "activation", "gradient", "host", "activation"],
  "tensors": [["fp32", ["batch", 57, 57, 64], null, 0], ["fp32", [3, 3, 64, 32], null, 1],
              ["fp32", ["batch", 29, 29, 32], null, 2], ["int32", [4], null, 3],
              ["fp32", ["batch", 57, 57, 64], null, 4], ["fp32", [3, 3, 64, 32], null, 5],
              ["int32", [], null, 6], ["fp32", [29, 32], null, 2], ["fp32", [64, 29], null, 0],
              ["fp32", [32, 64], null, 7]],
  "ops": [
   {"op": "Conv2D", "phase": "forward", "module": 0, "seq": 0,
    "args": [{"t": 0}, {"t": 1}, [1, 2, 2, 1], true, "SAME", [], "NHWC", [1, 1, 1, 1]], "out": [2]},
   {"op": "Shape", "phase": "backward", "module": 0, "args": [{"t": 0}], "out": [3]},
   {"op": "Conv2DBackpropInput", "phase": "backward", "module": 0, "seq": 0,
    "args": [{"t": 3}, {"t": 1}, {"t": 2}, [1, 2, 2, 1], true, "SAME", [], "NHWC", [1, 1, 1, 1]], "out": [4]},
   {"op": "Conv2DBackpropFilter", "phase": "backward", "module": 0, "seq": 0,
    "args": [{"t": 0}, [3, 3, 64, 32], {"t": 2}, [1, 2, 2, 1], true, "SAME", [], "NHWC", [1, 1, 1, 1]],
    "out": [5]},
   {"op": "Prod", "phase": "backward", "module": 0, "args": [{"t": 3}, [0], false], "out": [6]},
   {"op": "MatMul", "phase": "backward", "module": 0,
    "args": [{"t": 7}, {"t": 8}, true, true], "out": [9]},
   {"op": "TFE_TensorHandleResolve", "phase": "backward", "module": 0, "args": [{"t": 6}], "out": []}]})");
}

std::vector<std::int64_t> dims_of(const TensorShape* t) {
  EXPECT_NE(t, nullptr);
  return t == nullptr ? std::vector<std::int64_t>{}
                      : std::vector<std::int64_t>(t->dims.begin(), t->dims.begin() + t->rank);
}

// Two branches, their sum, and gradients of the branches, 2048 bytes each, beside an input of as
// much. Sum and branches are three at once. The tape holds both branches of an AddV2 until their
// own gradients: with the result of the relu, or later a gradient and the next one, they are four.
TEST(TensorflowMemory, TheTapeHoldsWhatAnAdditionReads) {
  const auto peak = [](const std::string& add) {
    const Network network = test::network_of(
        R"({"schema": "tandem.network/1", "name": "small", "framework": "tensorflow",
  "task": "train", "source": "by hand", "recorded_with": "nothing", "optimizer": "sgd", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 8}], "modules": [""],
  "storages": ["input", "activation", "activation", "activation", "activation", "activation", "activation", "activation"],
  "tensors": [["fp32", ["batch", 64], null, 0], ["fp32", ["batch", 64], null, 1], ["fp32", ["batch", 64], null, 2],
              ["fp32", ["batch", 64], null, 3], ["fp32", ["batch", 64], null, 4], ["fp32", ["batch", 64], null, 5],
              ["fp32", ["batch", 64], null, 6], ["fp32", ["batch", 64], null, 7]],
  "ops": [
   {"op": "Relu", "phase": "forward", "module": 0, "seq": 0, "args": [{"t": 0}], "out": [1]},
   {"op": "Relu", "phase": "forward", "module": 0, "seq": 1, "args": [{"t": 0}], "out": [2]},
   {"op": ")" +
        add + R"(", "phase": "forward", "module": 0, "args": [{"t": 1}, {"t": 2}], "out": [3]},
   {"op": "Relu", "phase": "forward", "module": 0, "seq": 2, "args": [{"t": 3}], "out": [4]},
   {"op": "ReluGrad", "phase": "backward", "module": 0, "seq": 2, "args": [{"t": 4}, {"t": 4}], "out": [5]},
   {"op": "ReluGrad", "phase": "backward", "module": 0, "seq": 1, "args": [{"t": 5}, {"t": 0}], "out": [6]},
   {"op": "ReluGrad", "phase": "backward", "module": 0, "seq": 0, "args": [{"t": 5}, {"t": 0}], "out": [7]}]})");
    return network_memory(bind_network(network, {})).peak_bytes();
  };
  EXPECT_EQ(peak("Maximum"), (1 + 3) * 2048);
  EXPECT_EQ(peak("AddV2"), (1 + 4) * 2048);
}

using Dims = std::vector<std::int64_t>;

TEST(TensorflowOperands, ImagesAndFiltersStandInTheOrderOfTheRow) {
  const Network network = small_tensorflow();
  const BoundNetwork bound = bind_network(network, {});
  const Operands& conv = bound.ops[0].operands;
  EXPECT_EQ(dims_of(conv.tensors.at(0)), (Dims{8, 64, 57, 57}));
  EXPECT_TRUE(conv.tensors.at(0)->channels_last);
  EXPECT_EQ(dims_of(conv.tensors.at(1)), (Dims{32, 64, 3, 3}));
  EXPECT_EQ(dims_of(bound.ops[0].outputs.data()), (Dims{8, 32, 29, 29}));
  // 28 x 2 + 3 - 57 = 2 rows are lacking: one above, one below.
  EXPECT_EQ(conv.arguments[2], Argument(Dims{2, 2}));
  EXPECT_EQ(conv.arguments[3], Argument(Dims{1, 1, 1, 1}));
}

TEST(TensorflowOperands, GradientsOfConvolutionsNameImageAndFilter) {
  const BoundNetwork bound = [] {
    static const Network network = small_tensorflow();
    return bind_network(network, {});
  }();
  int gradients = 0;
  for (const std::size_t at : {2U, 3U}) {  // one has sizes on the host, the other as numbers
    const OpTensors& tensors = bound.ops[at].operands.tensors;
    EXPECT_EQ(dims_of(tensors.at(0)), (Dims{8, 32, 29, 29}));
    EXPECT_EQ(dims_of(tensors.at(1)), (Dims{8, 64, 57, 57}));
    EXPECT_EQ(dims_of(tensors.at(2)), (Dims{32, 64, 3, 3}));
    EXPECT_EQ(tensors.shapes.size(), 3U);
    ++gradients;
  }
  EXPECT_EQ(gradients, 2);
  EXPECT_EQ(dims_of(bound.ops[2].outputs.data()), (Dims{8, 64, 57, 57}));
  EXPECT_EQ(dims_of(bound.ops[3].outputs.data()), (Dims{32, 64, 3, 3}));
}

TEST(TensorflowOperands, TransposedFactorsAreViews) {
  const Network network = small_tensorflow();
  const BoundNetwork bound = bind_network(network, {});
  const OpTensors& factors = bound.ops[5].operands.tensors;
  EXPECT_EQ(dims_of(factors.at(0)), (Dims{32, 29}));
  EXPECT_EQ(factors.at(0)->strides[0], 1);
  EXPECT_EQ(dims_of(factors.at(1)), (Dims{29, 64}));
  EXPECT_EQ(factors.at(1)->strides[1], 29);
}

TEST(TensorflowOperands, SizesAreTheHostsWork) {
  const Network network = small_tensorflow();
  const BoundNetwork bound = bind_network(network, {});
  const std::vector<bool> expected = {false, true, false, false, true, false, true};
  ASSERT_EQ(bound.ops.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(bound.ops[i].on_host, expected[i]) << network.ops[i].name;
  }
  EXPECT_TRUE(op_row(network.ops.back().name).is(waits));
}

TEST(TensorflowMemory, HostMemoryIsNotTheGpus) {
  const Network network = small_tensorflow();
  const NetworkMemory memory = network_memory(bind_network(network, {}));
  // images 8 x 57 x 57 x 64 x 4 = 6653952 = 25992 x 256; filter 3 x 3 x 64 x 32 x 4 = 73728
  EXPECT_EQ(memory.kept.bytes(), 6653952 + 73728);
}

class TensorflowKernels : public testing::Test {
 protected:
  /// The kernels of one operation; tensors and lists stand in the order of its row.
  std::vector<LoweredKernel> lower(const std::string& name, const std::vector<TensorShape>& in,
                                   const TensorShape& out, const std::string& gpu,
                                   std::vector<Argument> behind = {}) {
    op_.name = name;
    bound_ = {};
    for (std::size_t i = 0; i < in.size(); ++i) bound_.operands.tensors.add(i, in[i]);
    bound_.operands.arguments.resize(in.size());
    for (Argument& a : behind) bound_.operands.arguments.push_back(std::move(a));
    bound_.outputs = {out};
    Lowering lowering({find_gpu(configs_.gpus, gpu), configs_.time, configs_.libraries, rules_,
                       configs_.batch.sums});
    return lowering.kernels(op_, bound_, losses_);
  }
  static std::size_t named(const std::vector<LoweredKernel>& kernels, std::string_view part) {
    return static_cast<std::size_t>(std::count_if(
        kernels.begin(), kernels.end(),
        [&](const LoweredKernel& k) { return k.name.find(part) != std::string::npos; }));
  }
  /// Of `n` images, channels last in memory.
  static TensorShape images(std::int64_t n, std::int64_t channels, std::int64_t side) {
    TensorShape t = row_major({n, channels, side, side});
    t.strides = {side * side * channels, 1, side * channels, channels};
    t.channels_last = true;
    return t;
  }

  static constexpr const char* volta = "v100_sxm2_32gb";
  static constexpr const char* ampere = "a100_sxm4_80gb";
  const Configs configs_ = load_configs(source_path("configs"), "default");
  const LoweringRules rules_ = load_lowering_rules(source_path("configs/kernels/lowering.json"));
  NetworkOp op_;
  BoundOp bound_;
  LossList losses_;
};

TEST_F(TensorflowKernels, ConvolutionsBringChannelsFirstWhereTensorCoresDoNotServe) {
  const std::vector<TensorShape> in = {images(32, 64, 56), row_major({64, 64, 3, 3})};
  const auto older = lower("Conv2D", in, images(32, 64, 56), volta);
  EXPECT_EQ(named(older, "ShuffleInTensor3Simple"), 1U);  // the filter
  EXPECT_EQ(named(older, "SwapDimension1And2"), 2U);      // input and result
  ASSERT_GT(older.size(), 1U);
  // 3136 pixels in 98 tiles of 32, 64 channels in 2, 32 images
  EXPECT_EQ(older[1].geometry.grid[0], 98U * 2 * 32);
  const auto newer = lower("Conv2D", in, images(32, 64, 56), ampere);
  EXPECT_EQ(named(newer, "SwapDimension1And2"), 0U);
  EXPECT_EQ(newer.size(), 2U);  // the filter's order, the product
}

TEST_F(TensorflowKernels, OneByOneConvolutionsAreOneProduct) {
  const auto kernels =
      lower("Conv2D", {images(32, 64, 56), row_major({256, 64, 1, 1})}, images(32, 256, 56), volta);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_NE(kernels[0].name.find("gemm"), std::string::npos);
}

TEST_F(TensorflowKernels, OddPaddingIsMadeBefore) {
  // 27 x 2 + 3 - 56 = 1 row is lacking: none above, one below.
  const auto kernels = lower("Conv2D", {images(8, 64, 56), row_major({64, 64, 3, 3})},
                             images(8, 64, 28), volta, {Dims{2, 2}, Dims{0, 0, 1, 1}, Dims{1, 1}});
  EXPECT_EQ(named(kernels, "PadInput"), 1U);
}

TEST_F(TensorflowKernels, NormsTrainWithChannelsFirst) {
  const TensorShape x = images(32, 64, 56), c = row_major({64});
  const std::vector<Argument> training = {1e-3, 0.01, std::string("NHWC"), true};
  const auto kernels = lower("FusedBatchNormV3", {x, c, c, c, c}, x, volta, training);
  EXPECT_EQ(named(kernels, "SwapDimension1And2"), 2U);
  EXPECT_EQ(named(kernels, "Memcpy"), 2U);  // mean and variance
  EXPECT_EQ(kernels.size(), 5U);
  const std::vector<Argument> given = {1e-3, 1.0, std::string("NHWC"), false};
  EXPECT_EQ(lower("FusedBatchNormV3", {x, c, c, c, c}, x, volta, given).size(), 1U);
}

TEST_F(TensorflowKernels, ColumnsAreSummedByWarpsAndThenByParts) {
  const auto kernels = lower("BiasAddGrad", {row_major({100352, 64})}, row_major({64}), volta);
  ASSERT_EQ(kernels.size(), 2U);
  // 64 / 32 = 2 blocks wide; 100352 / 32 rows, at most 32 parts
  EXPECT_EQ(kernels[0].geometry.grid[0], 2U);
  EXPECT_EQ(kernels[0].geometry.grid[1], 32U);
  EXPECT_NE(kernels[1].name.find("CleanupSegments"), std::string::npos);
}

TEST_F(TensorflowKernels, ElementwiseBlocksAreAsManyAsAreResident) {
  const TensorShape t = row_major({64, 56, 56, 256});
  const auto kernels = lower("Relu", {t}, t, volta);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].geometry.grid[0], 160U);  // 80 SMs x 2048 / 1024 threads
  EXPECT_EQ(kernels[0].geometry.block[0], 1024U);
}

TEST_F(TensorflowKernels, IndicesInHostMemoryAreCopiedFirst) {
  const Network network = load_network(source_path("workloads/nets/tf_bert-infer.json"));
  const SymbolValue sizes[] = {{"batch", 2}, {"seq", 32}};
  const BoundNetwork bound = bind_network(network, sizes);
  const GpuArch gpu = find_gpu(configs_.gpus, volta);
  Lowering lowering({gpu, configs_.time, configs_.libraries, rules_, configs_.batch.sums});
  std::vector<std::int64_t> copied;
  for (std::size_t i = 0; i < network.ops.size(); ++i) {
    for (const LoweredKernel& k : lowering.kernels(network.ops[i], bound.ops[i], losses_)) {
      if (k.name.find("HtoD") != std::string::npos) copied.push_back(k.bytes);
    }
  }
  // Words 2 x 32 x 4, positions 1 x 32 x 4, types and mask like the words.
  EXPECT_EQ(copied, (Dims{256, 128, 256, 256}));
}

TEST_F(TensorflowKernels, WhatLeavesItsOperandAsItIsLaunchesNothing) {
  const TensorShape one = row_major({}), many = row_major({128, 1});
  EXPECT_TRUE(lower("Sum", {one}, one, volta).empty());
  EXPECT_TRUE(lower("Tile", {many}, many, volta).empty());
  EXPECT_TRUE(lower("Reshape", {many}, row_major({128}), volta).empty());
  EXPECT_EQ(losses_.count("op_without_kernel_rule"), 0);
}

// LeNet-5: 2 x (convolution, bias, tanh, pool) + 3 x (product, bias, activation) = 17. ResNet-50:
// 53 x (convolution, bias, norm) + 49 relus + 16 sums + 2 pads, pool, mean, product, bias, softmax
// = 231. Sizes, reads of variables and reshapes run nothing there.
TEST(TensorflowNetworks, RunAsManyOperationsOnTheGpuAsTheirLayersHave) {
  const LoweringRules rules = load_lowering_rules(source_path("configs/kernels/lowering.json"));
  int networks = 0;
  for (const auto& [name, expected] :
       {std::pair<const char*, int>{"tf_lenet5", 17}, {"tf_resnet50", 231}}) {
    const Network network =
        load_network(source_path("workloads/nets/" + std::string(name) + "-infer.json"));
    const BoundNetwork bound = bind_network(network, {});
    int on_gpu = 0;
    for (std::size_t i = 0; i < network.ops.size(); ++i) {
      const OpRule* rule = rules.find(network.ops[i].name);
      ASSERT_NE(rule, nullptr) << network.ops[i].name;
      on_gpu += !bound.ops[i].on_host && rule->recipe != Recipe::nothing;
    }
    EXPECT_EQ(on_gpu, expected) << name;
    ++networks;
  }
  EXPECT_EQ(networks, 2);
}

TEST(TensorflowNetworks, HaveARowAndARuleForEveryOperation) {
  const LoweringRules rules = load_lowering_rules(source_path("configs/kernels/lowering.json"));
  int operations = 0;
  for (const char* name :
       {"tf_lenet5-train", "tf_resnet50-train", "tf_bert-infer", "tf_bert-train", "tf_dlrm-train",
        "tf_resnet50_amp-train", "tf_bert_amp-train", "tf_dlrm_amp-train", "tf_resnet50_v1_5-train",
        "tf_resnet50_v1_5_amp-train"}) {
    const Network network =
        load_network(source_path("workloads/nets/" + std::string(name) + ".json"));
    EXPECT_EQ(network.framework, Framework::tensorflow);
    for (const NetworkOp& op : network.ops) {
      EXPECT_NE(rules.find(op.name), nullptr) << op.name;
      EXPECT_NE(find_op(op.name), nullptr) << op.name;
      ++operations;
    }
  }
  EXPECT_GT(operations, 5000);
}

}  // namespace
}  // namespace tandem
