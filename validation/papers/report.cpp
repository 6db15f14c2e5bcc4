#include "validation/papers/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sim/core/fields/field.h"

namespace tandem {

namespace {

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "none";
}

std::string tolerance_text(const Wanted& w) {
  if (w.tolerance == 0) return "";
  switch (w.tolerance_kind) {
    case ToleranceKind::absolute: return fmt::format(" +- {}", number(w.tolerance));
    case ToleranceKind::percent: return fmt::format(" +- {} % of it", number(w.tolerance));
    case ToleranceKind::factor: return fmt::format(" x/ {}", number(w.tolerance));
  }
  return "";
}

std::string wanted_text(const Wanted& w) {
  const std::string unit = w.unit == "ratio" ? "" : " " + w.unit;
  if (w.relation == Relation::range) {
    return fmt::format("{} to {}{}{}", number(w.value), number(w.high), unit, tolerance_text(w));
  }
  return fmt::format("{} {}{}{}", to_string(w.relation), number(w.value), unit, tolerance_text(w));
}

std::string taken_text(const CheckResult& result) {
  if (result.taken.empty()) return "-";
  const auto [least, most] = std::minmax_element(result.taken.begin(), result.taken.end());
  const std::string low = number(*least), high = number(*most);
  return low == high ? low : low + " to " + high;
}

std::string cell(const std::vector<std::string>& parts) {
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, "; "));
}

std::string row(const ClaimResult& r) {
  std::vector<std::string> wanted, taken;
  for (std::size_t i = 0; i < r.checks.size(); ++i) {
    wanted.push_back(wanted_text(r.claim.checks[i].wanted));
    taken.push_back(taken_text(r.checks[i]));
  }
  return fmt::format("| {} | {} {} | {} | {} | {} | {} | {} |\n", r.claim.id, r.claim.chapter,
                     r.claim.section, r.claim.quantity, cell(wanted), cell(taken),
                     to_string(r.verdict), r.reason);
}

std::string scenario_lines(const ClaimResult& r) {
  std::string text = fmt::format("\n{}: {}{}{}\n", r.claim.id, r.claim.quantity,
                                 r.claim.note.empty() ? "" : ". ", r.claim.note);
  for (const CheckResult& check : r.checks) {
    for (const ScenarioValue& v : check.values) {
      text += fmt::format("  {:>12}  {}\n", number(v.value), v.scenario);
    }
  }
  return text;
}

struct Counts {
  std::string chapter;
  std::array<int, claim_verdicts> of{};  // by verdict
  int all() const { return std::accumulate(of.begin(), of.end(), 0); }
};

std::vector<Counts> counts_by_chapter(const std::vector<ClaimResult>& results) {
  std::vector<Counts> counts;
  Counts sum{"all", {}};
  for (const ClaimResult& r : results) {
    if (counts.empty() || counts.back().chapter != r.claim.chapter) {
      counts.push_back({r.claim.chapter, {}});
    }
    ++counts.back().of[static_cast<std::size_t>(r.verdict)];
    ++sum.of[static_cast<std::size_t>(r.verdict)];
  }
  counts.push_back(sum);
  return counts;
}

Json json_of(const ClaimCheck& check, const CheckResult& result) {
  const Wanted& w = check.wanted;
  Json json{{"wanted", wanted_text(w)}, {"relation", to_string(w.relation)}, {"value", w.value}};
  if (w.relation == Relation::range) json["high"] = w.high;
  json["unit"] = w.unit;
  json["tolerance"] = w.tolerance;
  constexpr std::string_view kinds[] = {"absolute", "percent", "factor"};
  json["tolerance_kind"] = kinds[static_cast<std::size_t>(w.tolerance_kind)];
  json["met"] = result.met;
  const auto known = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json taken = Json::array();
  for (const double value : result.taken) taken.push_back(known(value));
  json["simulated"] = std::move(taken);
  if (!result.absent.empty()) json["not_simulated"] = result.absent;
  Json scenarios = Json::array();
  for (const ScenarioValue& v : result.values) {
    scenarios.push_back({{"scenario", v.scenario}, {"value", known(v.value)}});
  }
  json["scenarios"] = std::move(scenarios);
  return json;
}

}  // namespace

std::string claims_text(const std::vector<ClaimResult>& results, bool scenarios) {
  std::string text =
      "| claim | where | quantity | wanted | simulated | verdict | reason |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ClaimResult& r : results) text += row(r);
  text +=
      "\n| where | claims | met | missed | not simulated | fitted |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Counts& c : counts_by_chapter(results)) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", c.chapter, c.all(), c.of[0], c.of[1],
                        c.of[2], c.of[3]);
  }
  if (!scenarios) return text;
  for (const ClaimResult& r : results) text += scenario_lines(r);
  return text;
}

Json claims_json(const std::vector<ClaimResult>& results) {
  Json rows = Json::array();
  for (const ClaimResult& r : results) {
    Json checks = Json::array();
    for (std::size_t i = 0; i < r.checks.size(); ++i) {
      checks.push_back(json_of(r.claim.checks[i], r.checks[i]));
    }
    rows.push_back({{"id", r.claim.id},
                    {"chapter", r.claim.chapter},
                    {"section", r.claim.section},
                    {"quantity", r.claim.quantity},
                    {"note", r.claim.note},
                    {"verdict", to_string(r.verdict)},
                    {"reason", r.reason},
                    {"checks", std::move(checks)}});
  }
  Json chapters = Json::array();
  for (const Counts& c : counts_by_chapter(results)) {
    chapters.push_back({{"chapter", c.chapter},
                        {"claims", c.all()},
                        {"met", c.of[0]},
                        {"missed", c.of[1]},
                        {"not_simulated", c.of[2]},
                        {"fitted", c.of[3]}});
  }
  return {{"schema", claims_result_schema}, {"claims", rows}, {"counts", chapters}};
}

}  // namespace tandem
