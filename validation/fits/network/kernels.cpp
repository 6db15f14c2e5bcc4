// The kernels that the rules give each operation of a network, as a table: what to hold against a
// trace when a rule is written. usage: network_kernels NETWORK.json GPU [batch [length]]
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "models/arch/gpu_config.h"
#include "sim/predict/configs.h"
#include "workloads/generate.h"

namespace {

using namespace tandem;

int run(const std::string& path, const std::string& gpu_name, int count, char** sizes) {
  const std::string configs_folder = "configs";
  const Configs configs = load_configs(configs_folder, "default");
  const LoweringRules rules = load_lowering_rules(configs_folder + "/kernels/lowering.json");
  const GpuArch& gpu = find_gpu(configs.gpus, gpu_name);
  const Network network = load_network(path);
  std::vector<SymbolValue> values;
  for (int i = 0; i < count && i < static_cast<int>(network.symbols.size()); ++i) {
    values.push_back({network.symbols[static_cast<std::size_t>(i)].name, std::atoll(sizes[i])});
  }
  const BoundNetwork bound = bind_network(network, values);
  const MeasuredOn measured{configs.layers, find_gpu(configs.gpus, configs.layers.gpu)};
  Lowering lowering({gpu, configs.time, configs.libraries, rules, configs.batch.sums, &measured});
  LossList losses;
  for (std::size_t i = 0; i < bound.ops.size(); ++i) {
    const NetworkOp& op = network.ops[i];
    for (const LoweredKernel& k : lowering.kernels(op, bound.ops[i], losses)) {
      fmt::print("{}\t{}\t{}\t{}\t{}\t{:.3f}\t{}x{}x{}\t{}\n", i, op.name,
                 static_cast<int>(op.phase), op.node, shapes_text(bound.ops[i].operands.tensors),
                 k.duration_us, k.geometry.grid[0], k.geometry.grid[1], k.geometry.grid[2], k.name);
    }
  }
  for (const Loss& loss : losses.all()) fmt::print(stderr, "{} {}\n", loss.count, loss.description);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: network_kernels NETWORK.json GPU [batch [length]]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc - 3, argv + 3);
  } catch (const std::exception& error) {
    fmt::print(stderr, "network_kernels: {}\n", error.what());
    return 2;
  }
}
