#include "sim/trace/source/stored_name.h"

#include <gtest/gtest.h>

#include "tests/import_files.h"

namespace tandem {
namespace {

TEST(StoredName, StemIsWhatStandsBeforeTheEnding) {
  EXPECT_EQ(stem_of("a/x.json", ".json"), "a/x");
  EXPECT_EQ(stem_of("a/x.json.gz", ".json"), "a/x");
  EXPECT_EQ(stem_of("a/x.json.zst", ".json"), "a/x");
  EXPECT_EQ(stem_of("a/x.csv.zst", ".json"), std::nullopt);
  EXPECT_EQ(stem_of("a/x.json.xz", ".json"), std::nullopt);
}

TEST(StoredName, TheMetaFileOfATraceIsNoTrace) {
  EXPECT_EQ(trace_stem("a/x.json.zst"), "a/x");
  EXPECT_EQ(trace_stem("a/x.meta.json"), std::nullopt);
}

TEST(StoredName, FindsAFileHoweverItIsStored) {
  for (const char* name : {"x.csv", "x.csv.gz", "x.csv.zst"}) {
    const test::TempFile file("1", name);
    const std::string plain = file.path().substr(0, file.path().rfind(".csv") + 4);
    EXPECT_EQ(find_stored(plain), file.path());
    EXPECT_EQ(find_stored(plain + "x"), std::nullopt);
  }
}

}  // namespace
}  // namespace tandem
