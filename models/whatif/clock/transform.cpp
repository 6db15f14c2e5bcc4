#include "models/whatif/clock/transform.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "models/step/launches.h"
#include "models/step/slowdown.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField clock_mhz{"clock_mhz", "MHz", "clock of the SMs"};
constexpr ReportField slowdown{"slowdown", "ratio", "times the GPU time"};
constexpr ReportField following_share{"following_share", "share",
                                      "of the GPU time follows the clock"};
constexpr ReportField unmodelled_share{"unmodelled_share", "share",
                                       "of the GPU time has no law and stays"};
constexpr ReportField all[] = {clock_mhz, slowdown, following_share, unmodelled_share};
}  // namespace says

/// Nobody has measured energy over clock further down than this share of the highest clock.
constexpr double least_measured_share = 0.75;
/// Of the highest clock: the lowest that is taken for a GPU whose own is not known. (The one GPU
/// that we could ask stops at 0.17.)
constexpr double least_share = 0.1;

struct ClockReport {
  double following_share = 0, unmodelled_share = 0;
  double error = 0;
  double slowdown = 1;
};

/// Every kernel of the step lasts as its law says for the lower clock.
ClockReport follow_clock(const GpuArch& before, const GpuArch& after, const KernelLaws& laws,
                         double floor_share, Step& step) {
  const TraceLaunches launches(step);
  const std::vector<Slowdown> slower = slowdowns(step, launches, before, after, laws, floor_share);
  ClockReport report;
  double was_us = 0, is_us = 0;
  for (std::size_t w = 0; w < slower.size(); ++w) {
    const Slowdown& s = slower[w];
    const double us = to_us(step.trace.activities.duration[step.plan.works[w].source]);
    was_us += us;
    is_us += us * s.ratio;
    report.unmodelled_share += s.known ? 0 : us;
    report.following_share += s.ratio > 1 ? us : 0;
    report.error += us * s.error;
  }
  slow_down(step, slower);
  if (was_us <= 0) return report;
  report.following_share /= was_us;
  report.unmodelled_share /= was_us;
  report.error /= is_us;
  report.slowdown = is_us / was_us;
  return report;
}

/// Errors: InputError for a clock that the GPU cannot be locked to.
void check_range(const GpuArch& gpu, double mhz) {
  const bool known = gpu.min_clock_mhz > 0;
  const double least = known ? gpu.min_clock_mhz : least_share * gpu.boost_clock_mhz;
  const auto fail = [&](const std::string& expected) {
    throw InputError("command line", "--clock", fmt::format("{} MHz", mhz), expected);
  };
  if (mhz < least) {
    fail(fmt::format("at least {} MHz, {} of {}", least,
                     known ? "min_clock_mhz" : "a tenth of boost_clock_mhz", gpu.name));
  }
  if (mhz > gpu.boost_clock_mhz) {
    fail(fmt::format("at most {} MHz, boost_clock_mhz of {}", gpu.boost_clock_mhz, gpu.name));
  }
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const double mhz = parse_number("clock", in.asked.get("clock"));
  const GpuArch before = *out.gpu;
  check_range(before, mhz);
  if (mhz == before.boost_clock_mhz) return {};
  out.gpu = locked_at(before, mhz);
  const ClockReport r =
      follow_clock(before, *out.gpu, {in.time, in.costs}, in.floor_share, out.step);
  out.changed = true;
  out.losses.add(
      "clock_below_measured", Severity::warning,
      "energy over clock was measured from three quarters of the highest clock up; further "
      "down it is extrapolated, and the step's lowest voltage is not known",
      mhz < least_measured_share * before.boost_clock_mhz ? 1 : 0);
  TransformReport report;
  report.from = fmt::format("{} MHz", before.boost_clock_mhz);
  report.to = fmt::format("{} MHz", mhz);
  report.expected_error = r.error;
  report.values = {
      reported(says::clock_mhz, mhz),
      reported(says::slowdown, r.slowdown, true),
      reported(says::following_share, r.following_share, true),
      reported(says::unmodelled_share, r.unmodelled_share, true),
  };
  return report;
}

}  // namespace

Transform clock_transform() {
  return {.name = "clock",
          .json = "clock",
          .doc =
              "a locked clock of the SMs: kernels that the SMs limit and all energy spent on the "
              "SMs follow it; memory, links and host stay",
          .options = {{.name = "clock",
                       .kind = OptionKind::number,
                       .doc = "lock the clock of the SMs to this many MHz",
                       .unit = "mhz"}},
          .apply = apply};
}

ReportedObject clock_report() { return {"clock", "a locked clock", says::all}; }

}  // namespace tandem
