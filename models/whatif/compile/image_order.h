// In which order compiled code keeps images: channels last, or as the program had them.
#pragma once

#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/compile/groups.h"
#include "models/whatif/compile/inductor/fusion_law.h"

namespace tandem {

struct ImageOrder {
  /// Everywhere: the compiler prefers it (rules of TorchInductor, decide_layout_opt: few
  /// convolutions among many other operations speak against it; in training a grouped one that is
  /// not depthwise, few output channels and small layers, too; in inference their share of the work
  /// does), or the program put its weights or all its images into it.
  bool channels_last = false;
  /// Else, by index of Dataflow::tensors: those of the forward pass whose channels are last.
  std::vector<bool> tensors;
};

ImageOrder image_order(const Step& step, const Dataflow& flow, const FusionPlan& plan,
                       const FusionLaw& law);

}  // namespace tandem
