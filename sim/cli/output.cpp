#include "sim/cli/output.h"

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "sim/cli/files.h"
#include "sim/metrics/critical_path.h"
#include "sim/predict/kernel_counters.h"
#include "sim/report/html/result_page.h"
#include "sim/report/report.h"
#include "sim/report/sqlite.h"

namespace tandem {

using Json = nlohmann::ordered_json;

namespace {

SimulatedRun measured_run(const TracedRun& run) {
  return {run.trace, run.measured.plan, run.measured_timeline};
}

SimulatedRun scenario_run(const Prediction& p) {
  return {p.step.trace, p.isolated, p.isolated_timeline, p.shares, p.power};
}

html::Page page_of(const Prediction& p) {
  const std::vector<PathLink> path =
      critical_path(p.isolated, p.isolated_timeline, TimePoint{}, p.isolated.items.size(),
                    p.isolated.works.size());
  return html::result_page({p.result,
                            scenario_run(p),
                            {p.step_attribution.op, p.step_attribution.layer},
                            p.step_attribution.op_of_call,
                            p.step_counters,
                            path,
                            p.target ? gpu_scale(*p.target) : GpuScale{}});
}

void write_files(const Replay& done, const OutputPaths& paths,
                 std::span<const SimulatedRun> ranks) {
  write_file(paths.json, [&](std::ostream& out) {
    // A path need not be UTF-8; JSON must be.
    out << result_json(done.prediction.result).dump(2, ' ', false, Json::error_handler_t::replace)
        << '\n';
  });
  write_file(paths.kernels, [&](std::ostream& out) { write_kernels(out, done); });
  write_file(paths.sqlite, [&](std::ostream& out) {
    std::ostringstream kernels;
    write_kernels(kernels, done);
    out << sqlite_database(result_json(done.prediction.result), kernels.view());
  });
  write_file(paths.timeline, [&](std::ostream& out) {
    write_timeline(out, done.run.trace, measured_run(done.run), scenario_run(done.prediction),
                   ranks);
  });
  write_file(paths.report,
             [&](std::ostream& out) { out << html::page_html(page_of(done.prediction)); });
}

}  // namespace

void write_kernels(std::ostream& out, const Replay& done) {
  const TracedRun& run = done.run;
  const Prediction& p = done.prediction;
  const std::array<KernelTable, 2> runs{{
      {"traced", measured_run(run), {run.attribution.op, run.attribution.layer}, run.counters, {}},
      {"scenario",
       scenario_run(p),
       {p.step_attribution.op, p.step_attribution.layer},
       p.step_counters,
       p.step.traced_activity},
  }};
  write_kernels_csv(out, run.trace, p.target ? gpu_scale(*p.target) : GpuScale{}, runs);
}

void write_outputs(const Replay& replay, const OutputPaths& paths) {
  write_files(replay, paths, {});
}

void write_outputs(const RanksReplay& ranks, const OutputPaths& paths) {
  std::vector<SimulatedRun> runs;
  for (std::size_t r = 0; r < ranks.runs.size(); ++r) {
    runs.push_back({ranks.replays[r].prediction.step.trace,
                    ranks.runs[r].plan,
                    ranks.runs[r].timeline,
                    {},
                    {}});
  }
  write_files(ranks.replays.front(), paths, runs);
}

}  // namespace tandem
