// A step's launches as CUDA graphs: one for every stretch of it that no wait interrupts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/runtime/host_model.h"
#include "sim/core/error.h"
#include "sim/core/named.h"
#include "sim/engine/plan.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What part of a step CUDA graphs capture.
enum class GraphScope : std::uint8_t {
  step,                   // every stretch of the step in which the host waits for nothing
  forward_backward,       // forward and backward; the host issues the rest of the step as before
  forward_backward_only,  // the same of a program whose step is nothing else
};

std::span<const Named<GraphScope>> graph_scopes();
/// Errors: InputError that lists the scopes.
GraphScope parse_graph_scope(std::string_view text);

/// True for launches of kernels and of copies on the device, which a blocking run waits for.
bool launches_kernel(const Trace& trace, const Plan& step, const HostItem& item);

/// Puts the work of every stretch behind a graph launch of its own. What waits for the device and
/// copies of pageable memory stay between them, as do stretches that launch nothing. Losses:
/// `graph_captures_nothing`, `graph_split_at_waits`.
void capture_graphs(const Trace& trace, const HostModel& host, GraphScope scope, Plan& step,
                    LossList& losses);

/// One graph launch of a step and the items up to the next one that wait for the device or launch
/// work eagerly: what keeps the two apart.
struct GraphPiece {
  std::uint32_t launch = 0;  // index of Plan::items
  std::vector<std::uint32_t> apart;
};

std::vector<GraphPiece> graph_pieces(const Plan& step);

}  // namespace tandem
