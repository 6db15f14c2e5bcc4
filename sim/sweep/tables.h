// A finished sweep as text, CSV and JSON. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "sim/report/fields/fields.h"
#include "sim/sweep/elasticity.h"
#include "sim/sweep/experiment.h"
#include "sim/sweep/grid.h"
#include "sim/sweep/metrics.h"

namespace tandem {

inline constexpr std::string_view sweep_schema = "tandem.sweep/2";

/// An experiment and all that came out of it; points and results stand parallel.
struct Sweep {
  Experiment experiment;
  std::vector<Point> points;
  std::vector<PointResult> results;
  std::vector<std::size_t> front;  // indexes of points; empty: not asked
  std::vector<Elasticity> elasticities;
  LossList losses;  // of the trace, or the network, that all points start from
};

std::size_t failed_points(const Sweep& sweep);
std::size_t failed_elasticities(const Sweep& sweep);
/// One metric of all points; NaN where a point failed or does not know it.
std::vector<double> metric_column(const Sweep& sweep, std::string_view metric);

/// The columns that the experiment names with an error band each, marks for extrapolation (e), the
/// Pareto front (*) and peaks that do not fit (!); then failed points and elasticities. At most
/// `max_rows` points are listed.
std::string sweep_text(const Sweep& sweep, std::size_t max_rows = 40);

/// One row per point: its settings, every metric, `pareto` and `error`. RFC 4180, one header row
/// whose names end with the unit; what is not known is empty, truth values are true and false.
void write_sweep_csv(std::ostream& out, const Sweep& sweep);

nlohmann::ordered_json sweep_json(const Sweep& sweep);
std::vector<PublishedField> sweep_fields();
/// The same as text, a point at a time: a million points take no memory here. Each is held against
/// sweep_fields() first. Errors: std::logic_error, a bug.
void write_sweep_json(std::ostream& out, const Sweep& sweep);

}  // namespace tandem
