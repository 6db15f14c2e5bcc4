#include "sim/cli/output.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "sim/cli/files.h"
#include "sim/cli/schema/documents.h"
#include "sim/metrics/critical_path.h"
#include "sim/predict/stages/kernel_counters.h"
#include "sim/report/html/result_page.h"
#include "sim/report/report.h"
#include "sim/report/sqlite.h"

namespace tandem {

namespace {

WorkNames names_of(const Attribution& a) { return {a.op, a.layer, a.op_of_call}; }

std::vector<PathLink> whole_path(const Plan& plan, const Timeline& timeline) {
  return critical_path(plan, timeline, TimePoint::min(), plan.items.size(), plan.works.size());
}

SimulatedRun measured_run(const TracedRun& run, std::span<const PathLink> path) {
  return {run.trace,
          run.measured.plan,
          run.measured_timeline,
          {},
          {},
          names_of(run.attribution),
          run.counters,
          run.gpu ? gpu_scale(*run.gpu) : GpuScale{},
          path};
}

html::Page page_of(const Prediction& p, const SimulatedRun& scenario) {
  return html::result_page({p.result, scenario, scenario.names, p.step_attribution.op_of_call,
                            p.step_counters, scenario.path, scenario.gpu});
}

void write_files(const Replay& done, const CheckedDocument& result, const OutputPaths& paths,
                 std::span<const SimulatedRun> ranks) {
  const Prediction& p = done.prediction;
  write_document(paths.json, result);
  write_file(paths.kernels, [&](std::ostream& out) { write_kernels(out, done); });
  write_file(paths.sqlite, [&](std::ostream& out) {
    std::ostringstream kernels;
    write_kernels(kernels, done);
    out << sqlite_database(result.json(), kernels.view());
  });
  if (paths.timeline.empty() && paths.report.empty()) return;
  const std::vector<PathLink> path = scenario_path(p);
  const SimulatedRun scenario = scenario_run(p, path);
  write_file(paths.timeline, [&](std::ostream& out) {
    const auto measured_path = whole_path(done.run.measured.plan, done.run.measured_timeline);
    write_timeline(out, measured_run(done.run, measured_path), scenario, ranks);
  });
  write_file(paths.report,
             [&](std::ostream& out) { out << html::page_html(page_of(p, scenario)); });
}

}  // namespace

bool OutputPaths::fill_stdout() const {
  const std::string* const all[] = {&json, &kernels, &timeline, &report, &sqlite};
  return std::any_of(std::begin(all), std::end(all),
                     [](const std::string* path) { return *path == "-"; });
}

std::vector<PathLink> scenario_path(const Prediction& p) {
  return whole_path(p.isolated, p.isolated_timeline);
}

SimulatedRun scenario_run(const Prediction& p, std::span<const PathLink> path) {
  return {p.step.trace,
          p.isolated,
          p.isolated_timeline,
          p.shares,
          p.power,
          names_of(p.step_attribution),
          p.step_counters,
          p.target ? gpu_scale(*p.target) : GpuScale{},
          path};
}

void write_kernels(std::ostream& out, const Replay& done) {
  const Prediction& p = done.prediction;
  const SimulatedRun measured = measured_run(done.run, {});
  const SimulatedRun scenario = scenario_run(p, {});
  const std::array<KernelTable, 2> runs{{
      {"traced", measured, measured.names, done.run.counters, {}},
      {"scenario", scenario, scenario.names, p.step_counters, p.step.traced_activity},
  }};
  write_kernels_csv(out, done.run.trace, scenario.gpu, runs);
}

void write_outputs(const Replay& replay, const OutputPaths& paths) {
  write_files(replay, result_json(replay.prediction.result), paths, {});
}

void write_outputs(const Replay& replay, const CheckedDocument& result, const OutputPaths& paths) {
  write_files(replay, result, paths, {});
}

void write_outputs(const RanksReplay& ranks, const OutputPaths& paths) {
  std::vector<SimulatedRun> runs;
  for (std::size_t r = 0; r < ranks.runs.size(); ++r) {
    runs.push_back(
        {ranks.replays[r].prediction.step.trace, ranks.runs[r].plan, ranks.runs[r].timeline});
  }
  const Replay& first = ranks.replays.front();
  write_files(first, result_json(first.prediction.result), paths, runs);
}

}  // namespace tandem
