// What does not go with passes and layers that run again, and law files that cannot be used.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "models/whatif/edit/repeat_law.h"
#include "sim/core/error.h"
#include "sim/core/fields/field.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/replay_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using Asked = std::vector<std::pair<std::string, std::string>>;

std::string error_of(const Asked& asked) {
  test::TraceMaker m;
  m.step(0, 0, 100);
  const auto op = m.op("aten::mm", 8, 12);
  m.operands(op, {"[[64,64],[64,64]]", R"(["float","float"])", "", ""});
  m.launch(10, 5, 1);
  m.kernel(20, 8, 1);
  ReplayOptions o = test::as_traced();
  for (const auto& [option, value] : asked) o.what_ifs.set(option, value);
  try {
    replay(m.trace, o);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

void expect_error(const Asked& asked, const std::string& part) {
  const std::string error = error_of(asked);
  EXPECT_NE(error.find(part), std::string::npos) << part << "\n-> " << error;
  EXPECT_NE(error.find("expected"), std::string::npos) << error;
}

TEST(RepeatsBadInput, Passes) {
  expect_error({{"passes", "0"}}, "--passes");
  expect_error({{"passes", "-1"}}, "--passes");
  expect_error({{"passes", "two"}}, "\"two\"");
  expect_error({{"passes", "2"}}, "no backward pass");
}

TEST(RepeatsBadInput, Checkpoints) {
  expect_error({{"checkpoint", "yes"}}, "no backward pass");
  expect_error({{"checkpoint", "yes"}, {"compile", "inductor"}}, "a compiler beside it");
  expect_error({{"checkpoint", "yes"}, {"ranks", "2"}, {"shard", "yes"}}, "--shard beside it");
}

TEST(RepeatsBadInput, ALawThatLacksAConstant) {
  const std::string path = source_path("configs/kernels/repeats.json");
  Json law = read_json_file(path);
  law["constants"].erase("layer_again");
  const auto broken = std::filesystem::temp_directory_path() / "tandem_repeats_bad_input.json";
  std::ofstream(broken) << law.dump();
  try {
    load_repeat_law(broken.string());
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("layer_again"), std::string::npos) << e.what();
  }
  std::filesystem::remove(broken);
}

}  // namespace
}  // namespace tandem
