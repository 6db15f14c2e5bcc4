// Files of claims that cannot be used.
#include <gtest/gtest.h>

#include "tests/claims_files.h"
#include "validation/papers/evaluate.h"

namespace tandem {
namespace {

using test::claim_row;
using test::claims_file;
using test::claims_of;

std::string claims_error(const std::string& text) {
  try {
    claims_of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_claims_error(const std::string& text, const std::string& part) {
  const std::string error = claims_error(text);
  EXPECT_NE(error.find(part), std::string::npos) << text << "\n-> " << error;
  EXPECT_NE(error.find("claims.json"), std::string::npos) << error;
  EXPECT_NE(error.find("expected"), std::string::npos) << error;
}

const std::string good_of = R"("metric": "gract", "of": "one")";
const std::string good_wanted = R"(, "wanted": {"is": "~", "value": 90, "unit": "%"})";

void expect_row_error(const std::string& check, const std::string& part) {
  expect_claims_error(claims_file(claim_row(check)), part);
}

TEST(ClaimsBadInput, TheGoodOneIsGood) {
  EXPECT_EQ(claims_error(claims_file(claim_row(good_of + good_wanted))), "");
}

TEST(ClaimsBadInput, FileAsAWhole) {
  expect_claims_error("[]", "expected an object");
  expect_claims_error("{", "");
  expect_claims_error(R"({"schema": "tandem.claims/2", "chapter": "c"})", "tandem.claims/1");
  expect_claims_error(R"({"schema": "tandem.claims/1"})", "no key \"chapter\"");
  expect_claims_error(claims_file("[]", R"(, "claim": [])"), "unknown key \"claim\"");
  expect_claims_error(claims_file("{}"), "a list");
  EXPECT_THROW(load_claims("nowhere", source_dir() + "/configs"), InputError);
}

TEST(ClaimsBadInput, Rows) {
  expect_claims_error(claims_file(R"([{"id": "C1", "section": "1"}])"), "no key \"quantity\"");
  expect_claims_error(claims_file(R"([{"id": "C1", "section": "1", "quantity": "q"}])"),
                      "neither checks nor why");
  expect_claims_error(
      claims_file(R"([{"id": "C1", "section": "1", "quantity": "q", "checks": []}])"),
      "a list of checks");
  expect_claims_error(claims_file(R"([{"id": "C1", "section": "1", "quantity": "q",
                              "checks": [{"metrics": "a"}]}])"),
                      "unknown key \"metrics\"");
  expect_row_error(good_of + good_wanted + R"(, "wnated": 1)", "unknown key \"wnated\"");
  expect_row_error(good_of, "no key \"wanted\"");
  expect_row_error(R"("metric": [], "of": "one")" + good_wanted, "names of numbers");
  expect_row_error(good_of + good_wanted + R"(, "over": {"blocks": 2})", "both or neither");
  expect_row_error(good_of + good_wanted + R"(, "by": "ratio")", "both or neither");
  expect_row_error(good_of + good_wanted + R"(, "take": "median")", "median");
  expect_row_error(good_of + good_wanted + R"(, "take": "first_above")", "threshold");
  expect_row_error(good_of + good_wanted + R"(, "with": "smact")", "correlation");
}

TEST(ClaimsBadInput, TheSameIdTwice) {
  const std::string row = R"({"id": "C1", "section": "1", "quantity": "q", "why": "w"})";
  try {
    claims_of(claims_file("[" + row + ", " + row + "]"));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("C1"), std::string::npos) << error.what();
  }
}

TEST(ClaimsBadInput, Wanted) {
  const auto wanted = [](const std::string& keys) {
    return good_of + R"(, "wanted": {)" + keys + "}";
  };
  expect_row_error(wanted(R"("is": "!=", "value": 1, "unit": "%")"), "!=");
  expect_row_error(wanted(R"("is": "=", "value": "1", "unit": "%")"), "a number");
  expect_row_error(wanted(R"("is": "=", "value": 1)"), "no key \"unit\"");
  expect_row_error(wanted(R"("is": "range", "value": 1, "unit": "%")"), "both or neither");
  expect_row_error(wanted(R"("is": "=", "value": 1, "high": 2, "unit": "%")"), "both or neither");
  expect_row_error(wanted(R"("is": "range", "value": 3, "high": 2, "unit": "%")"), "value or more");
  expect_row_error(wanted(R"("is": "=", "value": 1, "unit": "%", "tolerance": -1)"), "no less");
  expect_row_error(wanted(R"("is": "=", "value": 1, "unit": "%", "tolerance_factor": 0.5)"),
                   "no less");
  expect_row_error(
      wanted(R"("is": "=", "value": 1, "unit": "%", "tolerance": 1, "tolerance_percent": 1)"),
      "one");
}

TEST(ClaimsBadInput, Scenarios) {
  const auto of = [](const std::string& scenario) {
    return R"("metric": "gract", "of": )" + scenario + good_wanted;
  };
  expect_row_error(of("\"two\""), "one of the file's scenarios: one");
  expect_row_error(of(R"({"is": "two"})"), "one of the file's scenarios: one");
  expect_row_error(of("[]"), "scenarios");
  expect_row_error(of("3"), "an object");
  expect_row_error(of(R"({"networks": "resnet50"})"), "unknown key \"networks\"");
  expect_row_error(of(R"({"is": "one", "gpu": "h201"})"), "h200_sxm");
  expect_row_error(of(R"({"is": "one", "blocks": 0})"), "a positive whole number");
  expect_row_error(of(R"({"is": "one", "blocks": []})"), "values");
  expect_row_error(of(R"({"network": "resnet50", "batch": "most"})"), "whole number");
  expect_row_error(of(R"({"network": "resnet50", "precision": "fp4"})"), "fp32");
  expect_row_error(of(R"({"network": "resnet50", "task": "test"})"), "train, infer");
  expect_row_error(of(R"({"network": "resnet50", "mode": "fast"})"), "eager-async");
}

TEST(ClaimsBadInput, Figures) {
  const auto figure = [](const std::string& panel) {
    return claims_file("[]", R"(, "figures": [{"name": "f", "panels": [)" + panel + "]}]");
  };
  expect_claims_error(figure(R"({"title": "t"})"), "no key \"x_label\"");
  const std::string labels = R"("title": "t", "x_label": "x", "x_unit": "count", "y_label": "y",
                                "y_unit": "%", "x": "blocks", "y": "gract")";
  expect_claims_error(figure("{" + labels + R"(, "series": []})"), "no x, y or series");
  expect_claims_error(figure("{" + labels + R"(, "series": [{"name": "n"}]})"), "neither or both");
  expect_claims_error(figure("{" + labels + R"(, "series": [{"name": "n", "stated": [[1]]}]})"),
                      "[x, y]");
  EXPECT_EQ(claims_error(figure("{" + labels + R"(, "series": [{"name": "n", "of": "one"}]})")),
            "");
}

TEST(ClaimsBadInput, AUnitThatTheNumberCannotBeStatedIn) {
  Simulations simulations(source_dir());
  const Claims claims = claims_of(
      claims_file(claim_row(good_of + R"(, "wanted": {"is": "~", "value": 90, "unit": "ms"})")));
  EXPECT_THROW(evaluate_claims(claims.claims, simulations), InputError);
}

}  // namespace
}  // namespace tandem
