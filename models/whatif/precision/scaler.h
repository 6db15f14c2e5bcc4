// The gradient scaler of FP16 training: kernels and the wait it adds to a step.
#pragma once

#include <cstdint>
#include <vector>

#include "models/runtime/host_model.h"
#include "models/step/dataflow.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/precision/kernels.h"

namespace tandem {

/// Scales the loss, unscales and checks the gradients, waits for the verdict, updates the scale.
/// Nothing if the step has no backward pass. `gradients`: elements of all parameter gradients.
void add_gradient_scaler(const RetimeContext& context, const Dataflow& flow, const AddedHost& added,
                         const HostModel& host, double gradients, StepEdit& edit);

/// Operations of the scaler in a step that has one; ascending.
std::vector<std::uint32_t> gradient_scaler(const Dataflow& flow);
/// Takes those operations and the host's wait for them away.
void remove_gradient_scaler(const Dataflow& flow, const std::vector<std::uint32_t>& ops,
                            StepEdit& edit);
/// Turns the waits of the scaler's `.item()` into nothing, ahead of an edit.
void forget_scaler_wait(const Dataflow& flow, const std::vector<std::uint32_t>& ops, Step& step);

/// Elements of the gradients of all parameters, from the forward pass.
double gradient_elements(const Dataflow& flow);

}  // namespace tandem
