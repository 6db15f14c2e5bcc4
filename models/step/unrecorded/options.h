// Options of operations that a trace did not record: reports of Nsight Systems, and PyTorch before
// 2.1, state the shapes of operands and no other arguments.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/error.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// How a window moves along one dimension.
struct WindowOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

/// The options with which a window of `taps` fits `results` times into `size`: the padding closest
/// to "same", and with it the smallest stride. Empty: there are none.
std::optional<WindowOptions> window_options(std::int64_t size, std::int64_t taps,
                                            std::int64_t results);

/// Gives convolutions without arguments the stride and padding that their result shows, which is as
/// large as the gradient of the backward operation with the same autograd number. Losses: those
/// that no backward operation shows, and attention that may be causal.
LossList infer_unrecorded_options(Trace& trace, const Links& links);

}  // namespace tandem
