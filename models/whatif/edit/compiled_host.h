// Host time of compiled code without the profiler.
#pragma once

#include <vector>

#include "models/ops/op_table.h"
#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "models/whatif/edit/added_host.h"
#include "sim/core/fields/field.h"

namespace tandem {

/// Times in us, without the profiler, of the hosts whose eager runs' launch calls take
/// `reference_call_us`.
struct CompiledHostLaw {
  double reference_call_us = 0, carried_speed = 0;
  double generated_host_us = 0;
  double matmul_host_us = 0;
  double convolution_host_us = 0;
  double convolution_backward_host_us = 0;
  double attention_host_us = 0;
  double further_host_us = 0;
  double region_host_us = 0;
  double parameter_host_us = 0;
  double inference_host_share = 0;
  double script_host_share = 0;
  double xla_host_us = 0;
};
std::vector<Field<CompiledHostLaw>> compiled_host_fields();

/// The nodes that store gradients, which compiled code leaves to the framework: one a parameter in
/// each pass. Means of the passes.
struct GradientNodes {
  double count = 0;
  double us = 0;  // under the profiler
};
GradientNodes gradient_nodes(const Step& step, std::uint32_t passes);

/// Times in us, of a step of the host that `step` was traced on. A fixed time a launch (an
/// executable of XLA), or one by the kind of what is launched.
class CompiledHost {
 public:
  CompiledHost(const CompiledHostLaw& law, const Step& step, const HostModel& host, bool executable,
               bool trains);

  /// What takes `reference_us` on the reference host: a host that is slow at launch calls of the
  /// trace is slow at compiled code, as far as two processes on one machine agree.
  double work_us(double reference_us) const;
  /// A call of generated code with its launch.
  double launch_us() const;
  /// A call of a library with its first launch.
  double call_us(OpKind kind) const;
  /// A further launch of the same call.
  double further_us() const { return with_launch(law_.further_host_us); }

 private:
  double with_launch(double reference_us) const {
    return work_us(reference_us) + host_.launch_call_us;
  }

  const CompiledHostLaw& law_;
  AddedHost host_;
  bool executable_;
  double share_;  // of the times of a step that takes gradients
};

}  // namespace tandem
