// Constants and traces of eager runtimes with an executor.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "models/runtime/executor_model.h"
#include "sim/core/fields/field.h"
#include "sim/predict/predict.h"
#include "tests/bad_input/messages.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/executor_for_tests.h"

namespace tandem {
namespace {

using test::has;
using test::message_of;

Json committed() { return read_json_file(source_path("configs/hosts/executor/tensorflow.json")); }

std::string load_error(const Json& json) {
  const test::TempFile file(json.dump(), "executor.json");
  return message_of([&] { load_executor_model(file.path()); });
}

TEST(ExecutorBadInput, ConstantsNameWhatIsMissingOrUnknown) {
  Json json = committed();
  json["constants"].erase("wake_us");
  EXPECT_TRUE(has(load_error(json), "no key \"wake_us\"")) << load_error(json);
  json = committed();
  json["sleep"] = 1;
  EXPECT_TRUE(has(load_error(json), "unknown key \"sleep\"")) << load_error(json);
  json = committed();
  json.erase("read_back");
  EXPECT_TRUE(has(load_error(json), "no key \"read_back\"")) << load_error(json);
  json = committed();
  json["read_back"]["value"]["Conv2D"] = 3;
  EXPECT_TRUE(has(load_error(json), "read_back.value.Conv2D")) << load_error(json);
  json = committed();
  json["read_back"]["value"]["Conv2D"]["Relu"] = -1;
  EXPECT_TRUE(has(load_error(json), "Conv2D.Relu")) << load_error(json);
}

std::string replay_error(const std::string& file, const std::string& option,
                         const std::string& value) {
  return message_of([&] {
    ReplayOptions o;
    o.trace_path = file;
    o.configs = source_path("configs");
    o.what_ifs.set(option, value);
    replay(o);
  });
}

TEST(ExecutorBadInput, WhatIfsThatNeedDeviceWorkSayWhy) {
  const test::TempFile file(test::executor_file(test::asynchronous_events()));
  std::size_t checked = 0;
  for (const auto& [option, value] : {std::pair{"precision", "amp"}, std::pair{"compile", "xla"},
                                      std::pair{"gpu", "v100_sxm2_32gb"}}) {
    const std::string text = replay_error(file.path(), option, value);
    EXPECT_TRUE(has(text, option)) << text;
    EXPECT_TRUE(has(text, "found a trace")) << text;
    ++checked;
  }
  EXPECT_EQ(checked, 3u);
}

TEST(ExecutorBadInput, ABatchNeedsASecondTrace) {
  const test::TempFile file(test::executor_file(test::asynchronous_events()));
  const std::string text = replay_error(file.path(), "batch", "16");
  EXPECT_TRUE(has(text, "--base")) << text;
}

TEST(ExecutorBadInput, ModesOfDeviceWorkAreRefusedOrHarmless) {
  const test::TempFile file(test::executor_file(test::asynchronous_events()));
  ReplayOptions o;
  o.trace_path = file.path();
  o.configs = source_path("configs");
  o.mode.mode = Mode::cuda_graph;
  const Replay r = replay(o);
  EXPECT_EQ(r.prediction.result.losses.count("graph_captures_nothing"), 1);
}

}  // namespace
}  // namespace tandem
