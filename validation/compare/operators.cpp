#include "validation/compare/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "models/step/op_nesting.h"
#include "sim/core/error.h"
#include "sim/core/named.h"
#include "sim/core/text/csv_rows.h"

namespace tandem {

namespace {

/// A number of a kernel, by the name of its column.
struct KernelQuantity {
  std::string_view name;
  double (*of)(const WorkCounters& work);
};

constexpr KernelQuantity quantities[] = {
    {"gpu_us", [](const WorkCounters& w) { return w.time_us; }},
    {"dram_bytes", [](const WorkCounters& w) { return w.dram_read_bytes + w.dram_write_bytes; }},
    {"l2_bytes", [](const WorkCounters& w) { return w.l2_bytes; }},
    {"l1_bytes", [](const WorkCounters& w) { return w.l1_bytes; }}};

/// Errors: InputError for another name than those of `quantities`.
const KernelQuantity& find_quantity(std::string_view name, const std::string& path) {
  const auto found = std::find_if(std::begin(quantities), std::end(quantities),
                                  [&](const KernelQuantity& q) { return q.name == name; });
  if (found != std::end(quantities)) return *found;
  throw InputError(path, "", "no number of kernels called \"" + std::string(name) + "\"",
                   names_of(quantities));
}

/// Row of the outermost operation around each activity of a step -> the rows of its activities, in
/// the order of issue.
std::map<std::uint32_t, std::vector<std::uint32_t>> activities_of_operators(const Step& step) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  std::map<std::uint32_t, std::vector<std::uint32_t>> out;
  for (std::uint32_t activity = 0; activity < step.trace.activities.size(); ++activity) {
    const std::uint32_t op = outermost(nesting, nesting.of_activity[activity]);
    if (op != no_row) out[op].push_back(activity);
  }
  return out;
}

}  // namespace

std::vector<OperatorNumbers> operator_numbers(const Replay& replay, const std::string& path,
                                              std::string_view quantity) {
  const std::vector<WorkCounters>& works = replay.prediction.step_counters;
  const auto operators = activities_of_operators(replay.prediction.step);
  const std::vector<CsvRow> rows = read_csv(path);
  if (rows.size() != operators.size()) {
    throw InputError(path, "", fmt::format("{} rows", rows.size()),
                     fmt::format("a row for each of the {} operations of {} that launch something",
                                 operators.size(), replay.run.trace.path));
  }
  const KernelQuantity& kernel = find_quantity(quantity, path);
  std::vector<OperatorNumbers> out;
  auto row = rows.begin();
  for (const auto& [op, activities] : operators) {
    OperatorNumbers numbers{std::string(row->text("operator")), row->number(quantity)};
    for (const std::uint32_t activity : activities) {
      numbers.predicted += kernel.of(works[activity]);
    }
    out.push_back(std::move(numbers));
    ++row;
  }
  return out;
}

}  // namespace tandem
