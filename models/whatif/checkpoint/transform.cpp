#include "models/whatif/checkpoint/transform.h"

#include <algorithm>
#include <utility>

#include "models/step/memory/sharded_parameters.h"
#include "models/whatif/checkpoint/checkpointed.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/live_memory.h"
#include "models/whatif/edit/repeat_law.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField layers{"layers", "count", "layers that are computed again"};
constexpr ReportField kernels{"kernels", "count", "kernels and copies of them"};
constexpr ReportField again_us{"again_us", "us", "of the GPU in these"};
constexpr ReportField memory_ratio{"memory_ratio", "ratio",
                                   "of the peak of memory at the traced batch"};
constexpr ReportField all[] = {layers, kernels, again_us, memory_ratio};
}  // namespace says

/// Errors: InputError for what else is asked, or was traced, that does not go with it.
void check_asked(const TransformInput& in) {
  const std::string path(in.traced.path);
  if (in.asked.has("compile")) {
    throw InputError("command line", "--checkpoint", "a compiler beside it",
                     "one of both: a compiler decides by itself what is computed again");
  }
  if (in.asked.has("shard")) {
    throw InputError("command line", "--checkpoint", "--shard beside it",
                     "one of both: gathers of layers that run again are not modelled");
  }
  const Trace& trace = in.traced.step.trace;
  if (sharded_parameters(trace, in.traced.step.links).ranks > 1) {
    throw InputError(path, "--checkpoint", "sharded parameters",
                     "whole ones: gathers of layers that run again are not modelled");
  }
  const std::vector<bool> activations = exchanges_activations(in.traced.step);
  if (std::find(activations.begin(), activations.end(), true) != activations.end()) {
    throw InputError(path, "--checkpoint", "ranks that exchange activations",
                     "layers that a rank computes by itself");
  }
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  check_asked(in);
  CheckpointReport report;
  out.step = with_checkpoints(std::move(out.step), {in.repeats, in.host}, report);
  out.changed = true;
  const double ratio = change_live_memory(in, out);
  out.losses.add("checkpoint_unlike_layers", Severity::warning,
                 "weights between repeated layers that belong to none of these: what their "
                 "operations compute is taken to be kept",
                 report.unlike);
  TransformReport said;
  said.from = "kept";
  said.to = "computed again";
  said.expected_error = in.repeats.between_runs;
  said.values = {reported(says::layers, report.layers, true),
                 reported(says::kernels, report.kernels), reported(says::again_us, report.us),
                 reported(says::memory_ratio, ratio)};
  return said;
}

}  // namespace

Transform checkpoint_transform() {
  return {.name = "checkpoint",
          .json = "checkpoint",
          .doc =
              "activations of repeated layers computed again just before their gradients, so "
              "that the inputs of layers alone are kept (torch.utils.checkpoint)",
          .options = {{.name = "checkpoint",
                       .kind = OptionKind::flag,
                       .doc = "keep the inputs of repeated layers alone, compute the rest again",
                       .names = {asks_for_flag}}},
          .needs = {.pytorch = true},
          .each_base = true,
          .apply = apply};
}

ReportedObject checkpoint_report() {
  return {"checkpoint", "activations computed again", says::all};
}

}  // namespace tandem
