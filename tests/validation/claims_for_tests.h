// Published claims (validation/claims) against values that tandem computes or measures.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "sim/core/fields/field.h"

namespace tandem {

/// Values of a quantity, one per board, size or run: a claim holds if all of them lie in it.
using ClaimValues = std::map<std::string, std::vector<double>>;

inline void check_claim(const Json& claim, const std::vector<double>& values) {
  const auto id = claim["id"].get<std::string>(), quantity = claim["quantity"].get<std::string>();
  const auto unit = claim["unit"].get<std::string>(), why = claim["why"].get<std::string>();
  const double tolerance = claim["tolerance"].get<double>();
  const double least = claim["least"].get<double>() - tolerance;
  const double most = claim["most"].get<double>() + tolerance;
  const bool checked = claim["checked"].get<bool>();
  EXPECT_NE(checked, !why.empty()) << id << ": a claim that is not checked says why, others do not";
  std::string row = id + " " + quantity + ":";
  bool holds = true;
  for (const double v : values) {
    char text[32];
    std::snprintf(text, sizeof text, " %.4g", v);
    row += text;
    holds = holds && v >= least && v <= most;
  }
  const char* verdict = values.empty() ? "not decided" : holds ? "holds" : "does not hold";
  std::printf("%s %s, %s\n", row.c_str(), unit.c_str(), verdict);
  if (checked) {
    EXPECT_FALSE(values.empty()) << row;
    EXPECT_TRUE(holds) << row;
  }
}

/// Returns how many claims of the file were checked.
inline int check_claims(const std::string& path, const ClaimValues& values) {
  const Json file = read_json_file(path);
  int checked = 0;
  for (const Json& claim : file["claims"]) {
    const auto it = values.find(claim["quantity"].get<std::string>());
    check_claim(claim, it == values.end() ? std::vector<double>() : it->second);
    checked += claim["checked"].get<bool>();
  }
  return checked;
}

}  // namespace tandem
