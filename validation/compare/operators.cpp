#include "validation/compare/operators.h"

#include <fmt/format.h>

#include <map>

#include "models/step/op_nesting.h"
#include "sim/core/error.h"
#include "sim/core/text/csv_rows.h"

namespace tandem {

namespace {

/// One number of a kernel, by the name of its column in `path`. Errors: InputError for another
/// name.
double number_of(const WorkCounters& work, std::string_view quantity, const std::string& path) {
  if (quantity == "gpu_us") return work.time_us;
  if (quantity == "dram_bytes") return work.dram_read_bytes + work.dram_write_bytes;
  if (quantity == "l2_bytes") return work.l2_bytes;
  if (quantity == "l1_bytes") return work.l1_bytes;
  throw InputError(path, "", "no number of kernels called \"" + std::string(quantity) + "\"",
                   "gpu_us, dram_bytes, l2_bytes or l1_bytes");
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
  std::vector<OperatorNumbers> out;
  auto row = rows.begin();
  for (const auto& [op, activities] : operators) {
    OperatorNumbers numbers{std::string(row->text("operator")), row->number(quantity)};
    for (const std::uint32_t activity : activities) {
      numbers.predicted += number_of(works[activity], quantity, path);
    }
    out.push_back(std::move(numbers));
    ++row;
  }
  return out;
}

}  // namespace tandem
