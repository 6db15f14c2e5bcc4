// Experiment files of sweeps, whose points start from a small trace whatever they name.
#include <nlohmann/json.hpp>

#include "sim/sweep/metrics.h"
#include "sim/sweep/pictures.h"
#include "sim/sweep/points.h"
#include "tests/fuzz/house.h"

namespace {
constexpr std::size_t most_points = 16;  // simulated; more are only checked
}

TANDEM_FUZZ_TARGET(experiment) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    const Experiment experiment = read_experiment(file.path(), sweep_metric_names());
    static const SweepBase base{fuzz::options_of({}), fuzz::small_run(), {}, {}, {}};
    check_values(base, experiment, file.path());
    if (grid_points(experiment.axes).size() > most_points) return;
    RunOptions options;
    options.threads = 1;
    const Sweep sweep = run_sweep(experiment, base, nullptr, options);
    sweep_pictures(sweep);
    sweep_text(sweep);
    sweep_json(sweep).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  });
  return 0;
}
