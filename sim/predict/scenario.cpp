#include "sim/predict/scenario.h"

#include <utility>

#include "models/whatif/compile/captured_attention.h"

namespace tandem {

namespace {

TransformInput input_of(const TracedRun& run, const WhatIfs& asked) {
  const Configs& c = run.configs;
  TransformInput in{{run.traced_step, run.summary.path, run.trace.framework,
                     run.gpu ? &*run.gpu : nullptr, run.summary.batch},
                    asked,
                    c.gpus,
                    c.host,
                    c.time,
                    c.costs,
                    c.batch,
                    c.fusion,
                    c.precision,
                    c.optimizer,
                    c.retarget,
                    c.libraries,
                    c.layers,
                    c.collectives,
                    c.fusion.host,
                    c.repeats,
                    c.precision.products,
                    c.batch.device_memory,
                    c.batch.floor_share_memory};
  if (run.memory) in.memory = &*run.memory;
  in.knows_compiled_memory = run.compiled_memory.has_value();
  return in;
}

/// What a CUDA graph of the step finds to capture. A compiler has decided on attention before.
void capture_attention(const TracedRun& run, const ReplayOptions& options, Scenario& s) {
  const WhatIfs& asked = options.what_ifs;
  if (options.mode.mode != Mode::cuda_graph || !s.gpu || asked.has("compile")) return;
  const Configs& c = run.configs;
  const AttentionPath path =
      asked.has("attention") ? parse_attention(asked.get("attention")) : AttentionPath::automatic;
  if (path == AttentionPath::masked) {
    throw InputError("command line", "--attention", "masked, with --mode cuda-graph",
                     "auto, keep or math: no fused kernel takes the mask that capture puts back");
  }
  CapturedAttention found;
  s.step = with_captured_attention(std::move(s.step), path, {*s.gpu, c.fusion, c.time, c.libraries},
                                   s.losses, &found);
  s.changed = s.changed || found.operations > 0;
  const double us = gpu_us(s.step);
  if (us > 0) s.untold_capture = {found.untold.more_us / us, found.untold.less_us / us};
}

}  // namespace

Scenario make_scenario(const TracedRun& run, const TracedRun* second,
                       const ReplayOptions& options) {
  Scenario s;
  s.step = run.traced_step;
  s.gpu = run.gpu;
  const TransformInput first = input_of(run, options.what_ifs);
  if (second == nullptr) {
    s.what_ifs = apply_transforms(first, nullptr, s);
    capture_attention(run, options, s);
    return s;
  }
  s.second = second->traced_step;
  s.second_batch = second->summary.batch;
  const TransformInput other = input_of(*second, options.what_ifs);
  s.what_ifs = apply_transforms(first, &other, s);
  capture_attention(run, options, s);
  return s;
}

}  // namespace tandem
