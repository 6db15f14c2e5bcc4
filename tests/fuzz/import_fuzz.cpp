// Whatever file is read as a trace and as an Nsight Compute report: readers alone, many times as
// fast as with a prediction, and built from a sixth of the sources.
#include "sim/counters/counter_report.h"
#include "sim/trace/import.h"
#include "sim/trace/links.h"
#include "sim/trace/step_search.h"
#include "tests/fuzz/input.h"

TANDEM_FUZZ_TARGET(import) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    const Trace trace = import_trace(file.path());
    Links links = link_trace(trace);
    choose_steps(trace, {}, links);
  });
  fuzz::refusals_are_fine([&] { read_counter_report(file.path()); });
  return 0;
}
