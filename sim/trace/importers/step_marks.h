// How programs mark the steps of a run in a trace, one row a convention.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tandem {

/// An annotation on a host thread whose name begins with `prefix`. The number of the step stands in
/// its argument `argument`, or behind the prefix where no argument is named.
struct StepMark {
  std::string_view prefix;
  std::string_view argument;
};

inline constexpr std::array step_marks{
    StepMark{"ProfilerStep#", ""},  // torch.profiler with a schedule
    StepMark{"", "step_num"},  // tf.profiler.experimental.Trace, jax.profiler.StepTraceAnnotation
};

/// Begins the names of the annotations that PyTorch puts around the steps of an optimizer.
inline constexpr std::string_view optimizer_mark = "Optimizer.step#";

/// Whether an argument of this name may hold the number of a step.
constexpr bool is_step_argument(std::string_view key) {
  return std::any_of(step_marks.begin(), step_marks.end(), [&](const StepMark& mark) {
    return !mark.argument.empty() && mark.argument == key;
  });
}

/// The text of the number of the step that an event marks; empty if it marks none. `argument` is
/// the value of its step argument, empty if it has none.
constexpr std::string_view step_number(std::string_view name, std::string_view argument) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  for (const StepMark& mark : step_marks) {
    if (!name.starts_with(mark.prefix)) continue;
    if (!mark.argument.empty() && !argument.empty()) return argument;
    const std::string_view rest = name.substr(mark.prefix.size());
    if (mark.argument.empty() && is_number(rest)) return rest;
  }
  return {};
}

}  // namespace tandem
