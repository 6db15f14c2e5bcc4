// What a person says of a traced run beside its trace, as options or as keys of an experiment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// Nothing, or empty: not said.
struct StatedRun {
  std::optional<std::int64_t> steps;  // that the trace holds
  std::string step;                   // the annotation that begins each
  std::optional<std::int64_t> traced_batch;
  std::optional<double> peak_memory_gb;
  std::optional<double> measured_step_s;
};

/// Where it stands, for errors.
struct StatedNames {
  std::string_view file, steps, step, traced_batch, peak_memory, measured_step;
};
inline constexpr StatedNames as_options{"command line",   "--steps",       "--step",
                                        "--traced-batch", "--peak-memory", "--measured-step"};

/// Errors: InputError for numbers that no run has, and for two ways to find its steps.
void check_stated(const StatedRun& stated, const StatedNames& names);

/// What an iteration may last.
inline constexpr double shortest_iteration_s = 1e-6, longest_iteration_s = 1e4;
bool is_iteration(double seconds);

}  // namespace tandem
