#include "models/whatif/input/transform.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField traced_wait_us{"traced_wait_us", "us",
                                     "of waiting for input in the traced step"};
constexpr ReportField all[] = {traced_wait_us};
}  // namespace says

constexpr std::string_view no_input = "none";

/// The item that waits for the step's input: the one that waits longest, else the first.
std::uint32_t reader_of(const Plan& plan) {
  std::uint32_t reader = 0;
  for (std::uint32_t i = 1; i < plan.items.size(); ++i) {
    const bool first = plan.items[reader].kind == ItemKind::step_begin;
    if (first || plan.items[i].input > plan.items[reader].input) reader = i;
  }
  return reader;
}

double input_us(const Plan& plan) {
  double sum = 0;
  for (const HostItem& item : plan.items) sum += to_us(item.input);
  return sum;
}

void drop_waits(Plan& plan) {
  for (HostItem& item : plan.items) {
    item.gap = std::max(Duration::zero(), item.gap - item.input);
    item.input = Duration::zero();
  }
}

/// A thread of its own prepares one input after the other, `each` long; the step's `reader` waits
/// for its own.
void add_loader(Duration each, std::uint32_t reader, Plan& plan) {
  HostItem loads;
  loads.gap = each;
  loads.input = each;
  loads.thread = static_cast<std::uint16_t>(plan.threads.size());
  loads.first_work = plan.items[reader].first_work;
  plan.threads.push_back({"input", plan.threads.front().begin});
  for (HostItem& item : plan.items) {
    if (item.after != no_index && item.after >= reader) ++item.after;
  }
  for (DeviceWork& work : plan.works) {
    if (work.item != no_index && work.item >= reader) ++work.item;
  }
  // An item that already waits for another thread keeps that wait; the next of its thread reads.
  while (reader + 1 < plan.items.size() && plan.items[reader].after != no_index) ++reader;
  plan.items.insert(plan.items.begin() + reader, loads);
  HostItem& waits = plan.items[reader + 1];
  waits.after = reader;
  waits.own_gap = true;
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const std::string asked = in.asked.get("input");
  const double before_us = input_us(out.step.plan);
  const std::uint32_t reader = reader_of(out.step.plan);
  drop_waits(out.step.plan);
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
                       .unit = "ms"}},
          .needs = {.device_work = false},
          .apply = apply};
}

ReportedObject input_report() { return {"input", "another input pipeline", says::all}; }

}  // namespace tandem
