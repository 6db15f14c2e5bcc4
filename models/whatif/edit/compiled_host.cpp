#include "models/whatif/edit/compiled_host.h"

#include <cmath>
#include <string_view>

#include "models/ops/op_table.h"

namespace tandem {

std::vector<Field<CompiledHostLaw>> compiled_host_fields() {
  using L = CompiledHostLaw;
  std::vector<Field<L>> out;
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member));
  };
  us("reference_call_us",
     "median launch call under the profiler of the eager runs that the host times belong to",
     &L::reference_call_us);
  out.push_back(field<L>("carried_speed", "ratio",
                         "power of the trace's launch call over that one by which host times grow",
                         &L::carried_speed));
  us("generated_host_us",
     "host time before the launch call of a generated kernel, without the profiler",
     &L::generated_host_us);
  us("matmul_host_us", "... of a matrix product called by compiled code", &L::matmul_host_us);
  us("convolution_host_us", "... of a convolution", &L::convolution_host_us);
  us("convolution_backward_host_us", "... of its backward", &L::convolution_backward_host_us);
  us("attention_host_us", "... of an attention operation", &L::attention_host_us);
  us("further_host_us", "... of each further kernel of one operation", &L::further_host_us);
  us("region_host_us", "... to enter a compiled graph and to leave it: guards, prologue, epilogue",
     &L::region_host_us);
  us("parameter_host_us", "... for each parameter that takes a gradient, a graph",
     &L::parameter_host_us);
  out.push_back(
      field<L>("inference_host_share", "ratio",
               "these times in a step that takes no gradients over those in one that does",
               &L::inference_host_share));
  out.push_back(
      field<L>("script_host_share", "ratio",
               "host time before a forward operation in TorchScript over that in eager execution",
               &L::script_host_share));
  us("xla_host_us", "... of one kernel of an XLA executable", &L::xla_host_us);
  return out;
}

GradientNodes gradient_nodes(const Step& step, std::uint32_t passes) {
  GradientNodes nodes;
  const HostOps& ops = step.trace.ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string_view name = text_of(step.trace, ops.name[i]);
    if (has_engine_prefix(name) && op_row(without_engine_prefix(name)).is(stores_gradients)) {
      ++nodes.count, nodes.us += to_us(ops.duration[i]);
    }
  }
  nodes.count /= passes, nodes.us /= passes;
  return nodes;
}

CompiledHost::CompiledHost(const CompiledHostLaw& law, const Step& step, const HostModel& host,
                           bool executable, bool trains)
    : law_(law),
      host_(added_host(step, host)),
      executable_(executable),
      share_(trains ? 1 : law.inference_host_share) {}

double CompiledHost::work_us(double reference_us) const {
  return reference_us * share_ *
         std::pow(host_.traced_call_us / law_.reference_call_us, law_.carried_speed);
}

double CompiledHost::launch_us() const {
  return with_launch(executable_ ? law_.xla_host_us : law_.generated_host_us);
}

double CompiledHost::call_us(OpKind kind) const {
  if (executable_) return with_launch(law_.xla_host_us);
  switch (kind) {
    case OpKind::convolution: return with_launch(law_.convolution_host_us);
    case OpKind::convolution_backward: return with_launch(law_.convolution_backward_host_us);
    case OpKind::attention:
    case OpKind::attention_backward: return with_launch(law_.attention_host_us);
    default: return with_launch(law_.matmul_host_us);
  }
}

}  // namespace tandem
