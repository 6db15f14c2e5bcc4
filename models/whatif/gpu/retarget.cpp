#include "models/whatif/gpu/retarget.h"

#include <utility>
#include <vector>

#include "models/kernel/launch_rules.h"
#include "models/kernel/time/kernel_time.h"
#include "models/ops/op_table.h"
#include "models/step/launches.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/gpu/retimed.h"

namespace tandem {

namespace {

/// Transforms to and from the layout of tensor-core convolutions, which the traced GPU did without.
void add_transforms(std::uint32_t work, const KernelLaunch& launch, const RetargetOptions& o,
                    StepEdit& edit, RetargetReport& report) {
  if (launch.tensors.size() < 2) return;
  const auto add = [&](const TensorShape& t, bool before) {
    TimedLaunch move;
    move.law = TimeLaw::memory;
    move.bytes = 2.0 * static_cast<double>(t.elements()) * element_bytes(DataType::fp32);
    NewKernel k;
    k.kernel =
        o.names->kernel(before ? LibraryUse::to_channels_last : LibraryUse::to_channels_first);
    k.op = launch.op;
    k.geometry = transform_geometry(t);
    k.duration_us = kernel_time(move, *o.to, *o.time).time_us;
    k.host_us = o.launch_call_us;
    before ? edit.insert_before(work, k) : edit.insert_after(work, k);
    ++report.added;
  };
  const std::size_t image = op_row(launch.op).backward ? 1 : 0;
  const TensorShape& input = launch.tensors[image];
  const TensorShape& weight = launch.tensors[image + 1];
  if (input.rank != image_rank || weight.rank != image_rank) return;
  if (weight.dims[2] * weight.dims[3] == 1) return;  // runs as a plain product
  add(input, true);
  if (image == 1 && launch.tensors[0].rank == image_rank) add(launch.tensors[0], true);
  TensorShape result = input;
  result.dims[1] = weight.dims[0];
  add(launch.traits.pass == Pass::weight_gradient  ? weight
      : launch.traits.pass == Pass::input_gradient ? input
                                                   : result,
      false);
}

/// Data of a collective moves over the other GPU's links.
double collective_us(const RetargetOptions& o, const Trace& trace, std::uint32_t activity,
                     Duration traced) {
  if (o.collectives == nullptr) return to_us(traced);
  const Collective& c = *collective_of(trace, activity);
  const double ratio =
      collective_ratio(*o.collectives, trace, activity, *o.from, c, {*o.to, ranks_of(trace, c)});
  return to_us(traced) * (ratio > 0 ? ratio : 1);
}

/// What is counted on the way through the works; sums of times become shares at the end.
struct Tally {
  double total_us = 0, error_us = 0, changed_us = 0, unmodelled_us = 0;
  std::int64_t unmodelled = 0, unknown = 0, tf32 = 0, too_large = 0, at_peak = 0;

  void add(const Retimed& k, double us) {
    total_us += us;
    changed_us += k.changed ? us : 0;
    unmodelled_us += k.modelled ? 0 : us;
    unmodelled += !k.known;
    too_large += !k.fits;
    at_peak += k.known && !k.absolute && k.least_us > 0 && us <= k.least_us;
    unknown += k.known && !k.modelled;
    error_us += us * k.error;
  }
};

void count_losses(const Tally& tally, const RetargetReport& report, LossList& losses) {
  losses.add("kernels_of_unknown_kind", Severity::warning,
             "kernels whose names no rule knows: re-timed as if they only moved bytes",
             tally.unknown);
  losses.add("kernels_not_retimed", Severity::warning,
             "kernels and copies without a time model: they keep their measured time on another "
             "GPU",
             tally.unmodelled);
  losses.add("blocks_do_not_fit", Severity::warning,
             "kernels a block of which the other GPU's SM cannot hold, by registers, threads or "
             "shared memory: they keep the time of one that could",
             tally.too_large);
  losses.add(
      "kernels_at_peak", Severity::info,
      "products that would beat the peak of the other GPU's pipes if their measured lead over "
      "the model carried over whole: they take what the peak allows",
      tally.at_peak);
  losses.add(
      "tf32_convolutions", Severity::info,
      "FP32 convolutions in TF32, PyTorch's default where the GPU has it; products stay FP32",
      tally.tf32);
  losses.add("host_as_traced", Severity::info,
             "the host of the scenario is the traced one; only the GPU changes", 1);
  losses.add("transforms_added", Severity::info,
             "layout transforms that the other GPU's convolutions need", report.added);
  losses.add("transforms_dropped", Severity::info,
             "layout transforms that the other GPU's convolutions do without", report.dropped);
}

void retime_collective(std::uint32_t work, const Step& step, const RetargetOptions& o,
                       StepEdit& edit, Tally& tally) {
  const DeviceWork& moved = step.plan.works[work];
  const double us = collective_us(o, step.trace, moved.source, moved.duration);
  edit.set_duration(work, from_us(us));
  tally.total_us += us;
  tally.error_us += us * o.errors->other_work;
}

void retime_kernel(std::uint32_t work, const Step& step, const RetargetOptions& o,
                   RetimedLaunches& launches, StepEdit& edit, Tally& tally,
                   RetargetReport& report) {
  const std::uint32_t activity = step.plan.works[work].source;
  const Retimed& k = launches.of(activity);
  if (k.dropped) {
    edit.drop(work);
    ++report.dropped;
    return;
  }
  const double us = launches.predicted_us(k, to_us(step.plan.works[work].duration));
  edit.set_duration(work, from_us(us));
  if (k.renamed) {
    edit.set_kernel(work, k.kernel);
    edit.set_geometry(work, k.geometry);
  }
  if (k.changed && k.type == DataType::tf32) {
    add_transforms(work, launches.launch(activity), o, edit, report);
    ++tally.tf32;
  }
  tally.add(k, us);
}

}  // namespace

Step with_gpu(Step step, const RetargetOptions& o, LossList& losses, RetargetReport* report) {
  RetargetReport r;
  Tally tally;
  RetimedLaunches launches(step, o);
  StepEdit edit(step, o.launch_call_us);
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    if (step.trace.activities.collective[step.plan.works[w].source].valid()) {
      retime_collective(w, step, o, edit, tally);
    } else {
      retime_kernel(w, step, o, launches, edit, tally, r);
    }
  }
  if (tally.total_us > 0) {
    r.changed_share = tally.changed_us / tally.total_us;
    r.unmodelled_share = tally.unmodelled_us / tally.total_us;
    r.expected_error = tally.error_us / tally.total_us;
  }
  count_losses(tally, r, losses);
  if (report != nullptr) *report = r;
  return std::move(edit).finish();
}

}  // namespace tandem
