#include "sim/check/limits.h"

#include "sim/core/fields/constants.h"

namespace tandem {

namespace {

std::vector<Field<CheckLimits>> make_fields() {
  using L = CheckLimits;
  const auto row = [](std::string_view name, std::string_view unit, std::string_view doc,
                      double L::*member) {
    return field<L>(name, unit, doc, member, Range::non_negative);
  };
  return {
      row("clock_tolerance_us", "us", "a kernel before its launch, or after the wait for it",
          &L::clock_tolerance_us),
      row("silent_end", "ratio",
          "of the last step in which the host records nothing, beyond that of the step before it",
          &L::silent_end),
      row("drift_ppm", "ppm", "rate of one clock against the other", &L::drift_ppm),
      row("drift_us", "us", "what the clocks part by over the trace", &L::drift_us),
      row("drift_errors", "count", "standard errors of the slope that it must exceed",
          &L::drift_errors),
      row("lost_share", "ratio", "of launches or kernels without partner: wrong", &L::lost_share),
      row("warm_up", "ratio", "first step over the others", &L::warm_up),
      row("warm_up_of_two", "ratio", "the same where there is one other", &L::warm_up_of_two),
      row("warm_up_wrong", "ratio", "the same: wrong", &L::warm_up_wrong),
      row("profiler_note", "ratio", "of the traced step: worth knowing", &L::profiler_note),
      row("host_noise", "ratio", "mean deviation of gaps between calls", &L::host_noise),
      row("profiler_share", "ratio", "of the traced step: doubt", &L::profiler_share),
      row("overlap_us", "us", "that work of one stream may overlap by", &L::overlap_us),
      row("overlap_share", "ratio", "of device time that overlaps on its stream",
          &L::overlap_share),
      row("physics_margin", "ratio", "least time over measured time", &L::physics_margin),
      row("l2_peak_factor", "ratio", "most that L2 serves over its measured rate",
          &L::l2_peak_factor),
      row("physics_floor_us", "us", "least time from which kernels are judged",
          &L::physics_floor_us),
      row("slow_stretch", "ratio", "most kernels of a stretch over another step's: doubt",
          &L::slow_stretch),
      row("slow_stretch_wrong", "ratio", "the same: wrong", &L::slow_stretch_wrong),
      row("stretch_share", "ratio", "of a step's kernel time that a stretch holds",
          &L::stretch_share),
      row("stretch_kernels", "count", "kernels that a stretch holds at least", &L::stretch_kernels),
      row("unlike_repeats", "ratio", "a kernel over the same one of another step",
          &L::unlike_repeats),
      row("unlike_least_us", "us", "and by so much", &L::unlike_least_us),
      row("model_share", "ratio", "of kernel time that the model must know", &L::model_share),
      row("model_least_us", "us", "time from which kernels are compared", &L::model_least_us),
      row("slower_than_model", "ratio", "their time over the model's: doubt",
          &L::slower_than_model),
      row("slower_than_model_wrong", "ratio", "the same: wrong", &L::slower_than_model_wrong),
      row("slow_choice", "ratio", "a convolution over its time at peak rates", &L::slow_choice),
      row("slow_choice_us", "us", "and of that length", &L::slow_choice_us),
      row("slow_choice_share", "ratio", "of kernel time that such ones take",
          &L::slow_choice_share),
      row("counters_clock", "ratio", "kernel time of one over the other's", &L::counters_clock),
  };
}

const std::vector<Field<CheckLimits>>& fields() {
  static const std::vector<Field<CheckLimits>> all = make_fields();
  return all;
}

}  // namespace

CheckLimits load_check_limits(const std::string& path) {
  return load_constants<CheckLimits>(path, fields());
}

}  // namespace tandem
