#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/arch/gpu_config.h"
#include "models/whatif/aliases.h"
#include "models/whatif/batch/transform.h"
#include "models/whatif/checkpoint/transform.h"
#include "models/whatif/clock/transform.h"
#include "models/whatif/compile/transform.h"
#include "models/whatif/gpu/transform.h"
#include "models/whatif/input/transform.h"
#include "models/whatif/layout/transform.h"
#include "models/whatif/optimizer/transform.h"
#include "models/whatif/passes/transform.h"
#include "models/whatif/precision/transform.h"
#include "models/whatif/ranks/transform.h"
#include "models/whatif/reported.h"
#include "models/whatif/transform.h"
#include "sim/core/bounds/limits.h"
#include "sim/core/named.h"
#include "sim/core/text/numbers.h"

namespace tandem {

std::span<const Transform> transforms() {
  static const std::array table{
      layout_transform(), precision_transform(), optimizer_transform(), checkpoint_transform(),
      passes_transform(), batch_transform(),     compile_transform(),   ranks_transform(),
      gpu_transform(),    clock_transform(),     input_transform(),
  };
  return table;
}

std::vector<ReportedObject> reported_objects() {
  return {precision_report(), optimizer_report(), checkpoint_report(), passes_report(),
          batch_report(),     compile_report(),   ranks_report(),      gpu_report(),
          clock_report(),     input_report()};
}

void WhatIfs::set(std::string_view option, std::string_view value) {
  std::erase_if(values, [&](const auto& one) { return one.first == option; });
  const TransformOption* known = find_option(option);
  const std::string name = known == nullptr ? std::string(value) : canonical_value(*known, value);
  if (!name.empty() && name != asks_nothing) add(option, name);
}

void WhatIfs::set(std::string_view option, std::int64_t value) {
  set(option, std::to_string(value));
}

void WhatIfs::add(std::string_view option, std::string_view value) {
  values.emplace_back(option, value);
}

const std::string* WhatIfs::find(std::string_view option) const {
  for (const auto& [name, value] : values) {
    if (name == option) return &value;
  }
  return nullptr;
}

std::string WhatIfs::get(std::string_view option) const {
  const std::string* value = find(option);
  return value == nullptr ? std::string() : *value;
}

std::vector<std::string> WhatIfs::all(std::string_view option) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : values) {
    if (name == option) out.push_back(value);
  }
  return out;
}

namespace {

/// The first option given that asks for the row, or null.
const TransformOption* asking(const Transform& transform, const WhatIfs& asked) {
  for (const TransformOption& option : transform.options) {
    if (option.asks && asked.has(option.name)) return &option;
  }
  return nullptr;
}

std::string key_of(std::string_view option) { return "--" + std::string(option); }

void check_needs(const Transform& transform, const TransformInput& input) {
  const std::string key = key_of(asking(transform, input.asked)->name);
  const TracedModel& traced = input.traced;
  if (transform.needs.pytorch && traced.framework != Framework::pytorch) {
    throw InputError(traced.path, key, "a trace of " + std::string(to_string(traced.framework)),
                     "operator shapes, as in an eager PyTorch run with record_shapes=True");
  }
  const bool on_host = traced.step.trace.activities.size() == 0;
  if (on_host && transform.needs.device_work) {
    throw InputError(traced.path, key, "a trace whose operations run on the CPU",
                     "a trace with device work");
  }
  if (traced.gpu == nullptr && !on_host) {
    throw InputError(traced.path, key, "a trace of an unknown GPU", "--traced-gpu NAME beside it");
  }
  if (transform.needs.batch && !traced.batch) {
    throw InputError(traced.path, key, "a trace without a recognisable batch dimension",
                     "operator shapes (record_shapes=True) of a convolution, linear or embedding "
                     "layer, the argument batch of the annotation of steps, or --traced-batch N");
  }
}

void check_known(const WhatIfs& asked) {
  for (const auto& [name, value] : asked.values) {
    if (find_option(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const Transform& t : transforms()) {
      for (const TransformOption& o : t.options) known.emplace_back(o.name);
    }
    throw InputError("command line", key_of(name), "no what-if of this name",
                     expected_name(known, name));
  }
}

/// Before anything is timed on the GPU that the step ends up on: what that says of a kernel would
/// blame the GPU for what was asked of it. Errors: InputError.
void check_targets(const TransformInput& input) {
  for (const Transform& transform : transforms()) {
    if (transform.check_target == nullptr || !is_asked(transform, input.asked)) continue;
    check_needs(transform, input);
    if (input.traced.gpu != nullptr) transform.check_target(input, target_gpu(input));
  }
}

/// The same transform on the second base, which then is as the first.
void apply_to_second(const Transform& transform, const TransformInput& second, Rewritten& out) {
  Rewritten other;
  other.step = std::move(*out.second);
  transform.apply(second, other);
  out.second = std::move(other.step);
  out.losses.merge(other.losses);
}

}  // namespace

bool is_asked(const Transform& transform, const WhatIfs& asked) {
  return asking(transform, asked) != nullptr;
}

const TransformOption* find_option(std::string_view name) {
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      if (option.name == name) return &option;
    }
  }
  return nullptr;
}

std::int64_t parse_count(std::string_view option, std::string_view value) {
  const auto number = plain_number<std::int64_t>(value);
  if (number && *number <= limits::count) return *number;
  throw InputError("command line", key_of(option), "\"" + std::string(value) + "\"",
                   "a positive whole number of at most " + std::to_string(limits::count));
}

double parse_number(std::string_view option, std::string_view value) {
  constexpr double least = 1e-6;  // clocks in MHz, factors, milliseconds per batch
  const TransformOption* known = find_option(option);
  const double most = known != nullptr ? known->most : TransformOption{}.most;
  const auto number = plain_number<double>(value);
  if (number && *number >= least && *number <= most) return *number;
  throw InputError("command line", key_of(option), "\"" + std::string(value) + "\"",
                   fmt::format("a positive number, {} to {}", least, most));
}

std::string canonical_value(const TransformOption& option, std::string_view value) {
  if (option.kind != OptionKind::name) return std::string(value);
  return canonical(option.name, value, option.names);
}

void check_option(const TransformOption& option, const std::string& value,
                  const GpuCatalogue& gpus) {
  const std::string name = canonical_value(option, value);
  if (name == asks_nothing) return;
  switch (option.kind) {
    case OptionKind::count: parse_count(option.name, value); return;
    case OptionKind::number: parse_number(option.name, value); return;
    case OptionKind::number_or_none:
      if (value != "none") parse_number(option.name, value);
      return;
    case OptionKind::gpu: find_gpu(gpus, value); return;
    case OptionKind::assignments: return;  // checked against the GPU that they change
    case OptionKind::name:
    case OptionKind::flag: break;
  }
  if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return;
  throw InputError("command line", key_of(option.name), "\"" + value + "\"",
                   expected_value(option.name, option.names, value));
}

std::vector<TransformReport> apply_transforms(const TransformInput& input,
                                              const TransformInput* second, Rewritten& out) {
  check_known(input.asked);
  check_targets(input);
  std::vector<TransformReport> reports;
  for (const Transform& transform : transforms()) {
    if (!is_asked(transform, input.asked)) continue;
    check_needs(transform, input);
    if (second != nullptr) check_needs(transform, *second);
    auto report = transform.apply(input, out);
    if (second != nullptr && transform.each_base) apply_to_second(transform, *second, out);
    if (!report) continue;
    report->name = transform.name;
    report->json = transform.json;
    reports.push_back(std::move(*report));
  }
  for (const Transform& transform : transforms()) {
    if (transform.conclude == nullptr) continue;
    for (TransformReport& report : reports) {
      if (report.name == transform.name) transform.conclude(out.step, report);
    }
  }
  return reports;
}

}  // namespace tandem
