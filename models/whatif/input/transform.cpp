#include "models/whatif/input/transform.h"

#include <fmt/format.h>

#include "models/whatif/input/loader.h"
#include "sim/core/bounds/limits.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField traced_wait_us{"traced_wait_us", "us",
                                     "of waiting for input in the traced step"};
constexpr ReportField all[] = {traced_wait_us};
}  // namespace says

constexpr std::string_view no_input = "none";

/// As long as an event of a trace may wait.
constexpr double longest_input_ms =
    static_cast<double>(limits::event_ps) / static_cast<double>(limits::ps_per_s) * 1e3;

double input_us(const Plan& plan) {
  double sum = 0;
  for (const HostItem& item : plan.items) sum += to_us(item.input);
  return sum;
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const std::string asked = in.asked.get("input");
  const double before_us = input_us(out.step.plan);
  const std::uint32_t reader = reader_of(out.step.plan);
  drop_input_waits(out.step.plan);
  if (asked != no_input) {
    add_loader(from_us(1e3 * parse_number("input", asked)), reader, out.step.plan);
  }
  out.changed = true;
  TransformReport report;
  report.from = fmt::format("{:.3f} ms of waiting", before_us * 1e-3);
  report.to = asked == no_input ? asked : asked + " ms a step";
  report.values = {
      reported(says::traced_wait_us, before_us, true),
  };
  return report;
}

}  // namespace

Transform input_transform() {
  return {.name = "input",
          .json = "input",
          .doc =
              "another input pipeline: none waits for nothing, a number is the milliseconds that "
              "the loader takes for the input of each step, beside the step",
          .options = {{.name = "input",
                       .kind = OptionKind::number_or_none,
                       .doc = "none, or milliseconds that the input of a step takes",
                       .unit = "ms",
                       .most = longest_input_ms}},
          .needs = {.device_work = false},
          .apply = apply};
}

ReportedObject input_report() { return {"input", "another input pipeline", says::all}; }

}  // namespace tandem
