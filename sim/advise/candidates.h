// What may be tried on a step, as rows of one table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/runtime/modes.h"
#include "sim/predict/traced_run.h"

namespace tandem {

/// What a candidate decides: of one choice a step can have one. (`waits`: whether launches wait for
/// their kernels.)
enum class Choice : std::uint8_t { precision, waits, launch, input, layout, update, batch, gpu };

/// A step and what is predicted of it as it is.
struct AdviceBase {
  const TracedRun& run;
  const Result& result;
};

struct Candidate {
  std::string name;
  Choice choice = Choice::launch;
  std::string how;  // what to change in a program of PyTorch
  std::vector<std::pair<std::string, std::string>> what_ifs = {};  // option and value
  Mode mode = Mode::as_traced;
  double batch_factor = 0;     // times the batch of the step; 0: its own
  bool largest_batch = false;  // the batch is the largest that fits
  /// Why it cannot be tried or is what the step has already; nothing: it can be tried. What the
  /// what-ifs refuse they say themselves. Null: no more than that.
  std::optional<std::string> (*obstacle)(const AdviceBase& base) = nullptr;
};

/// All but other GPUs, in the order in which equals are listed.
std::span<const Candidate> candidates();

/// Another GPU.
Candidate gpu_candidate(const std::string& name);

/// The batch of a candidate. Nothing, and `refusal` says why, where there is none.
std::optional<std::int64_t> batch_of(const Candidate& candidate, const Result& base,
                                     std::string& refusal);

}  // namespace tandem
