// Networks as data: tandem.network/1.
#include "sim/predict/network_run.h"
#include "tests/fuzz/house.h"

TANDEM_FUZZ_TARGET(network) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    ReplayOptions options = fuzz::options_of(input.choice);
    const NetworkRequest request = take_request(file.path(), options);
    const Replay done = run_network(request, options);
    fuzz::write_all(done);
  });
  return 0;
}
