#include "sim/predict/scenario.h"

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
                    c.batch,
                    c.fusion,
                    c.precision,
                    c.retarget,
                    c.libraries,
                    c.layers,
                    c.collectives,
                    c.batch.memory_damping()};
  if (run.memory) in.memory = &*run.memory;
  in.knows_compiled_memory = run.compiled_memory.has_value();
  return in;
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
    return s;
  }
  s.second = second->traced_step;
  s.second_batch = second->summary.batch;
  const TransformInput other = input_of(*second, options.what_ifs);
  s.what_ifs = apply_transforms(first, &other, s);
  return s;
}

}  // namespace tandem
