// Nsight Compute reports, matched with a small trace.
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/counters/match.h"
#include "sim/report/match_report.h"
#include "tests/fuzz/house.h"

TANDEM_FUZZ_TARGET(counters) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    const TracedRun& run = fuzz::small_run();
    const CounterReport counters = read_counter_report(file.path());
    const StepMatch match = match_best_step(run.trace, run.links, counters);
    const MatchReport report = make_match_report(
        run.trace, run.links, {run.attribution.op, run.attribution.layer}, counters, match);
    std::ostringstream out;
    write_match_csv(out, report);
    out << match_summary_text(report)
        << match_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    ReplayOptions options = fuzz::options_of(input.choice);
    options.counters_path = file.path();
    TracedRun counted = analyse(run.trace, options, fuzz::configs());
    fuzz::write_all(std::move(counted), options);
  });
  return 0;
}
