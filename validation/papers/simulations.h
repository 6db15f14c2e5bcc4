// The scenarios of claims and figures, each simulated once, whoever asks first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "validation/compare/once_map.h"
#include "validation/compare/predictions.h"
#include "validation/papers/numbers.h"

namespace tandem {

/// What one scenario came to.
struct SimulationOutcome {
  Numbers numbers;
  std::string absent;                // why it was not simulated; empty: it was
  bool lacks_workload = false;       // there is no such network or trace
  std::vector<std::string> remarks;  // what a reader of the numbers should know
};

/// May be asked from several threads.
class Simulations {
 public:
  /// `root`: of configs/, workloads/nets/ and validation/captures/.
  explicit Simulations(std::string root);

  /// The scenario at a batch: settings.h says which ones are found.
  Point at_batch(const Point& scenario);
  /// Of a scenario whose batch is a number. What cannot be simulated is said in the outcome.
  const SimulationOutcome& of(const Point& scenario);

 private:
  SimulationOutcome simulate(const Point& scenario);
  SimulationOutcome simulate_step(const Point& scenario);
  bool fits(const Point& scenario, std::int64_t batch);
  std::int64_t find_largest(const Point& scenario);

  std::string root_;
  Replays replays_;
  OnceMap<Point, SimulationOutcome> outcomes_;
  OnceMap<Point, std::int64_t> largest_;
};

}  // namespace tandem
