// Uses tandem as a library: the time type, an error, a prediction from a trace, and a step without
// one. consumer TRACE SHARE; the install test checks what it prints.
#include <iostream>
#include <string>

#include "sim/core/error.h"
#include "sim/core/time.h"
#include "sim/predict/network_run.h"
#include "sim/predict/predict.h"

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  std::cout << tandem::from_us(1.5).count() << " ps\n";
  try {
    tandem::import_trace("no-such-trace.json");
  } catch (const tandem::InputError& error) {
    std::cout << error.what() << '\n';
  }
  tandem::ReplayOptions options;
  const std::string share = argv[2];
  options.configs = share + "/configs";
  const tandem::TracedRun run = tandem::analyse(tandem::import_trace(argv[1]), options);
  options.what_ifs.set("gpu", "v100_sxm2_16gb");
  options.mode.mode = tandem::Mode::cuda_graph;
  const tandem::Result result = tandem::predict(run, options).result;
  std::cout << result.scenario.gpu << " takes " << result.step.time_us << " us\n";
  tandem::NetworkRequest request;
  request.path = tandem::network_path("resnet50", "train", share + "/workloads/nets");
  request.gpu = "h200_sxm";
  request.batch = 64;
  tandem::ReplayOptions plain;
  plain.configs = options.configs;
  const tandem::Result step = tandem::run_network(request, plain).prediction.result;
  std::cout << "without a trace " << step.step.time_us << " us\n";
  return result.step.time_us > 0 && step.step.time_us > 0 ? 0 : 1;
}
