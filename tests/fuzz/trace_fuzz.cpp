// Profiler traces of PyTorch, TensorFlow and JAX, plain and compressed, in scenarios.
#include "sim/check/checks.h"
#include "sim/check/limits.h"
#include "tests/fuzz/house.h"

TANDEM_FUZZ_TARGET(trace) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    ReplayOptions options = fuzz::options_of(input.choice);
    options.trace_path = file.path();
    TracedRun run = analyse(import_trace(file.path()), options, fuzz::configs());
    static const CheckLimits limits = load_check_limits(fuzz::in_repository("configs/checks.json"));
    check(run, limits);
    fuzz::write_all(std::move(run), options);
  });
  return 0;
}
