#include <fmt/ostream.h>

#include <iostream>

#include "models/whatif/layout/transform.h"
#include "sim/cli/scenario_options.h"
#include "sim/predict/network_run.h"
#include "workloads/network.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

po::options_description options_of_run() {
  po::options_description options(
      "tandem run NETWORK [options]: a step without a trace and without a GPU.\n"
      "--gpu (default a100_sxm4_80gb) and --batch say where and how large the step is; the other\n"
      "options are those of replay");
  options.add_options()("network", po::value<std::string>(),
                        "name of a file in workloads/nets, or a path: of such a file, or of\n"
                        "an ONNX model (opset 13 or later)")(
      "task", po::value<std::string>()->default_value("train"), "train or infer")(
      "optimizer", po::value<std::string>(),
      "of an ONNX model that trains: sgd (the default), adam or adamw")(
      "seq", po::value<std::int64_t>(), "length of a sequence, where the network has one")(
      "channels-last", "as --layout channels-last: model and images in NHWC order");
  add_scenario_options(options);
  return options;
}

NetworkRequest request_of(const po::variables_map& values, ReplayOptions& options) {
  const std::string task = values["task"].as<std::string>();
  options.network_task = parse_task(task, "command line", "--task");
  if (values.count("optimizer") > 0) {
    options.network_optimizer = values["optimizer"].as<std::string>();
  }
  const std::string path =
      network_path(values["network"].as<std::string>(), task, data_root() + "/workloads/nets");
  if (values.count("channels-last") > 0) options.what_ifs.set("layout", channels_last_layout);
  NetworkRequest request = take_request(path, options);
  if (values.count("seq") > 0) request.length = values["seq"].as<std::int64_t>();
  return request;
}

po::variables_map parse_run(const Arguments& arguments) {
  return parse_arguments("run", arguments, options_of_run(), {{"network"}});
}

Answer answer(const po::variables_map& values) {
  if (values.count("network") == 0) {
    throw InputError("command line", "run", "no NETWORK", "tandem run NETWORK [options]");
  }
  OutputPaths paths = output_paths(values);
  ReplayOptions scenario = scenario_options(values);
  const NetworkRequest request = request_of(values, scenario);
  RanksReplay one;
  one.replays.push_back(run_network(request, scenario));
  return answer_of(values, std::move(one), std::move(paths));
}

}  // namespace

Answer answer_run(const Arguments& arguments) { return answer(parse_run(arguments)); }

std::string help_of_run() { return fmt::format("{}", fmt::streamed(options_of_run())); }

int run_network_command(const Arguments& arguments) {
  const po::variables_map values = parse_run(arguments);
  if (values.count("help") > 0) {
    std::cout << help_of_run();
    return exit_ok;
  }
  return report(answer(values));
}

}  // namespace tandem
