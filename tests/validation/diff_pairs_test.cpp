// Comparisons of real captures: how much of the difference of their steps has a place.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/diff/diff.h"
#include "sim/diff/diff_report.h"
#include "sim/predict/predict.h"
#include "sim/report/report.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

DiffSide side_of(const std::string& capture, Profiler profiler = Profiler::remove) {
  ReplayOptions options;
  options.configs = source_path("configs");
  options.trace_path = source_path("validation/captures/" + capture + ".json.zst");
  options.profiler = profiler;
  return read_side(result_json(replay(options).prediction.result), capture);
}

struct Pair {
  const char* a;
  const char* b;
  std::optional<PathKind> largest = {};  // what changed most
};

const Pair pairs[] = {
    // eager to compiled, GPU-bound, and where the host decides
    {"h200_2026-11-22_compile_holdout/traces/resnet18-train-fp32-eager-b128",
     "h200_2026-11-22_compile_holdout/traces/resnet18-train-fp32-compile-b128", PathKind::work},
    {"h200_2026-11-20_fit/traces/bert_base-train-amp-eager-b16",
     "h200_2026-11-20_fit/traces/bert_base-train-amp-compile-b16"},
    // eager to a CUDA graph
    {"h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32",
     "h200_2026-11-20_fit/traces/resnet50-train-amp-cudagraph-b32", PathKind::host},
    // FP32 to mixed precision
    {"h200_2026-11-21_precisions_holdout/traces/gpt2-train-fp32-eager-b4",
     "h200_2026-11-21_precisions_holdout/traces/gpt2-train-amp-eager-b4", PathKind::work},
    // another batch
    {"h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32",
     "h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b128", PathKind::work},
    {"cpu_2026-11-22_tensorflow_fit/traces/resnet50_train_b2_async",
     "cpu_2026-11-22_tensorflow_fit/traces/resnet50_train_b2_sync"},
    {"h200_2026-11-22_ranks2_fit/traces/vgg16-train-amp-eager-b16-w1.rank0",
     "h200_2026-11-22_ranks2_fit/traces/vgg16-train-amp-eager-b16-w2.rank0"},
};

TEST(DiffPairs, AttributeNineteenTwentiethsAndMore) {
  int ran = 0;
  for (const Pair& pair : pairs) {
    const Diff d = diff(side_of(pair.a), side_of(pair.b));
    EXPECT_NE(d.change(), Duration{}) << pair.b;
    EXPECT_GE(d.attributed_share, 0.95) << pair.b;
    EXPECT_GE(d.named_share, 0.9) << pair.b;  // of all 215 pairs: 0.93 and more
    EXPECT_EQ(named(d.kinds, to_string).change + d.remainder, d.change()) << pair.b;
    // A device time is a sum of doubles in the result, rounded once for each row.
    EXPECT_NEAR(to_us(d.device.ops.change), to_us(d.device.change), 1e-3) << pair.b;
    if (pair.largest) {
      EXPECT_EQ(d.kinds.front().kind, *pair.largest) << pair.b;
    }
    ++ran;
  }
  EXPECT_EQ(ran, 7);
}

TEST(DiffPairs, OfATraceWithItselfAreNothing) {
  const DiffSide side = side_of(pairs[0].a);
  const Diff d = diff(side, side_of(pairs[0].a));
  EXPECT_EQ(d.change(), Duration{});
  for (const DiffPart& p : d.parts) EXPECT_EQ(p.row.change(), Duration{});
}

TEST(DiffPairs, TheProfilerCostsHostTime) {
  // As traced against without the profiler: nothing but what the host does, and what waits for it.
  const std::string eager = pairs[2].a;
  const Diff d = diff(side_of(eager), side_of(eager, Profiler::keep));
  EXPECT_GT(d.change(), from_us(5000));
  EXPECT_EQ(d.device.change, Duration{});
  EXPECT_EQ(d.kinds.front().kind, PathKind::host);
}

}  // namespace
}  // namespace tandem
