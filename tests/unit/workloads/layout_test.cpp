// Networks in channels-last order: which tensors change, which copies appear, which kernels go.
#include "workloads/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/predict/network_run.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/network_for_tests.h"

namespace tandem {
namespace {

/// A convolution, its activation, a flat view of it and a linear layer on that.
constexpr std::string_view small_vision = R"({
  "schema": "tandem.network/1", "name": "v", "framework": "pytorch", "task": "infer", "source": "s",
  "recorded_with": "nothing", "optimizer": "", "precision": "fp32",
  "symbols": [{"name": "batch", "recorded": [2, 3], "default": 8}], "modules": [""],
  "storages": ["input", "parameter", "activation", "activation", "parameter", "activation"],
  "tensors": [["fp32", ["batch", 16, 6, 6], null, 0], ["fp32", [32, 16, 3, 3], null, 1],
              ["fp32", ["batch", 32, 4, 5], null, 2], ["fp32", ["batch", 32, 4, 5], null, 3],
              ["fp32", ["batch", 640], null, 3], ["fp32", [640, 10], [1, 640], 4],
              ["fp32", ["batch", 10], null, 5], ["fp32", ["batch", 20, 32], [640, 1, 20], 3]],
  "ops": [
    {"op": "aten::cudnn_convolution", "phase": "forward", "module": 0,
     "args": [{"t": 0}, {"t": 1}, [0, 0], [1, 1], [1, 1], 1, false, false, true], "out": [2]},
    {"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 2}], "out": [3]},
    READER]})";

Network vision(const std::string& reader) {
  std::string text(small_vision);
  const std::string mark = "READER";
  return test::network_of(text.replace(text.find(mark), mark.size(), reader));
}

const std::string linear = R"({"op": "aten::mm", "phase": "forward", "module": 0,
                               "args": [{"t": 4}, {"t": 5}], "out": [6]})";
const std::string rows_of_pixels =
    R"({"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 7}], "out": [3]})";

std::vector<std::int64_t> strides(const BoundNetwork& bound, std::size_t tensor) {
  const TensorShape& t = bound.tensors[tensor];
  return {t.strides.begin(), t.strides.begin() + t.rank};
}

TEST(Layout, WeightsImagesAndWhatIsMadeOfThemTurn) {
  const Network turned = with_channels_last(vision(rows_of_pixels));
  const BoundNetwork bound = bind_network(turned, {});
  using Strides = std::vector<std::int64_t>;
  EXPECT_EQ(strides(bound, 0), (Strides{16 * 36, 1, 6 * 16, 16}));
  EXPECT_EQ(strides(bound, 1), (Strides{16 * 9, 1, 3 * 16, 16}));
  for (const std::size_t t : {2U, 3U}) {
    EXPECT_EQ(strides(bound, t), (Strides{32 * 20, 1, 5 * 32, 32}));
    EXPECT_TRUE(bound.tensors[t].channels_last);
  }
}

// [batch, pixels, channels] with pixels innermost (strides 640, 1, 20) is contiguous afterwards:
// pixels are 32 elements apart, channels one.
TEST(Layout, AViewOfPixelsByChannelsBecomesContiguous) {
  const Network turned = with_channels_last(vision(rows_of_pixels));
  EXPECT_EQ(turned.ops.size(), 3U);
  EXPECT_EQ(strides(bind_network(turned, {}), 7), (std::vector<std::int64_t>{640, 32, 1}));
}

TEST(Layout, AFlatViewIsCopiedFirst) {
  const Network turned = with_channels_last(vision(linear));
  ASSERT_EQ(turned.ops.size(), 4U);
  EXPECT_EQ(turned.ops[2].name, "aten::copy_");
  const BoundNetwork bound = bind_network(turned, {});
  const std::vector<TensorShape>& copied = bound.ops[2].operands.tensors.shapes;
  ASSERT_EQ(copied.size(), 2U);
  EXPECT_FALSE(copied[0].channels_last);
  EXPECT_TRUE(copied[1].channels_last);
  // The linear layer reads what was copied, 640 contiguous features an image.
  const std::uint32_t read = turned.ops[3].arguments[0].tensors[0];
  EXPECT_EQ(strides(bound, read), (std::vector<std::int64_t>{640, 1}));
  EXPECT_EQ(turned.tensors[read].storage, turned.tensors[turned.ops[2].outputs[0]].storage);
  // 8 images of 640 floats in memory of their own.
  EXPECT_EQ(bound.storage_bytes[turned.tensors[read].storage], 8 * 640 * 4);
}

TEST(Layout, ANetworkWithoutConvolutionsHasNoOrder) {
  try {
    with_channels_last(test::network_of(test::small_network()));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--layout: found no convolution of images"),
              std::string::npos)
        << error.what();
  }
}

TEST(Layout, ProductsOfFormulas) {
  const std::vector<Symbol> symbols{{"batch", {2, 3}, 1}};
  std::string unknown;
  const Expression a = *Expression::parse("2*batch+3", symbols, unknown);
  const Expression b = *Expression::parse("batch+-1", symbols, unknown);
  const std::vector<std::int64_t> seven{7};
  EXPECT_EQ((a * b).at(seven), 17 * 6);  // (2 x 7 + 3) x (7 - 1)
  const Expression large(std::int64_t{1} << 40);
  EXPECT_THROW(large * large * a, SizeOverflow);
}

std::vector<std::string> kernel_names(const std::string& network, bool channels_last,
                                      const std::string& family) {
  ReplayOptions options;
  options.configs = source_path("configs");
  NetworkRequest request{source_path("workloads/nets/" + network + ".json"), "h200_sxm", 32, {}};
  request.channels_last = channels_last;
  const TracedRun run = analyse_network(request, options);
  std::vector<std::string> names;
  for (std::size_t a = 0; a < run.trace.activities.size(); ++a) {
    std::string name(text_of(run.trace, run.trace.activities.name[a]));
    if (name.find(family) != std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

// 53 layers and as many norms: of the norms' forward kernels all change, of the transforms none
// stays.
TEST(Layout, ResNetLosesItsTransformsAndGetsNormsOfThatOrder) {
  EXPECT_GT(kernel_names("resnet50-train", false, "nchwToNhwc").size(), 100U);
  EXPECT_EQ(kernel_names("resnet50-train", true, "nchwToNhwc").size(), 0U);
  EXPECT_EQ(kernel_names("resnet50-train", true, "nhwcToNchw").size(), 0U);
  EXPECT_EQ(kernel_names("resnet50-train", true, "batchnorm_fwtr_nhwc").size(), 53U);
  EXPECT_EQ(kernel_names("resnet50-train", true, "batchnorm_bwtr_nhwc").size(), 53U);
  EXPECT_EQ(kernel_names("resnet50-train", true, "max_pool_forward_nhwc").size(), 1U);
}

}  // namespace
}  // namespace tandem
