// DRAM traffic of whole steps with the caches that the step leaves, against counters that one pass
// collected without flushing (validation/captures/h200_2026-11-20_fit/counters-warm). No constant
// was fitted on it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "sim/counters/counter_report.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string warm_captures = source_path("validation/captures/");

double counted_bytes(const std::string& name) {
  const CounterReport report =
      read_counter_report(warm_captures + "h200_2026-11-20_fit/counters-warm/" + name + ".csv.zst");
  double sectors = 0;
  for (std::size_t row = 0; row < report.size(); ++row) {
    sectors += report.value(Counter::dram_read_sectors, row) +
               report.value(Counter::dram_write_sectors, row);
  }
  return 32 * sectors;
}

double predicted_bytes(const std::string& trace) {
  ReplayOptions o;
  o.trace_path = trace;
  o.configs = source_path("configs");
  const Result r = replay(o).prediction.result;
  return r.gpu_step->dram_read_bytes + r.gpu_step->dram_write_bytes;
}

TEST(WarmL2Measured, DramTrafficOfSteps) {
  const std::vector<std::pair<std::string, std::string>> steps = {
      {"h200_2026-11-20_fit", "bert_base2l-train-amp-eager-b16"},
      {"h200_2026-11-20_fit", "dlrm-train-fp32-eager-b8192"},
      {"h200_2026-11-20_fit", "resnet50-infer-fp32-eager-b128"},
      {"h200_2026-11-20_fit", "resnet50-train-amp-eager-b32"},
      {"h200_2026-11-21_networks_holdout", "gpt2_2l-train-amp-eager-b4"},
      {"h200_2026-11-21_networks_holdout", "mobilenet_v2-infer-fp32-eager-b64"}};
  double sum = 0, hold_out = 0;
  for (const auto& [folder, name] : steps) {
    const double counted = counted_bytes(name);
    ASSERT_GT(counted, 1e8) << name;
    const double error =
        predicted_bytes(warm_captures + folder + "/traces/" + name + ".json.zst") / counted - 1;
    std::printf("%-36s %+5.1f %%\n", name.c_str(), 100 * error);
    EXPECT_LT(std::abs(error), 0.2) << name;
    sum += std::abs(error);
    if (folder == "h200_2026-11-21_networks_holdout") hold_out += std::abs(error);
  }
  EXPECT_LT(sum / static_cast<double>(steps.size()), 0.12);
  EXPECT_LT(hold_out / 2, 0.08);
}

}  // namespace
}  // namespace tandem
