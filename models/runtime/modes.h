// Execution modes as functions from one step to one step.
#pragma once

#include <span>
#include <string_view>

#include "models/runtime/graph_capture.h"
#include "models/runtime/host_model.h"
#include "models/runtime/measured_plan.h"
#include "sim/core/error.h"
#include "sim/core/named.h"
#include "sim/engine/plan.h"

namespace tandem {

enum class Mode : std::uint8_t { as_traced, eager_async, eager_sync, cuda_graph };

/// The only place where modes have names, for command line, sweeps, cases and `describe`.
std::span<const Named<Mode>> modes();
std::string_view to_string(Mode mode);

struct ModeOptions {
  Mode mode = Mode::as_traced;
  GraphScope graph_scope = GraphScope::step;
};

/// Rewrites the step for the mode. What the mode cannot represent is counted in `losses`.
void apply_mode(const Trace& trace, const HostModel& host, const ModeOptions& options, Plan& step,
                LossList& losses);

}  // namespace tandem
