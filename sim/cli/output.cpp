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

void write_outputs(const Replay& done, const OutputPaths& paths,
                   std::span<const SimulatedRun> ranks) {
  const TracedRun& run = done.run;
  const Prediction& p = done.prediction;
  write_file(paths.json, [&](std::ostream& out) {
    // A path need not be UTF-8; JSON must be.
    out << result_json(p.result).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  });
  const SimulatedRun measured{run.trace, run.measured.plan, run.measured_timeline};
  const SimulatedRun scenario{p.step.trace, p.isolated, p.isolated_timeline, p.shares, p.power};
  const std::array<KernelTable, 2> runs{{
      {"traced", measured, {run.attribution.op, run.attribution.layer}, run.counters, {}},
      {"scenario",
       scenario,
       {p.step_attribution.op, p.step_attribution.layer},
       p.step_counters,
       p.step.traced_activity},
  }};
  const GpuScale scale = p.target ? gpu_scale(*p.target) : GpuScale{};
  write_file(paths.kernels,
             [&](std::ostream& out) { write_kernels_csv(out, run.trace, scale, runs); });
  write_file(paths.timeline,
             [&](std::ostream& out) { write_timeline(out, run.trace, measured, scenario, ranks); });
  write_file(paths.report, [&](std::ostream& out) {
    const std::vector<PathLink> path =
        critical_path(p.isolated, p.isolated_timeline, TimePoint{}, p.isolated.items.size(),
                      p.isolated.works.size());
    out << html::page_html(
        html::result_page({p.result, scenario, runs[1].names, p.step_attribution.op_of_call,
                           p.step_counters, path, scale}));
  });
}

}  // namespace tandem
