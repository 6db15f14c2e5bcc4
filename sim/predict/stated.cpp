#include "sim/predict/stated.h"

#include <fmt/format.h>

#include "sim/core/error.h"

namespace tandem {

namespace {

constexpr std::int64_t most_counted = 1'000'000'000;
constexpr double least_memory_gb = 1e-6;
constexpr double most_memory_gb = 1e6;

void check_count(const std::optional<std::int64_t>& count, std::string_view file,
                 std::string_view name) {
  if (!count || (*count >= 1 && *count <= most_counted)) return;
  throw InputError(file, name, std::to_string(*count), fmt::format("1 to {}", most_counted));
}

}  // namespace

void check_stated(const StatedRun& stated, const StatedNames& names) {
  check_count(stated.steps, names.file, names.steps);
  check_count(stated.traced_batch, names.file, names.traced_batch);
  if (stated.steps && !stated.step.empty()) {
    throw InputError(names.file, names.steps, std::string(names.step) + " beside it",
                     "one of the two");
  }
  const auto gb = stated.peak_memory_gb;
  if (gb && !(*gb >= least_memory_gb && *gb <= most_memory_gb)) {
    throw InputError(names.file, names.peak_memory, fmt::format("{}", *gb),
                     fmt::format("gigabytes, {} to {}", least_memory_gb, most_memory_gb));
  }
  const auto seconds = stated.measured_step_s;
  if (seconds && !is_iteration(*seconds)) {
    throw InputError(names.file, names.measured_step, fmt::format("{}", *seconds),
                     fmt::format("seconds, {} to {}", shortest_iteration_s, longest_iteration_s));
  }
}

bool is_iteration(double seconds) {
  return seconds >= shortest_iteration_s && seconds <= longest_iteration_s;
}

}  // namespace tandem
