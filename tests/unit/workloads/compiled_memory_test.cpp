// Peak of memory of compiled steps whose sums are worked out.
#include "workloads/compiled_memory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/predict/network_run.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/network_for_tests.h"

namespace tandem {
namespace {

/// x [8, 64] and w [64, 64]; a = x w, b = exp(a) in twice the width, s = sum(b); backward g = b s
/// and the gradient of x.
constexpr std::string_view exponential = R"({
  "schema": "tandem.network/1", "name": "e", "framework": "pytorch", "task": "train", "source": "s",
  "recorded_with": "nothing", "optimizer": "", "precision": "fp32", "symbols": [], "modules": [""],
  "storages": ["input", "parameter", "activation", "activation", "activation", "activation",
               "activation"],
  "tensors": [["fp32", [8, 64], null, 0], ["fp32", [64, 64], null, 1], ["fp32", [8, 64], null, 2],
              ["fp64", [8, 64], null, 3], ["fp32", [1], null, 4], ["fp64", [8, 64], null, 5],
              ["fp32", [8, 64], null, 6]],
  "ops": [
    {"op": "aten::mm", "phase": "forward", "module": 0, "args": [{"t": 0}, {"t": 1}], "out": [2]},
    {"op": "aten::exp", "phase": "forward", "module": 0, "args": [{"t": 2}], "out": [3]},
    {"op": "aten::sum", "phase": "forward", "module": 0, "args": [{"t": 3}], "out": [4]},
    {"op": "aten::mul", "phase": "backward", "module": 0, "args": [{"t": 3}, {"t": 4}], "out": [5]},
    {"op": "aten::mm", "phase": "backward", "module": 0, "args": [{"t": 5}, {"t": 1}],
     "out": [6]}]})";

constexpr double kept = 8 * 64 * 4 + 64 * 64 * 4;  // x and w

TEST(CompiledMemory, SavesWhatIsCheapestAndComputesTheRestAgain) {
  const Network network = test::network_of(std::string(exponential));
  const BoundNetwork bound = bind_network(network, {});
  // Eager, at the multiplication: b and g of 4096 bytes, s of 512 (a unit of the allocator).
  EXPECT_EQ(network_memory(bound).peak_bytes(), kept + 4096 + 4096 + 512);
  // Compiled: a of 2048 bytes in place of b, which both of its kernels compute for themselves.
  const NetworkMemory compiled = compiled_memory(bound, Saving::cheapest);
  EXPECT_EQ(compiled.kept.bytes(), kept);
  EXPECT_EQ(compiled.peak_bytes(), kept + 2048 + 4096 + 512);
}

/// a = x w is read by exp and tanh, whose results products read, forward and backward.
constexpr std::string_view two_products = R"({
  "schema": "tandem.network/1", "name": "p", "framework": "pytorch", "task": "train", "source": "s",
  "recorded_with": "nothing", "optimizer": "", "precision": "fp32", "symbols": [], "modules": [""],
  "storages": ["input", "parameter", "activation", "activation", "activation", "activation",
               "activation", "gradient", "gradient"],
  "tensors": [["fp32", [64, 64], null, 0], ["fp32", [64, 64], null, 1],
              ["fp32", [64, 64], null, 2], ["fp32", [64, 64], null, 3],
              ["fp32", [64, 64], null, 4], ["fp32", [64, 1], null, 5], ["fp32", [64, 1], null, 6],
              ["fp32", [64, 1], null, 7], ["fp32", [64, 1], null, 8], ["fp32", [64, 1], null, 0]],
  "ops": [
    {"op": "aten::mm", "phase": "forward", "module": 0, "args": [{"t": 0}, {"t": 1}], "out": [2]},
    {"op": "aten::exp", "phase": "forward", "module": 0, "args": [{"t": 2}], "out": [3]},
    {"op": "aten::tanh", "phase": "forward", "module": 0, "args": [{"t": 2}], "out": [4]},
    {"op": "aten::mm", "phase": "forward", "module": 0, "args": [{"t": 3}, {"t": 9}], "out": [5]},
    {"op": "aten::mm", "phase": "forward", "module": 0, "args": [{"t": 4}, {"t": 9}], "out": [6]},
    {"op": "aten::mm", "phase": "backward", "module": 0, "args": [{"t": 3}, {"t": 5}], "out": [7]},
    {"op": "aten::mm", "phase": "backward", "module": 0, "args": [{"t": 4}, {"t": 6}],
     "out": [8]}]})";

// With P = 64 x 64 x 4 bytes a matrix and 512 a column: eager holds a, exp and tanh at once (3 P).
// The cheapest saving holds exp and tanh, for tanh is written over a, which nobody needs any
// longer; in the first product of the backward pass, beside them both columns and a gradient. The
// least saving holds a alone between the passes, and a and one of them in the backward pass (2 P).
TEST(CompiledMemory, ReadByLibraryKernelsIsSavedOrComputedAgain) {
  const Network network = test::network_of(std::string(two_products));
  const BoundNetwork bound = bind_network(network, {});
  const double matrix = 64 * 64 * 4;
  EXPECT_EQ(network_memory(bound).peak_bytes(), 2 * matrix + 3 * matrix);
  EXPECT_EQ(compiled_memory(bound, Saving::cheapest).peak_bytes(),
            2 * matrix + 2 * matrix + 3 * 512);
  EXPECT_LE(compiled_memory(bound, Saving::least).peak_bytes(), 2 * matrix + 3 * matrix + 1024);
}

// ResNet-50 training on a GPU of 80 GB: in mixed precision batch 2048 fits under XLA (thesis
// section 4.4) and not eagerly, for XLA computes what convolutions read again where memory runs
// out.
TEST(CompiledMemory, TellsWhichBatchFits) {
  const auto memory_of = [](const char* compiler, std::int64_t batch) {
    ReplayOptions options;
    options.configs = source_path("configs");
    options.what_ifs.set("precision", "amp");
    options.what_ifs.set("compile", compiler);
    const NetworkRequest request{
        source_path("workloads/nets/resnet50-train.json"), "a100_sxm4_80gb", batch, {}};
    return *run_network(request, options).prediction.result.memory;
  };
  EXPECT_FALSE(memory_of("", 2048).fits);
  EXPECT_FALSE(memory_of("inductor", 2048).fits);
  EXPECT_TRUE(memory_of("xla", 2048).fits);
  // XLA computes no more again than it takes to fit: what does not fit fills the GPU, at any batch.
  EXPECT_EQ(memory_of("xla", 2048).peak_bytes, memory_of("xla", 1950).peak_bytes);
  EXPECT_GT(memory_of("xla", 2048).peak_bytes, 0.9 * 80 * 1073741824.0);
  // Where all fits, nothing is computed again.
  EXPECT_EQ(memory_of("xla", 512).peak_bytes, memory_of("inductor", 512).peak_bytes);
  EXPECT_LE(memory_of("xla", 512).peak_bytes, memory_of("", 512).peak_bytes);
}

TEST(CompiledMemory, SavesNoMoreThanEagerAndNoLessThanTheLeast) {
  std::size_t networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("workloads/nets"))) {
    if (entry.path().extension() != ".json") continue;
    const Network network = load_network(entry.path().string());
    if (network.task != Task::train || network.framework != Framework::pytorch) continue;
    SCOPED_TRACE(network.name);
    const BoundNetwork bound = bind_network(network, {});
    const double eager = network_memory(bound).peak_bytes();
    const double cheapest = compiled_memory(bound, Saving::cheapest).peak_bytes();
    const double least = compiled_memory(bound, Saving::least).peak_bytes();
    EXPECT_LE(cheapest, 1.02 * eager);
    EXPECT_LE(least, 1.02 * cheapest);
    EXPECT_GT(least, network_memory(bound).kept.bytes());
    ++networks;
  }
  EXPECT_GE(networks, 20U);
}

}  // namespace
}  // namespace tandem
