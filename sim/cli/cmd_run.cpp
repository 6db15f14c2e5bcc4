#include <optional>

#include "models/whatif/layout/transform.h"
#include "sim/cli/scenario_options.h"
#include "sim/predict/network_run.h"
#include "workloads/network.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

NetworkRequest request_of(const po::variables_map& values, ReplayOptions& options) {
  const std::string task = values["task"].as<std::string>();
  if (!task.empty()) options.network_task = parse_task(task, "command line", "--task");
  if (values.count("optimizer") > 0) {
    options.network_optimizer = values["optimizer"].as<std::string>();
  }
  const std::string path =
      network_path(values["network"].as<std::string>(), task, data_root() + "/workloads/nets");
  if (values.count("channels-last") > 0) options.what_ifs.set("layout", channels_last_layout);
  if (values.count("seq") > 0) options.network_length = values["seq"].as<std::int64_t>();
  return take_request(path, options);
}

Answer answer_network(const po::variables_map& values) {
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

CommandLine network_line() {
  po::options_description input("Network");
  input.add_options()("network", po::value<std::string>()->value_name(network_value),
                      "name of a file in workloads/nets, or a path: of such a file, or of an ONNX "
                      "model (opset 13 or later)")(
      "task", text_value("train|infer"),
      "a training step, or inference; default: train, or what a file was recorded with")(
      "optimizer", po::value<std::string>()->value_name("sgd|adam|adamw"),
      "of an ONNX model that trains; default: sgd")(
      "seq", po::value<std::int64_t>()->value_name("N"),
      "length of a sequence, where the network has one")(
      "channels-last", "as --layout channels-last: model and images in NHWC order");
  return {
      "run",
      "NETWORK [options]",
      "A step without a trace and without a GPU. --gpu (default: network_gpu of\n"
      "configs/defaults.json) and --batch say where and how large it is; the other options are\n"
      "those of replay.",
      {{"network"}},
      scenario_groups(input),
      {of_traces(po::options_description("Traces"))}};
}

std::optional<Answer> answer_run(const Arguments& arguments) {
  const auto values = parse_arguments(network_line(), arguments);
  if (!values) return {};
  return answer_network(*values);
}

int run_network_command(const Arguments& arguments) {
  const std::optional<Answer> found = answer_run(arguments);
  return found ? report(*found) : exit_ok;
}

}  // namespace tandem
