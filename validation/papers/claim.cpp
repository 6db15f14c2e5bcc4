#include "validation/papers/claim.h"

#include <fmt/format.h>

#include <algorithm>

#include "validation/papers/rows.h"

namespace tandem {

namespace {

constexpr std::string_view take_names[] = {"each",        "mean",           "least",      "most",
                                           "first_above", "first_reaching", "correlation"};
constexpr std::string_view relation_names[] = {"=", "~", "<", "<=", ">", ">=", "range"};

void read_tolerance(const Json& json, const Place& place, Wanted& out) {
  struct Spelling {
    std::string key;
    ToleranceKind kind;
  };
  const Spelling spellings[] = {{"tolerance", ToleranceKind::absolute},
                                {"tolerance_percent", ToleranceKind::percent},
                                {"tolerance_factor", ToleranceKind::factor}};
  int found = 0;
  for (const auto& [key, kind] : spellings) {
    if (!json.contains(key)) continue;
    out.tolerance = number_of(json, place, key);
    out.tolerance_kind = kind;
    ++found;
    const double least = kind == ToleranceKind::factor ? 1 : 0;
    if (out.tolerance < least) (place / key).fail(describe_json(json[key]), "no less");
  }
  if (found > 1) place.fail("several tolerances", "one");
}

Wanted read_wanted(const Json& json, const Place& place) {
  allow_keys(json, place,
             {"is", "value", "high", "unit", "tolerance", "tolerance_percent", "tolerance_factor"});
  Wanted out;
  out.relation =
      static_cast<Relation>(read_choice(needed(json, place, "is"), place / "is", relation_names));
  out.value = number_of(json, place, "value");
  out.unit = text_of(json, place, "unit");
  read_tolerance(json, place, out);
  if (json.contains("high") != (out.relation == Relation::range)) {
    place.fail("\"high\" or a range without the other", "both or neither");
  }
  if (out.relation == Relation::range) {
    out.high = number_of(json, place, "high");
    if (out.high < out.value) (place / "high").fail(describe_json(json["high"]), "value or more");
  }
  return out;
}

ClaimCheck read_check(const Json& json, const Place& place, const RowReader& reader) {
  ClaimCheck check;
  check.place = place;
  needed(json, place, "metric");
  check.metric = names_of_metric(json, place, "metric");
  check.per = names_of_metric(json, place, "per");
  check.with = names_of_metric(json, place, "with");
  check.of = read_scenarios(needed(json, place, "of"), place / "of", reader);
  check.by = read_combination(json, place, reader, check.over);
  if (json.contains("take")) {
    check.take = static_cast<Take>(read_choice(json["take"], place / "take", take_names));
  }
  if (check.with.empty() == (check.take == Take::correlation)) {
    place.fail("\"with\" or take \"correlation\" without the other", "both or neither");
  }
  const bool first = check.take == Take::first_above || check.take == Take::first_reaching;
  if (first != json.contains("threshold")) {
    place.fail("\"threshold\" or a take that needs it without the other", "both or neither");
  }
  if (first) check.threshold = number_of(json, place, "threshold");
  check.wanted = read_wanted(needed(json, place, "wanted"), place / "wanted");
  return check;
}

}  // namespace

Claim read_claim(const Json& json, const Place& place, const RowReader& reader) {
  require_object(json, place);
  Claim claim;
  claim.id = text_of(json, place, "id");
  claim.section = text_of(json, place, "section");
  claim.quantity = text_of(json, place, "quantity");
  claim.note = text_or_nothing(json, place, "note");
  claim.why = text_or_nothing(json, place, "why");
  claim.fitted = text_or_nothing(json, place, "fitted");
  const auto check_keys = {"metric", "per",  "with",      "of",    "over",
                           "by",     "take", "threshold", "wanted"};
  if (json.contains("metric")) {
    allow_keys(json, place,
               {"id", "section", "quantity", "note", "why", "fitted", "metric", "per", "with", "of",
                "over", "by", "take", "threshold", "wanted"});
    claim.checks.push_back(read_check(json, place, reader));
    return claim;
  }
  allow_keys(json, place, {"id", "section", "quantity", "note", "why", "fitted", "checks"});
  if (!json.contains("checks")) {
    if (claim.why.empty()) place.fail("neither checks nor why there are none", "one of them");
    return claim;
  }
  const Json& checks = json["checks"];
  const Place below = place / "checks";
  if (!checks.is_array() || checks.empty()) below.fail(describe_json(checks), "a list of checks");
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Place at = below / std::to_string(i);
    require_object(checks[i], at);
    for (const auto& [key, value] : checks[i].items()) {
      if (std::find(check_keys.begin(), check_keys.end(), key) == check_keys.end()) {
        at.fail("unknown key \"" + key + "\"",
                fmt::format("one of: {}", fmt::join(check_keys, ", ")));
      }
    }
    claim.checks.push_back(read_check(checks[i], at, reader));
  }
  return claim;
}

std::string_view to_string(Relation relation) {
  return relation_names[static_cast<std::size_t>(relation)];
}

bool is_met(const Wanted& w, double value) {
  const double sign = w.value < 0 ? -1 : 1;
  double low = w.value - w.tolerance, high = w.value + w.tolerance;
  if (w.tolerance_kind == ToleranceKind::percent) {
    constexpr double percent = 0.01;
    low = w.value * (1 - sign * w.tolerance * percent);
    high = w.value * (1 + sign * w.tolerance * percent);
  } else if (w.tolerance_kind == ToleranceKind::factor) {
    low = w.value / w.tolerance;
    high = w.value * w.tolerance;
  }
  switch (w.relation) {
    case Relation::equal:
    case Relation::about: return value >= low && value <= high;
    case Relation::below: return value < high;
    case Relation::at_most: return value <= high;
    case Relation::above: return value > low;
    case Relation::at_least: return value >= low;
    case Relation::range: return value >= low && value <= w.high + (high - w.value);
  }
  return false;
}

}  // namespace tandem
