// Which times of a trace are its steps, where the profiler's marks do not say or the user knows
// better.
#pragma once

#include <cstdint>
#include <string>

#include "sim/trace/links.h"

namespace tandem {

/// What the user says of the steps; neither: the marks, else what repeats itself.
struct StepChoice {
  std::string annotation;  // begins a step wherever it stands (outermost)
  std::int64_t count = 0;  // iterations in the trace
};

/// Replaces `links.steps` by the steps that `choice` asks for or, without marks, by the iterations
/// found in the sequence of device work; `links.steps_by` says which. A first iteration that is a
/// warm-up (other kernels, or much slower) is left out. Losses: `no_repetition`, `warm_up_step`,
/// `steps_not_alike`, `rest_after_last_mark`. Errors: InputError for an annotation that is not
/// there and a count that cannot be.
void choose_steps(const Trace& trace, const StepChoice& choice, Links& links);

std::string_view to_string(StepsBy by);

}  // namespace tandem
