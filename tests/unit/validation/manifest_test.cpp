// manifest.json of captures: what it says, and what counts as fitted.
#include "validation/compare/manifest.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/core/error.h"
#include "tests/expect_has.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

const std::string good_manifest =
    R"({"gpu": "g", "date": "d", "machine": "m", "versions": "v", "holds": "h",
  "measured": "how", "licence": "l", "used_for": [
  {"constants": "hosts/default", "use": "fitted", "captures": ["a-", "b-"], "what": "w"},
  {"constants": "hosts/default", "use": "seen", "captures": [], "what": "w"},
  {"constants": "kernels/batch", "use": "seen", "captures": ["a-"], "what": "w"}]})";

CaptureManifest load(const std::string& text) {
  return load_manifest(test::TempFile(text, "manifest.json").path());
}

std::string error_of(const std::string& from, const std::string& to) {
  std::string text = good_manifest;
  try {
    load(text.replace(text.find(from), from.size(), to));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Manifest, TheStrongestUseOfACaptureCounts) {
  const CaptureManifest m = load(good_manifest);
  EXPECT_EQ(m.gpu, "g");
  ASSERT_EQ(m.used_for.size(), 3u);
  EXPECT_EQ(use_of(m, "a-1", {"hosts/default"}), DataUse::fitted);
  EXPECT_EQ(use_of(m, "c-1", {"hosts/default"}), DataUse::seen);
  EXPECT_EQ(use_of(m, "a-1", {"kernels/batch"}), DataUse::seen);
  EXPECT_EQ(use_of(m, "b-1", {"kernels/batch"}), DataUse::holdout);
  EXPECT_EQ(use_of(m, "b-1", {"kernels/batch", "hosts/default"}), DataUse::fitted);
  EXPECT_EQ(use_of(m, "a-1", {"kernels/energy"}), DataUse::holdout);
  EXPECT_EQ(use_of(m, "a-1", {}), DataUse::holdout);
}

TEST(Manifest, UnknownMissingAndWrongKeysAreErrors) {
  EXPECT_HAS(error_of("\"gpu\"", "\"gpus\""), "unknown key \"gpus\"");
  EXPECT_HAS(error_of("\"gpu\": \"g\",", ""), "no key \"gpu\"");
  EXPECT_HAS(error_of("\"what\"", "\"why\""), "used_for.0: found unknown key \"why\"");
  EXPECT_HAS(error_of("\"fitted\"", "\"used\""), "used_for.0.use: found");
  EXPECT_HAS(error_of("\"fitted\"", "\"holdout\""), "one of: seen, fitted");
}

TEST(Manifest, EveryFolderOfCapturesHasOne) {
  const std::string root = source_dir();
  std::size_t folders = 0;
  for (const auto& entry : fs::directory_iterator(root + "/validation/captures")) {
    if (!entry.is_directory()) continue;
    const CaptureManifest m = load_manifest((entry.path() / "manifest.json").string());
    const bool known = m.gpu == "none" || fs::exists(root + "/configs/gpus/" + m.gpu + ".json");
    EXPECT_TRUE(known) << entry.path();
    for (const ConstantUse& use : m.used_for) {
      const bool rules = fs::is_directory(root + "/" + use.constants);
      EXPECT_TRUE(rules || fs::exists(root + "/configs/" + use.constants + ".json"))
          << use.constants;
    }
    ++folders;
  }
  EXPECT_GE(folders, 10u);
}

}  // namespace
}  // namespace tandem
