#include "validation/fits/batch/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/whatif/batch/peak_memory.h"

namespace tandem {
namespace {

struct Errors {
  double sum = 0, worst = 0;
  int n = 0;
  void add(double e) {
    sum += std::abs(e), ++n;
    if (std::abs(e) > std::abs(worst)) worst = e;
  }
};

using Table = std::map<std::string, Errors>;

void score_from(const Run& base, const std::vector<MemoryPoint>& points, const Run& truth,
                const BatchLaw& law, bool pairs, Table& table) {
  PeakMemory m = peak_memory(base.trace, base.links, base.batch, law);
  if (!points.empty()) m = through_points(m, points, base.trace.path);
  const double error = peak_bytes(m, truth.batch) / truth.peak_bytes - 1;
  const std::int64_t top = points.empty() ? base.batch : points.back().batch;
  const bool up = truth.batch > top, between = truth.batch > base.batch && !up;
  const double factor = static_cast<double>(truth.batch) / static_cast<double>(base.batch);
  const bool near = factor <= 4 && factor >= 0.25;
  const bool single = base.batch == 1 || truth.batch == 1;
  table[fmt::format("{} measured, {}{}", points.size(),
                    single           ? "batch 1"
                    : up             ? "up"
                    : between        ? "between"
                    : points.empty() ? "same"
                                     : "down",
                    points.size() == 1 && !single ? near ? " to x4" : " beyond x4" : "")]
      .add(error);
  if (!pairs) return;
  fmt::print("memory {:<24} {} points, base {:>5} -> {:<5} {:>8.0f} MB {:>+6.1f} %  P {:.1f} M\n",
             truth.name, points.size(), base.batch, truth.batch, truth.peak_bytes * 1e-6,
             100 * error, static_cast<double>(m.parameters) * 1e-6);
}

}  // namespace

void print_memory(const std::vector<Series>& all, const BatchLaw& law, bool pairs) {
  Table table;
  for (const Series& series : all) {
    const auto& runs = series.runs;
    for (const auto& base : runs) {
      if (base->peak_bytes <= 0) continue;
      score_from(*base, {}, *base, law, pairs, table);
      for (const auto& truth : runs) {
        if (truth == base || truth->peak_bytes <= 0) continue;
        score_from(*base, {{base->batch, base->peak_bytes}}, *truth, law, pairs, table);
        for (const auto& second : runs) {
          if (second == truth || second->batch <= base->batch || second->peak_bytes <= 0) continue;
          score_from(*base, {{base->batch, base->peak_bytes}, {second->batch, second->peak_bytes}},
                     *truth, law, pairs, table);
        }
      }
    }
  }
  fmt::print("\n{:<44} {:>4} {:>7} {:>8}\n", "peak memory", "n", "MAPE", "worst");
  for (const auto& [name, e] : table) {
    fmt::print("{:<44} {:>4} {:>7.1f} {:>+8.1f}\n", name, e.n, 100 * e.sum / e.n, 100 * e.worst);
  }
}

}  // namespace tandem
