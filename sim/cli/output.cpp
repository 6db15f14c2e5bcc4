#include "sim/cli/output.h"

#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/cli/files.h"
#include "sim/predict/kernel_counters.h"
#include "sim/report/report.h"

namespace tandem {

using Json = nlohmann::ordered_json;

void write_outputs(const Replay& r, const OutputPaths& paths) {
  write_file(paths.json, [&](std::ostream& out) {
    // A path need not be UTF-8; JSON must be.
    out << result_json(r.result).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  });
  const SimulatedRun measured{r.trace, r.measured.plan, r.measured_timeline};
  const SimulatedRun scenario{r.step.trace, r.isolated, r.isolated_timeline, r.shares, r.power};
  const std::array<KernelTable, 2> runs{{
      {"traced", measured, {r.attribution.op, r.attribution.layer}, r.counters, {}},
      {"scenario",
       scenario,
       {r.step_attribution.op, r.step_attribution.layer},
       r.step_counters,
       r.step.traced_activity},
  }};
  const GpuScale scale = r.target ? gpu_scale(*r.target) : GpuScale{};
  write_file(paths.kernels,
             [&](std::ostream& out) { write_kernels_csv(out, r.trace, scale, runs); });
  write_file(paths.timeline,
             [&](std::ostream& out) { write_timeline(out, r.trace, measured, scenario); });
}

}  // namespace tandem
