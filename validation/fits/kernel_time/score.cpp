#include "validation/fits/kernel_time/score.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/median.h"
#include "validation/fits/kernel_time/event_timing.h"

namespace tandem::kernel_time {
namespace {

constexpr double long_us = 100;

struct Errors {
  std::vector<double> absolute;
  double sum = 0, long_sum = 0;
  std::size_t long_rows = 0;
  void add(double predicted, double measured) {
    const double error = predicted / measured - 1;
    absolute.push_back(std::abs(error));
    sum += error;
    if (measured < long_us) return;
    long_sum += std::abs(error);
    ++long_rows;
  }
};

using Key = std::tuple<std::string, std::string, Part>;

Score summary(const Key& key, Errors errors) {
  Score out;
  std::tie(out.type, out.gpu, out.part) = key;
  out.rows = errors.absolute.size();
  const double n = static_cast<double>(out.rows);
  for (const double e : errors.absolute) out.mape += e / n;
  out.bias = errors.sum / n;
  out.long_rows = errors.long_rows;
  if (errors.long_rows > 0) out.long_mape = errors.long_sum / static_cast<double>(errors.long_rows);
  out.median = median(std::move(errors.absolute));
  return out;
}

std::vector<Score> score(const std::vector<MeasuredTable>& tables, const GpuCatalogue& catalogue,
                         const TimeConstants& constants,
                         const std::function<Key(const MeasuredTable&, const GpuArch&, Part)>& key,
                         bool with_fit) {
  std::map<Key, Errors> groups;
  for (const MeasuredTable& table : tables) {
    const GpuArch& gpu = find_gpu(catalogue, table.gpu);
    const std::vector<double> predicted = predict_table(gpu, table, constants);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const MeasuredOp& row = table.rows[i];
      const Part part = row.fit ? Part::fit : table.train ? Part::scored : Part::test;
      if (row.fit && !with_fit) continue;
      groups[key(table, gpu, part)].add(predicted[i], row.measured_us);
    }
  }
  std::vector<Score> out;
  out.reserve(groups.size());
  for (auto& [name, errors] : groups) out.push_back(summary(name, std::move(errors)));
  return out;
}

}  // namespace

std::string_view to_string(Part part) {
  constexpr std::string_view names[] = {"fit", "scored", "test"};
  return names[static_cast<std::size_t>(part)];
}

KernelTime predict(const GpuArch& gpu, const MeasuredOp& op, const TimeConstants& constants,
                   const TimeContext& context) {
  if (const auto* s = std::get_if<GemmShape>(&op.shape)) {
    return gemm_time(gpu, *s, constants, context);
  }
  if (const auto* s = std::get_if<PointwiseShape>(&op.shape)) {
    return pointwise_time(gpu, *s, constants, context);
  }
  if (const auto* s = std::get_if<ConvLayer>(&op.shape)) {
    return conv_time(gpu, *s, constants, context);
  }
  const auto& rows = std::get<RowShape>(op.shape);
  return op.layer_norm ? layer_norm_time(gpu, rows, constants, context)
                       : softmax_time(gpu, rows, constants, context);
}

std::vector<double> predict_table(const GpuArch& gpu, const MeasuredTable& table,
                                  const TimeConstants& constants) {
  std::vector<KernelTime> kernels;
  std::vector<double> us;
  for (const MeasuredOp& row : table.rows) {
    kernels.push_back(predict(gpu, row, constants, {table.cache, table.repeats}));
    us.push_back(kernels.back().time_us);
  }
  if (table.clock == Clock::kernel || table.rows.empty()) return us;
  const auto timings = row_timings(table, kernels, event_timing(table.rows.front().op, gpu.name));
  for (std::size_t i = 0; i < us.size(); ++i) {
    us[i] = timings[i].latency(us[i], kernels[i].launches);
  }
  return us;
}

std::vector<Score> score_tables(const std::vector<MeasuredTable>& tables,
                                const GpuCatalogue& catalogue, const TimeConstants& constants) {
  return score(
      tables, catalogue, constants,
      [](const MeasuredTable& table, const GpuArch& gpu, Part part) {
        return Key{table.type, gpu.name, part};
      },
      true);
}

std::vector<Score> score_types(const std::vector<MeasuredTable>& tables,
                               const GpuCatalogue& catalogue, const TimeConstants& constants) {
  return score(
      tables, catalogue, constants,
      [](const MeasuredTable& table, const GpuArch&, Part) {
        return Key{table.type, "", Part::test};
      },
      false);
}

}  // namespace tandem::kernel_time
