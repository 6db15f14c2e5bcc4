#include "sim/cli/output.h"

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/files.h"
#include "sim/metrics/critical_path.h"
#include "sim/predict/kernel_counters.h"
#include "sim/report/html/result_page.h"
#include "sim/report/report.h"

namespace tandem {

using Json = nlohmann::ordered_json;

namespace {

WorkNames names_of(const Attribution& a) { return {a.op, a.layer, a.op_of_call}; }

std::vector<PathLink> whole_path(const Plan& plan, const Timeline& timeline) {
  return critical_path(plan, timeline, TimePoint::min(), plan.items.size(), plan.works.size());
}

}  // namespace

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

void write_outputs(const Replay& done, const OutputPaths& paths,
                   std::span<const SimulatedRun> ranks) {
  const TracedRun& run = done.run;
  const Prediction& p = done.prediction;
  write_file(paths.json, [&](std::ostream& out) {
    // A path need not be UTF-8; JSON must be.
    out << result_json(p.result).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  });
  std::vector<PathLink> measured_path, path;
  if (!paths.timeline.empty()) {
    measured_path = whole_path(run.measured.plan, run.measured_timeline);
  }
  if (!paths.timeline.empty() || !paths.report.empty()) path = scenario_path(p);
  const SimulatedRun measured{run.trace,
                              run.measured.plan,
                              run.measured_timeline,
                              {},
                              {},
                              names_of(run.attribution),
                              run.counters,
                              run.gpu ? gpu_scale(*run.gpu) : GpuScale{},
                              measured_path};
  const SimulatedRun scenario = scenario_run(p, path);
  const std::array<KernelTable, 2> runs{{
      {"traced", measured, measured.names, run.counters, {}},
      {"scenario", scenario, scenario.names, p.step_counters, p.step.traced_activity},
  }};
  write_file(paths.kernels,
             [&](std::ostream& out) { write_kernels_csv(out, run.trace, scenario.gpu, runs); });
  write_file(paths.timeline,
             [&](std::ostream& out) { write_timeline(out, measured, scenario, ranks); });
  write_file(paths.report, [&](std::ostream& out) {
    out << html::page_html(html::result_page({p.result, scenario, scenario.names,
                                              p.step_attribution.op_of_call, p.step_counters, path,
                                              scenario.gpu}));
  });
}

}  // namespace tandem
