// Advice on measured steps of every kind, and its report.
#include "sim/advise/advise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/advise/candidates.h"
#include "sim/report/advice_report.h"
#include "sim/report/html/advice_page.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

ReplayOptions options(const std::string& path) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.trace_path = path;
  return o;
}

ReplayOptions advised(const std::string& name) {
  return options(source_path("validation/captures/" + name + ".json.zst"));
}

const ReplayOptions host_bound =
    advised("h200_2026-11-22_compile_holdout/traces/densenet121-infer-fp32-eager-b8");
const ReplayOptions gpu_bound =
    advised("h200_2026-11-22_generated_holdout/traces/vgg16-train-fp32-eager-b32");
const ReplayOptions compiled =
    advised("h200_2026-11-20_fit/traces/bert_base-train-amp-compile-b16");
const ReplayOptions captured =
    advised("h200_2026-11-20_fit/traces/bert_base-train-bf16-cudagraph-b32");
const ReplayOptions no_shapes =
    advised("v100_2024-04-04_hta_holdout/traces/v100_1gpu_ns_resolution_rank0.pt.trace");

Advice advice_on(const ReplayOptions& o, const std::vector<std::string>& gpus = {},
                 int threads = 0) {
  return advise(load_subject(o), gpus, threads);
}

const AdvisedRow* row_of(const Advice& advice, const std::string& name) {
  for (const AdvisedRow& row : advice.rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string refusal_of(const Advice& advice, const std::string& name) {
  for (const Refusal& refusal : advice.refused) {
    if (refusal.name.starts_with(name)) return refusal.reason;
  }
  return {};
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// The first row that changes one thing and keeps batch and GPU.
const AdvisedRow& first_single(const Advice& advice) {
  for (const AdvisedRow& row : advice.rows) {
    if (!row.is_base && !row.combined && row.same_work) return row;
  }
  throw std::logic_error("no row");
}

void expect_ranked(const Advice& advice) {
  for (std::size_t i = 1; i < advice.rows.size(); ++i) {
    const AdvisedRow& better = advice.rows[i - 1];
    const AdvisedRow& row = advice.rows[i];
    if (better.fits() == row.fits()) {
      EXPECT_GE(better.speed_up.value, row.speed_up.value);
    }
    EXPECT_GE(better.fits(), row.fits());
  }
  for (const AdvisedRow& row : advice.rows) {
    EXPECT_LE(row.speed_up.low, row.speed_up.value) << row.name;
    EXPECT_GE(row.speed_up.high, row.speed_up.value) << row.name;
    EXPECT_EQ(row.why.empty(), row.is_base) << row.name;
  }
}

/// Each candidate of the table is a row or is refused with a reason.
void expect_nothing_dropped(const Advice& advice) {
  ASSERT_FALSE(candidates().empty());
  for (const Candidate& c : candidates()) {
    const bool there = std::any_of(advice.rows.begin(), advice.rows.end(), [&](const auto& row) {
      return !row.combined && row.name.starts_with(c.name);
    });
    EXPECT_NE(there, !refusal_of(advice, c.name).empty()) << c.name;
  }
}

TEST(Advise, CapturesOrCompilesWhatTheHostLimits) {
  const Advice advice = advice_on(host_bound);
  const AdvisedRow& first = first_single(advice);
  EXPECT_TRUE(first.name == "CUDA graph" || first.name == "compile reduce-overhead") << first.name;
  EXPECT_GT(first.speed_up.low, 1);
  EXPECT_TRUE(has(first.why, "launches with")) << first.why;
  EXPECT_TRUE(has(first.why, "then limited by the GPU")) << first.why;
  EXPECT_FALSE(advice.nothing_helps());
  expect_ranked(advice);
  expect_nothing_dropped(advice);
}

TEST(Advise, TakesFewerBitsWhereProductsLimit) {
  const Advice advice = advice_on(gpu_bound);
  const AdvisedRow& first = first_single(advice);
  EXPECT_TRUE(first.name == "AMP" || first.name == "BF16") << first.name;
  EXPECT_TRUE(has(first.why, "most in convolution")) << first.why;
  // Both at once are better than either, and the rows say with which options.
  const AdvisedRow* best = advice.best(true);
  ASSERT_NE(best, nullptr);
  EXPECT_TRUE(best->combined);
  EXPECT_GT(best->speed_up.value, first.speed_up.value);
  EXPECT_TRUE(has(best->options, "--precision")) << best->options;
  EXPECT_TRUE(has(best->options, "--compile")) << best->options;
  expect_ranked(advice);
  expect_nothing_dropped(advice);
}

TEST(Advise, ThePageHasEveryRowWithItsReason) {
  const Advice advice = advice_on(compiled);
  const html::Page page = html::advice_page(advice);
  ASSERT_EQ(page.sections.size(), 3u);
  const auto& table = std::get<html::Table>(page.sections[1].blocks[0]);
  ASSERT_EQ(table.rows.size(), advice.rows.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    ASSERT_EQ(table.rows[r].size(), table.columns.size());
    EXPECT_EQ(std::get<std::string>(table.rows[r][9]), advice.rows[r].why);
    EXPECT_DOUBLE_EQ(std::get<double>(table.rows[r][1]), advice.rows[r].speed_up.value);
  }
  const auto& refused = std::get<html::Table>(page.sections[2].blocks[0]);
  EXPECT_EQ(refused.rows.size(), advice.refused.size());
  // The chart leaves out the base and what does not fit.
  const auto& chart = std::get<html::BarChart>(page.sections[0].blocks[1]);
  const auto fits = std::count_if(advice.rows.begin(), advice.rows.end(),
                                  [](const AdvisedRow& row) { return !row.is_base && row.fits(); });
  EXPECT_EQ(std::ssize(chart.bars), fits);
}

TEST(Advise, RefusesWhatACompiledStepCannotTell) {
  const Advice advice = advice_on(compiled);
  EXPECT_TRUE(has(refusal_of(advice, "compile"), "compiled code"));
  EXPECT_EQ(refusal_of(advice, "AMP"), "the step is in amp already");
  EXPECT_EQ(refusal_of(advice, "batch x2"), "") << "the batch of compiled code is recognised";
  EXPECT_EQ(first_single(advice).name, "CUDA graph");
  expect_nothing_dropped(advice);
}

TEST(Advise, SaysThatNothingHelps) {
  const Advice graph = advice_on(captured);
  EXPECT_TRUE(graph.nothing_helps());
  EXPECT_EQ(graph.best(true), nullptr);
  EXPECT_EQ(refusal_of(graph, "CUDA graph"), "CUDA graphs hold 100 % of the GPU time already");
  EXPECT_TRUE(has(advice_text(graph), "nothing helps"));
  expect_nothing_dropped(graph);
  // GPU-bound, and without shapes: a graph changes 1 %, which is less than its band.
  const Advice v100 = advice_on(no_shapes);
  EXPECT_TRUE(v100.nothing_helps());
  EXPECT_TRUE(has(advice_text(v100), "nothing helps for sure"));
  EXPECT_TRUE(has(refusal_of(v100, "AMP"), "record_shapes=True"));
  ASSERT_NE(row_of(v100, "CUDA graph"), nullptr);
  EXPECT_TRUE(has(row_of(v100, "CUDA graph")->why, "% of the critical path is on the GPU"));
  expect_nothing_dropped(v100);
}

TEST(Advise, DropsNothingWhateverTheTraceHolds) {
  int seen = 0;
  for (const char* name :
       {"h200_2026-11-20_fit/traces/jax_resnet50-train-bf16-xla-b32",
        "cpu_2026-11-22_tensorflow_fit/traces/lenet5_train_b32_sync",
        "cpu_2026-11-22_tensorflow_fit/traces/lenet5_train_b32_async",
        "a100_2024-05-23_hta_holdout/traces/a100_event_sync",
        "h200_2026-11-22_ranks_holdout/traces/resnet50-train-amp-eager-b32-w2.rank0",
        "h200_2026-11-22_features_holdout/traces/resnet18-dataloader",
        "h200_2026-11-20_fit/traces/resnet50-train-amp-blocking-b32"}) {
    SCOPED_TRACE(name);
    const Advice advice = advice_on(advised(name));
    expect_ranked(advice);
    expect_nothing_dropped(advice);
    ++seen;
  }
  EXPECT_EQ(seen, 7);
}

TEST(Advise, EndsWaitsWhereThereAreSome) {
  const Advice loader =
      advice_on(advised("h200_2026-11-22_features_holdout/traces/resnet18-dataloader"));
  const AdvisedRow* input = row_of(loader, "no input wait");
  ASSERT_NE(input, nullptr);
  EXPECT_TRUE(has(input->why, "that a step waits for its input become 0.0 us")) << input->why;
  const Advice blocking =
      advice_on(advised("h200_2026-11-20_fit/traces/resnet50-train-amp-blocking-b32"));
  const AdvisedRow* async = row_of(blocking, "asynchronous launches");
  ASSERT_NE(async, nullptr);
  EXPECT_GT(async->speed_up.low, 1);
  EXPECT_TRUE(has(async->why, "waits for the GPU")) << async->why;
}

TEST(Advise, RanksOtherGpusOnRequest) {
  const Advice advice = advice_on(gpu_bound, {"a100_sxm4_80gb", "h200_sxm"});
  const AdvisedRow* a100 = row_of(advice, "a100_sxm4_80gb");
  ASSERT_NE(a100, nullptr);
  EXPECT_LT(a100->speed_up.value, 1);
  EXPECT_FALSE(a100->same_work);
  EXPECT_EQ(refusal_of(advice, "h200_sxm"), "the step runs on this GPU");
  EXPECT_THROW(advice_on(gpu_bound, {"h201"}), InputError);
}

TEST(Advise, GeneratesANetworkAnewForOtherLayoutsAndBatches) {
  ReplayOptions o = options(source_path("workloads/nets/resnet18-train.json"));
  o.what_ifs.set("gpu", "h200_sxm");
  o.what_ifs.set("batch", "32");
  const Advice advice = advice_on(o);
  EXPECT_TRUE(advice.generated);
  for (const char* name : {"as generated", "channels-last", "batch x2 (64)"}) {
    EXPECT_NE(row_of(advice, name), nullptr) << name;
  }
  const AdvisedRow* twice = row_of(advice, "batch x2 (64)");
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice->result.scenario.gpu, "h200_sxm");
  EXPECT_EQ(twice->result.scenario.batch, 64);
  // With these options `run` predicts the row: what was said of the network is among them, but for
  // what the row changes.
  EXPECT_EQ(twice->options, "--batch 64 --gpu h200_sxm");
  EXPECT_EQ(advice.base().options, "--gpu h200_sxm --batch 32");
  // Its kernels are off by what generated kernels are.
  EXPECT_LT(twice->speed_up.low, twice->speed_up.value);
  expect_nothing_dropped(advice);
}

TEST(Advise, RepeatsWhatWasSaidOfATrace) {
  ReplayOptions o = gpu_bound;
  o.traced_batch = 32;
  o.host = "xeon_gold_6248";
  const Advice advice = advice_on(o);
  EXPECT_EQ(advice.base().options, "--traced-batch 32 --host xeon_gold_6248");
}

TEST(Advise, IsTheSameOnAnyNumberOfThreads) {
  const AdviceSubject subject = load_subject(host_bound);
  const std::string one = advice_json(advise(subject, {}, 1)).dump();
  EXPECT_EQ(one, advice_json(advise(subject, {}, 2)).dump());
  EXPECT_EQ(advice_text(advise(subject, {}, 1)), advice_text(advise(subject, {}, 2)));
}

/// Keys of an object in their order.
std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> out;
  for (const auto& [key, value] : json.items()) out.push_back(key);
  return out;
}

TEST(AdviceJson, HasOneSchema) {
  ReplayOptions o = gpu_bound;
  o.job = {1.28e6, 3};
  const Json json = Json::parse(advice_json(advice_on(o)).dump());
  EXPECT_EQ(keys(json), (std::vector<std::string>{"schema", "tandem_version", "trace", "best",
                                                  "best_other_batch_or_gpu", "nothing_helps",
                                                  "rows", "refused"}));
  EXPECT_EQ(json["schema"], advice_schema);
  EXPECT_TRUE(json["nothing_helps"].is_boolean());
  ASSERT_GT(json["rows"].size(), 5U);
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(keys(row), (std::vector<std::string>{"name",
                                                   "how",
                                                   "options",
                                                   "is_base",
                                                   "combined",
                                                   "same_work",
                                                   "speed_up",
                                                   "why",
                                                   "notes",
                                                   "gpu",
                                                   "batch",
                                                   "passes",
                                                   "time_us",
                                                   "band",
                                                   "throughput_per_s",
                                                   "gpu_kernel_us",
                                                   "limited_by",
                                                   "memory_peak_bytes",
                                                   "fits",
                                                   "energy_per_sample_j",
                                                   "job"}));
    EXPECT_EQ(keys(row["speed_up"]), (std::vector<std::string>{"value", "low", "high"}));
    EXPECT_TRUE(row["fits"].is_boolean());
    // Hours, energy and price follow from the row's own throughput and energy.
    const double hours = 1.28e6 / row["throughput_per_s"].get<double>() / 3600;
    EXPECT_NEAR(row["job"]["hours"].get<double>(), hours, 1e-9 * hours);
    EXPECT_NEAR(row["job"]["price"].get<double>(), 3 * hours, 1e-8 * hours);
    const double kwh = 1.28e6 * row["energy_per_sample_j"].get<double>() / 3.6e6;
    EXPECT_NEAR(row["job"]["board_kwh"].get<double>(), kwh, 1e-9 * kwh);
  }
  ASSERT_GT(json["refused"].size(), 0U);
  EXPECT_EQ(keys(json["refused"][0]), (std::vector<std::string>{"name", "reason"}));
}

TEST(Advise, OfAJobNeedsABatch) {
  ReplayOptions o = no_shapes;
  o.job = {1e6, 0};
  try {
    advice_on(o);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_TRUE(has(error.what(), "--samples")) << error.what();
    EXPECT_TRUE(has(error.what(), "--traced-batch")) << error.what();
  }
}

}  // namespace
}  // namespace tandem
