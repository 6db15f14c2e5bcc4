// ONNX files, at inference and in training.
#include "sim/predict/network_run.h"
#include "tests/fuzz/house.h"

TANDEM_FUZZ_TARGET(onnx) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file, ".onnx");
  fuzz::refusals_are_fine([&] {
    ReplayOptions options = fuzz::options_of(input.choice);
    const bool trains = !input.choice.empty() && input.choice.back() % 2 == 1;
    options.network_task = trains ? Task::train : Task::infer;
    const NetworkRequest request = take_request(file.path(), options);
    const Replay done = run_network(request, options);
    fuzz::write_all(done);
  });
  return 0;
}
