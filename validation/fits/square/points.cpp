#include "validation/fits/square/points.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/core/error.h"

namespace tandem {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw InputError(path, "file", "no line", "a table");
  const std::vector<std::string> names = split(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    const std::string place = "line " + std::to_string(rows.size() + 2);
    if (cells.size() != names.size()) throw InputError(path, place, line, "as many cells as names");
    Row row;
    for (std::size_t i = 0; i < cells.size(); ++i) row[names[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

double number(const std::string& path, const Row& row, const std::string& name) {
  const auto cell = row.find(name);
  if (cell == row.end()) throw InputError(path, "header", "no column " + name, name);
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(cell->second, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != cell->second.size() || used == 0) {
    throw InputError(path, name, cell->second, "a number");
  }
  return value;
}

LaunchGeometry geometry_of(double blocks, double threads) {
  LaunchGeometry geometry;
  geometry.grid[0] = static_cast<std::uint32_t>(blocks);
  geometry.block[0] = static_cast<std::uint32_t>(threads);
  return geometry;
}

// These logs do not hold the 2,000,000 launches of the others: their length says nothing.
bool wrong_length(const LaunchGeometry& g) {
  constexpr std::array<std::uint32_t, 4> grids = {4816, 9632, 12800, 131072};
  return g.block[0] == 1024 && std::find(grids.begin(), grids.end(), g.grid[0]) != grids.end();
}

}  // namespace

std::vector<SquarePoint> read_published(const std::string& path) {
  constexpr double launches = 2e6;
  constexpr double shortest_us = 5;  // one sample a second: resolved to half a microsecond
  std::vector<SquarePoint> points;
  for (const Row& row : read_rows(path)) {
    const auto get = [&](const char* name) { return number(path, row, name); };
    SquarePoint point;
    point.geometry = geometry_of(get("thread_blocks"), get("threads_per_block"));
    const double period_us = 1e6 * get("samples_steady") / launches;
    if (period_us > shortest_us && !wrong_length(point.geometry)) point.period_us = period_us;
    point.gract = get("GRACT");
    point.smact = get("SMACT");
    point.smocc = get("SMOCC");
    points.push_back(point);
  }
  return points;
}

std::vector<SquarePoint> read_activity(const std::string& path, std::string_view kernel) {
  std::vector<SquarePoint> points;
  for (const Row& row : read_rows(path)) {
    const auto name = row.find("kernel");
    if (name == row.end() || name->second != kernel) continue;
    const auto get = [&](const char* column) { return number(path, row, column); };
    points.push_back({geometry_of(get("blocks"), get("threads")), get("stream_us"), get("gract"),
                      get("smact"), get("smocc")});
  }
  return points;
}

bool may_be_fitted(const SquarePoint& point) {
  return point.geometry.block[0] == 32 || point.geometry.block[0] == 1024;
}

SquareErrors errors_of(const GpuArch& gpu, std::span<const SquarePoint> points, StoreTarget stores,
                       const TinyConstants& constants) {
  SquareErrors sum;
  double periods = 0;
  for (const SquarePoint& point : points) {
    const TinyLaunchCost cost = back_to_back(gpu, point.geometry, stores, constants);
    sum.smact += std::abs(cost.smact - point.smact);
    sum.smact_bias += cost.smact - point.smact;
    sum.smocc += std::abs(cost.smocc - point.smocc);
    sum.smocc_bias += cost.smocc - point.smocc;
    sum.gract += std::abs(cost.gract - point.gract);
    if (point.period_us <= 0) continue;
    sum.log_period += std::abs(std::log(cost.period_us / point.period_us));
    ++periods;
  }
  sum.count = points.size();
  const auto n = static_cast<double>(std::max<std::size_t>(1, points.size()));
  for (double* mean : {&sum.smact, &sum.smact_bias, &sum.smocc, &sum.smocc_bias, &sum.gract}) {
    *mean /= n;
  }
  sum.log_period /= std::max(1.0, periods);
  return sum;
}

}  // namespace tandem
