// Claims of papers as data: which number a paper states, and what is simulated to compare with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/fields/field.h"
#include "validation/papers/settings.h"

namespace tandem {

/// What a number of one scenario and that of another make.
enum class Combine : std::uint8_t {
  none,
  ratio,       // one / other
  gain,        // one / other - 1
  saving,      // 1 - one / other
  difference,  // one - other
};

/// What is taken of the numbers of all scenarios.
enum class Take : std::uint8_t {
  each,            // every one must be as wanted
  mean,            //
  least,           //
  most,            //
  first_above,     // the batch of the first scenario above the threshold
  first_reaching,  // the batch of the first scenario that reaches threshold x the greatest number
  correlation,     // Pearson's, with the second metric
};

enum class Relation : std::uint8_t { equal, about, below, at_most, above, at_least, range };
std::string_view to_string(Relation relation);

enum class ToleranceKind : std::uint8_t {
  absolute,  // in the unit
  percent,   // of the value
  factor,    // value / factor to value x factor
};

/// What the paper states. Tolerances are those of the list of claims; see Claim::note.
struct Wanted {
  Relation relation = Relation::equal;
  double value = 0;
  double high = 0;  // of a range
  std::string unit;
  double tolerance = 0;
  ToleranceKind tolerance_kind = ToleranceKind::absolute;
};
bool is_met(const Wanted& wanted, double value);

/// One comparison. A metric is a sum of named numbers of a scenario, "-NAME" is subtracted.
struct ClaimCheck {
  Place place;
  std::vector<std::string> metric;
  std::vector<std::string> per;   // divides it; empty: nothing does
  std::vector<std::string> with;  // of Take::correlation: combined with `over`, as `metric` is not
  std::vector<Grid> of;           // the scenarios
  Grid over;  // what differs in those that they are combined with; empty with Combine::none
  Combine by = Combine::none;
  Take take = Take::each;
  double threshold = 0;
  Wanted wanted;
};

/// A row: a number that a paper states. It is met if all checks are.
struct Claim {
  std::string chapter;  // of the file: "thesis 4"
  std::string id;
  std::string section;
  std::string quantity;
  std::string note;                // how the statement is read
  std::string why;                 // why it is missed or not simulated
  std::string fitted;              // which constant was chosen on it; empty: a prediction
  std::vector<ClaimCheck> checks;  // empty: nothing here simulates it, and `why` says so
};

struct RowReader;

/// Errors: InputError `file:key: found X, expected Y` for a malformed row.
Claim read_claim(const Json& json, const Place& place, const RowReader& reader);

}  // namespace tandem
