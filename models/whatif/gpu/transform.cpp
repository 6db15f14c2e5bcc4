#include "models/whatif/gpu/transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/arch/gpu_config.h"
#include "models/runtime/host_model.h"
#include "models/whatif/gpu/numbers.h"
#include "models/whatif/gpu/retarget.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField from{"from", "text", "traced GPU"};
constexpr ReportField kernels_added{"kernels_added", "count", "kernels added"};
constexpr ReportField kernels_dropped{"kernels_dropped", "count", "kernels dropped"};
constexpr ReportField changed_share{"changed_share", "share",
                                    "of the GPU time by other algorithms or types"};
constexpr ReportField unmodelled_share{"unmodelled_share", "share",
                                       "of the GPU time without a model"};
constexpr ReportField all[] = {from, kernels_added, kernels_dropped, changed_share,
                               unmodelled_share};
}  // namespace says

TransformReport report_of(const RetargetReport& r, const std::string& from, const std::string& to) {
  TransformReport out;
  out.from = from;
  out.to = to;
  out.expected_error = r.expected_error;
  out.values = {
      reported(says::from, from),
      reported(says::kernels_added, r.added, true),
      reported(says::kernels_dropped, r.dropped, true),
      reported(says::changed_share, r.changed_share, true),
      reported(says::unmodelled_share, r.unmodelled_share, true),
  };
  return out;
}

/// Launches reach the device, and kernels follow each other, later or earlier by what was changed.
/// The traced gaps hold everything else; between two GPUs as they are, none is known to differ.
bool shift_gaps(const GpuArch& as_it_is, const GpuArch& changed, Plan& plan) {
  const Duration latency = from_us(changed.launch_latency_us - as_it_is.launch_latency_us);
  const Duration gap = from_us(changed.kernel_gap_us - as_it_is.kernel_gap_us);
  for (DeviceWork& work : plan.works) {
    work.latency = std::max(Duration::zero(), work.latency + latency);
    if (work.graph_node) continue;
    work.gap += gap;
    work.far_gap += gap;
  }
  return latency != Duration::zero() || gap != Duration::zero();
}

/// Before its numbers are changed.
const GpuArch& unchanged_target(const TransformInput& in) {
  const std::string name = in.asked.get("gpu");
  return name.empty() ? *in.traced.gpu : find_gpu(in.gpus, name);
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const GpuArch& from = *in.traced.gpu;
  const std::vector<std::string> overrides = in.asked.all("set");
  const GpuArch as_it_is = unchanged_target(in);
  const GpuArch to = target_gpu(in);
  require_used(overrides);
  out.gpu = to;
  if (to.name == from.name && overrides.empty()) return {};
  RetargetReport report;
  const double before_us = gpu_us(out.step);
  out.step = with_gpu(std::move(out.step),
                      {&from, &to, &in.time, in.floor_share, &in.libraries, &in.retarget,
                       in.host.launch_call_us, &in.collectives},
                      out.losses, &report);
  out.changed = true;
  const bool shifted = shift_gaps(as_it_is, to, out.step.plan);
  constexpr double noise = 1e-6;
  const bool same = !shifted && to.tdp_w == as_it_is.tdp_w &&
                    std::abs(gpu_us(out.step) - before_us) <= noise * before_us;
  out.losses.add(
      "gpu_change_without_effect", Severity::warning,
      "the numbers that were changed bound no kernel of the trace, or no law of its time "
      "uses them (configs/gpus/README.md)",
      same ? 1 : 0);
  std::string target = to.name;
  for (const std::string& one : overrides) target += " " + one;
  return report_of(report, from.name, target);
}

}  // namespace

GpuArch target_gpu(const TransformInput& in) {
  GpuArch gpu = unchanged_target(in);
  apply_overrides(gpu, in.asked.all("set"));
  return gpu;
}

Transform gpu_transform() {
  return {.name = "gpu",
          .json = "retarget",
          .doc =
              "another GPU, or other numbers of the traced one: every kernel is timed anew, "
              "libraries choose kernels again; the host stays",
          .options = {{.name = "gpu",
                       .kind = OptionKind::gpu,
                       .doc = "GPU to predict for; default: the traced one"},
                      {.name = "set",
                       .kind = OptionKind::assignments,
                       .doc = "override a GPU number, e.g. gpu.boost_clock_mhz=1900"}},
          .apply = apply};
}

ReportedObject gpu_report() {
  return {"retarget", "another GPU, or other numbers of it", says::all};
}

}  // namespace tandem
