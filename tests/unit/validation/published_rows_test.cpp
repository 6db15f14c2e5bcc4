// What `validate --json` writes holds what is published of it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/cli/schema/schemas.h"
#include "sim/report/fields/published.h"
#include "validation/compare/compare.h"

namespace tandem {
namespace {

TEST(PublishedFields, OfValidation) {
  CaseResult one;
  one.rows.emplace_back();
  one.rows.emplace_back().band.emplace();
  const Json json = rows_json({one});
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(Published(validation_fields()).differences(json), std::vector<std::string>{});
}

}  // namespace
}  // namespace tandem
