// Host configs.
#include "tests/fuzz/house.h"

TANDEM_FUZZ_TARGET(host) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    ReplayOptions options = fuzz::options_of(input.choice);
    options.host = file.path();
    Configs configs = fuzz::configs();
    configs.host = load_host_model(file.path());
    TracedRun run = analyse(fuzz::small_run().trace, options, std::move(configs));
    fuzz::write_all(std::move(run), options);
  });
  return 0;
}
