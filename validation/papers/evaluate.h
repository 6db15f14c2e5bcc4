// Claims against simulated scenarios: met, missed, not simulated, or met by a fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validation/compare/parallel.h"
#include "validation/papers/claim.h"
#include "validation/papers/simulations.h"

namespace tandem {

/// `fitted`: a constant was chosen so that the row comes out, which counts for nothing.
enum class ClaimVerdict : std::uint8_t { met, missed, not_simulated, fitted };
constexpr std::size_t claim_verdicts = 4;
std::string_view to_string(ClaimVerdict verdict);

/// What one scenario, or one and another, gave.
struct ScenarioValue {
  std::string scenario;
  double batch = 0;  // 0: it has none
  double value = 0;  // in the unit that is wanted, which is its own where a batch is taken
  double with = 0;   // of Take::correlation
};

struct CheckResult {
  std::vector<ScenarioValue> values;
  std::vector<double> taken;  // what is compared: one number, or one a scenario
  bool met = false;
  std::string absent;                // why it was not simulated; empty: it was
  std::vector<std::string> remarks;  // on scenarios that were left out, or that do not fit
};

struct ClaimResult {
  Claim claim;
  std::vector<CheckResult> checks;  // parallel to claim.checks
  ClaimVerdict verdict = ClaimVerdict::not_simulated;
  std::string reason;  // of a verdict other than met; of met, what is to be known about it
};

/// A scenario whose workload is not there is left out of a grid of several, which the remarks say;
/// where none is left, the check was not simulated. Errors: InputError for a unit that the number
/// of a check cannot be stated in.
CheckResult evaluate(const ClaimCheck& check, Simulations& simulations);

/// All rows, in parallel. Errors: as above.
std::vector<ClaimResult> evaluate_claims(const std::vector<Claim>& claims, Simulations& simulations,
                                         const Progress& progress = {});

/// One number of a pair of scenarios; `other` null with Combine::none. Nothing, and `lacking` said,
/// where it is not known.
std::optional<Number> number_of_pair(const SimulationOutcome& one, const SimulationOutcome* other,
                                     Combine by, const std::vector<std::string>& metric,
                                     const std::vector<std::string>& per, std::string& lacking);

}  // namespace tandem
