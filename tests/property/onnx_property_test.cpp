// Exported models against the recorded networks of the same programs: the same operations, in
// numbers and sizes.
#include <map>

#include "sim/predict/network_run.h"
#include "tests/configs_for_tests.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/onnx/onnx_for_tests.h"

namespace tandem {
namespace {

struct Pair {
  const char* model;  // of tests/unit/workloads/onnx/models
  const char* optimizer;
  double gpu_time;  // how far GPU time may be from that of the recorded network
};

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.model; }

class ExportedModel : public testing::TestWithParam<Pair> {
 protected:
  std::string exported() const {
    return source_path(std::string("tests/unit/workloads/onnx/models/") + GetParam().model +
                       ".onnx");
  }
  std::string recorded() const {
    return source_path(std::string("workloads/nets/") + GetParam().model + ".json");
  }
  Task task() const { return exported().ends_with("-train.onnx") ? Task::train : Task::infer; }
};

Result result_of(const std::string& path, Task task, const std::string& optimizer) {
  ReplayOptions options;
  options.configs = source_path("configs");
  NetworkRequest request{path, "h200_sxm", 16, {}, task, is_onnx(path) ? optimizer : ""};
  return run_network(request, options, test::configs()).prediction.result;
}

TEST_P(ExportedModel, TakesAsLongAsTheRecordedOne) {
  const Result a = result_of(recorded(), task(), GetParam().optimizer);
  const Result b = result_of(exported(), task(), GetParam().optimizer);
  EXPECT_NEAR(b.step.gpu_kernel_us / a.step.gpu_kernel_us, 1, GetParam().gpu_time);
  ASSERT_TRUE(a.memory && b.memory);
  EXPECT_NEAR(b.memory->peak_bytes / a.memory->peak_bytes, 1, 0.01);
  EXPECT_FALSE(b.losses.any(Severity::data_loss));
}

/// Operations that make kernels of weight: products, convolutions, norms, attention.
std::map<std::string, int> heavy_ops(const Network& network) {
  std::map<std::string, int> out;
  for (const NetworkOp& op : network.ops) {
    for (const char* part : {"mm", "convolution", "conv_depthwise", "norm", "attention"}) {
      if (op.name.find(part) == std::string::npos) continue;
      ++out[op.name];
      break;
    }
  }
  return out;
}

TEST_P(ExportedModel, HasTheOperationsOfTheRecordedOne) {
  const Network exported_network = load_onnx(exported(), {task(), GetParam().optimizer});
  const auto wanted = heavy_ops(load_network(recorded()));
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(heavy_ops(exported_network), wanted);
}

INSTANTIATE_TEST_SUITE_P(Models, ExportedModel,
                         testing::Values(Pair{"lenet5-train", "sgd", 0.005},
                                         Pair{"resnet50-train", "sgd", 0.005},
                                         Pair{"dlrm-infer", "", 0.01},
                                         Pair{"bert_base-infer", "", 0.01}));

}  // namespace
}  // namespace tandem
