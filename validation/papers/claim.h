// Claims of papers as data: which number a paper states, and what is simulated to compare with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/field.h"
#include "validation/papers/settings.h"

namespace tandem {

inline constexpr std::string_view claims_schema = "tandem.claims/1";

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
  correlation,     // Pearson's, with those of the second metric
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
struct Check {
  Place place;
  std::vector<std::string> metric;
  std::vector<std::string> per;   // divides it; empty: nothing does
  std::vector<std::string> with;  // of Take::correlation
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
  std::string note;           // how the statement is read
  std::string why;            // why it is missed or not simulated
  std::vector<Check> checks;  // empty: nothing here simulates it, and `why` says so
};

/// A point that the papers give, in a figure.
struct StatedPoint {
  double x = 0, y = 0;
};

/// A line of a figure: scenarios in order, one number over another.
struct FigureSeries {
  std::string name;
  std::vector<Grid> of;
  Grid over;  // as in a Check
  Combine by = Combine::none;
  std::vector<StatedPoint> stated;  // in place of scenarios: what the paper gives
};

struct FigurePanel {
  Place place;
  std::string title;
  std::string x_label, y_label;
  std::vector<std::string> x, y;  // metrics; x may be the name of a setting
  std::vector<std::string> y_per;
  std::string y_unit, x_unit;
  bool log_x = false;
  std::vector<FigureSeries> series;
};

/// A figure of a paper, drawn from scenarios.
struct Figure {
  std::string name;  // of the file, without .svg
  std::vector<FigurePanel> panels;
};

struct Claims {
  std::vector<Claim> claims;
  std::vector<Figure> figures;
};

/// Every file of `folder`, in the order of their names. `configs`: the folder that GPUs are looked
/// up in. Errors: InputError `file:key: found X, expected Y` for a malformed row.
Claims load_claims(const std::string& folder, const std::string& configs);

}  // namespace tandem
