#include "validation/papers/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tandem {

namespace {

constexpr std::string_view verdict_names[] = {"met", "missed", "not simulated", "fitted"};

std::optional<Number> number_of(const SimulationOutcome& outcome,
                                const std::vector<std::string>& metric,
                                const std::vector<std::string>& per, std::string& lacking) {
  const std::optional<Number> sum = sum_of(outcome.numbers, metric, lacking);
  if (!sum || per.empty()) return sum;
  const std::optional<Number> whole = sum_of(outcome.numbers, per, lacking);
  if (!whole) return {};
  return Number{sum->value / whole->value, sum->unit == whole->unit ? "ratio" : sum->unit};
}

/// A scenario and the one that it is combined with.
struct Pair {
  Point one;
  std::optional<Point> other;
};

std::vector<Pair> pairs_of(const ClaimCheck& check, Simulations& simulations) {
  std::vector<Pair> pairs;
  for (const Grid& grid : check.of) {
    for (const Point& one : scenarios_of(grid)) {
      if (check.by == Combine::none) {
        pairs.push_back({simulations.at_batch(one), {}});
        continue;
      }
      for (const Point& other : scenarios_of(merged(grid_of(one), check.over))) {
        pairs.push_back({simulations.at_batch(one), simulations.at_batch(other)});
      }
    }
  }
  return pairs;
}

void add_remark(const std::string& remark, std::vector<std::string>& remarks) {
  if (std::find(remarks.begin(), remarks.end(), remark) == remarks.end()) {
    remarks.push_back(remark);
  }
}

/// Whether what is taken of the scenarios is one of their batches, not their numbers.
bool takes_batch(Take take) { return take == Take::first_above || take == Take::first_reaching; }

double stated(const Number& number, const ClaimCheck& check) {
  const auto value = in_unit(number, check.wanted.unit);
  if (value) return *value;
  (check.place / "wanted" / "unit")
      .fail("\"" + check.wanted.unit + "\"",
            "a unit that \"" + number.unit + "\" can be stated in");
}

/// In the unit that is wanted, where the batch is.
double stated_batch(const Number& batch, const ClaimCheck& check) {
  return takes_batch(check.take) ? stated(batch, check) : batch.value;
}

/// Whether the pair was simulated; else `out` says why not.
bool add_value(const ClaimCheck& check, const Pair& pair, const SimulationOutcome& one,
               const SimulationOutcome* other, CheckResult& out) {
  ScenarioValue value;
  value.scenario = to_text(pair.one);
  if (pair.other) value.scenario += " over " + to_text(*pair.other);
  const auto batch = one.numbers.find("batch");
  if (batch != one.numbers.end()) value.batch = stated_batch(batch->second, check);
  const bool correlated = check.take == Take::correlation;
  const auto number = number_of_pair(one, correlated ? nullptr : other, check.by, check.metric,
                                     check.per, out.absent);
  if (!number) return false;
  value.value = correlated || takes_batch(check.take) ? number->value : stated(*number, check);
  if (correlated) {
    const auto with = number_of_pair(one, other, check.by, check.with, check.per, out.absent);
    if (!with) return false;
    value.with = with->value;
  }
  out.values.push_back(std::move(value));
  return true;
}

double correlation(const std::vector<ScenarioValue>& values) {
  const auto n = static_cast<double>(values.size());
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (const ScenarioValue& v : values) {
    x += v.value / n;
    y += v.with / n;
  }
  for (const ScenarioValue& v : values) {
    xx += (v.value - x) * (v.value - x);
    yy += (v.with - y) * (v.with - y);
    xy += (v.value - x) * (v.with - y);
  }
  return xy / std::sqrt(xx * yy);
}

/// NaN: none is above.
double first_batch_above(const std::vector<ScenarioValue>& values, double threshold) {
  const auto first = std::find_if(values.begin(), values.end(),
                                  [&](const auto& v) { return v.value >= threshold; });
  return first == values.end() ? std::numeric_limits<double>::quiet_NaN() : first->batch;
}

std::vector<double> take(const ClaimCheck& check, const std::vector<ScenarioValue>& values) {
  std::vector<double> all;
  for (const ScenarioValue& v : values) all.push_back(v.value);
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  switch (check.take) {
    case Take::each: return all;
    case Take::mean: return {std::accumulate(all.begin(), all.end(), 0.0) / double(all.size())};
    case Take::least: return {*least};
    case Take::most: return {*most};
    case Take::first_above:
      return {first_batch_above(values, std::nextafter(check.threshold, 1e300))};
    case Take::first_reaching: return {first_batch_above(values, check.threshold * *most)};
    case Take::correlation: return {correlation(values)};
  }
  return {};
}

std::string in_one_line(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, "; "));
}

ClaimResult evaluate_claim(const Claim& claim, Simulations& simulations) {
  ClaimResult result;
  result.claim = claim;
  bool all_met = true, any_missed = false;
  std::vector<std::string> absent, remarks;
  for (const ClaimCheck& check : claim.checks) {
    result.checks.push_back(evaluate(check, simulations));
    const CheckResult& r = result.checks.back();
    all_met = all_met && r.met;
    any_missed = any_missed || (!r.met && r.absent.empty());
    if (!r.absent.empty()) add_remark(r.absent, absent);
    for (const std::string& remark : r.remarks) add_remark(remark, remarks);
  }
  if (claim.checks.empty()) {
    result.reason = claim.why;
    return result;
  }
  result.verdict = all_met      ? ClaimVerdict::met
                   : any_missed ? ClaimVerdict::missed
                                : ClaimVerdict::not_simulated;
  if (result.verdict == ClaimVerdict::met && !claim.fitted.empty()) {
    result.verdict = ClaimVerdict::fitted;
  }
  if (result.verdict == ClaimVerdict::not_simulated) {
    remarks.insert(remarks.begin(), absent.begin(), absent.end());
  } else if (result.verdict == ClaimVerdict::missed) {
    remarks.insert(remarks.begin(), claim.why.empty() ? "no reason is known" : claim.why);
  } else if (!claim.note.empty()) {  // met as it was read
    remarks.insert(remarks.begin(), claim.note);
  }
  if (!claim.fitted.empty()) remarks.insert(remarks.begin(), "fitted: " + claim.fitted);
  result.reason = in_one_line(remarks);
  return result;
}

}  // namespace

std::string_view to_string(ClaimVerdict verdict) {
  return verdict_names[static_cast<std::size_t>(verdict)];
}

std::optional<Number> number_of_pair(const SimulationOutcome& one, const SimulationOutcome* other,
                                     Combine by, const std::vector<std::string>& metric,
                                     const std::vector<std::string>& per, std::string& lacking) {
  const std::optional<Number> a = number_of(one, metric, per, lacking);
  if (!a || other == nullptr) return a;
  const std::optional<Number> b = number_of(*other, metric, per, lacking);
  if (!b) return {};
  switch (by) {
    case Combine::none: return a;
    case Combine::ratio: return Number{a->value / b->value, "ratio"};
    case Combine::gain: return Number{a->value / b->value - 1, "ratio"};
    case Combine::saving: return Number{1 - a->value / b->value, "ratio"};
    case Combine::difference: return Number{a->value - b->value, a->unit};
  }
  return {};
}

CheckResult evaluate(const ClaimCheck& check, Simulations& simulations) {
  CheckResult out;
  std::string no_workload;
  for (const Pair& pair : pairs_of(check, simulations)) {
    const SimulationOutcome& one = simulations.of(pair.one);
    const SimulationOutcome* other = pair.other ? &simulations.of(*pair.other) : nullptr;
    bool left_out = false;
    for (const SimulationOutcome* outcome : {&one, other}) {
      if (outcome == nullptr) continue;
      for (const std::string& remark : outcome->remarks) add_remark(remark, out.remarks);
      if (outcome->absent.empty()) continue;
      if (!outcome->lacks_workload) out.absent = outcome->absent;
      no_workload = outcome->lacks_workload ? outcome->absent : no_workload;
      left_out = true;
    }
    if (left_out && out.absent.empty()) add_remark("without it: " + no_workload, out.remarks);
    if (!out.absent.empty()) return out;
    if (!left_out && !add_value(check, pair, one, other, out)) return out;
  }
  if (out.values.empty()) {
    out.absent = no_workload;
    out.remarks.clear();
    return out;
  }
  out.taken = take(check, out.values);
  out.met = std::all_of(out.taken.begin(), out.taken.end(),
                        [&](double v) { return is_met(check.wanted, v); });
  return out;
}

std::vector<ClaimResult> evaluate_claims(const std::vector<Claim>& claims, Simulations& simulations,
                                         const Progress& progress) {
  std::vector<ClaimResult> results(claims.size());
  in_parallel(claims.size(), progress,
              [&](std::size_t i) { results[i] = evaluate_claim(claims[i], simulations); });
  return results;
}

}  // namespace tandem
