// GPU configs, as the GPU of a scenario.
#include "tests/fuzz/house.h"

TANDEM_FUZZ_TARGET(gpu) {
  using namespace tandem;
  const fuzz::Input input = fuzz::split({data, size});
  const fuzz::MemoryFile file(input.file);
  fuzz::refusals_are_fine([&] {
    ReplayOptions options = fuzz::options_of(input.choice);
    options.what_ifs.set("gpu", file.path());
    Configs with = fuzz::configs();
    add_gpu_file(with, file.path());
    TracedRun run = analyse(fuzz::small_run().trace, options, with);
    fuzz::write_all(std::move(run), options);
  });
  return 0;
}
