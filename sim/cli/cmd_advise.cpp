// tandem advise: what would make a step faster, ranked.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sim/advise/advise.h"
#include "sim/cli/files.h"
#include "sim/cli/scenario_options.h"
#include "sim/report/advice_report.h"

namespace tandem {

namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

constexpr int max_threads = 4096;

po::options_description options_of_advise() {
  po::options_description options(
      "tandem advise TRACE|NETWORK [TRACE ...]: precisions, CUDA graphs, compilers, batches, "
      "other\n"
      "GPUs predicted and ranked by throughput, each with the reason; several traces one after "
      "the\n"
      "other");
  options.add_options()("help", "show this text")(
      "trace", po::value<std::vector<std::string>>(),
      "profiler trace, name of a file in workloads/nets, or a network (.onnx)")(
      "gpu", po::value<std::string>()->default_value(""),
      "other GPUs to try, NAME,NAME; of a network: the first one is where it runs")(
      "batch", po::value<std::int64_t>(), "of a network: its batch")(
      "task", po::value<std::string>()->default_value("train"), "of a network: train or infer");
  add_trace_options(options);
  add_host_options(options);
  add_job_options(options);
  options.add_options()("threads", po::value<int>()->default_value(0),
                        "0: as many as the machine has")(
      "json", po::value<std::string>()->default_value(""), "write the advice here; -: stdout")(
      "allow-data-loss", "exit 0 even if part of a trace could not be used")("quiet", "no text");
  return options;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> out;
  if (list.empty()) return out;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = list.find(',', begin);
    out.push_back(list.substr(begin, end == std::string::npos ? end : end - begin));
    if (!out.back().empty()) continue;
    throw InputError("command line", "--gpu", "\"" + list + "\"",
                     "names with a comma between them");
  }
  return out;
}

/// The file that is meant: itself, or a network by its name.
std::string subject_path(const std::string& text, const std::string& task) {
  std::error_code error;
  if (std::filesystem::exists(text, error)) return text;
  const std::string network = network_path(text, task, data_root() + "/workloads/nets");
  return std::filesystem::exists(network, error) ? network : text;
}

struct Asked {
  ReplayOptions options;
  std::vector<std::string> gpus;
};

/// What is asked of the trace or network `text`.
Asked asked_of(const std::string& text, const po::variables_map& values) {
  Asked asked;
  ReplayOptions& o = asked.options;
  o.configs = data_root() + "/configs";
  read_trace_options(values, o);
  read_host_options(values, o);
  o.job = job_of(values);
  show_import(o);
  const std::string task = values["task"].as<std::string>();
  o.network_task = parse_task(task, "command line", "--task");
  o.trace_path = subject_path(text, task);
  asked.gpus = parts_of(values["gpu"].as<std::string>());
  const bool network = is_network(o.trace_path);
  if (network && !asked.gpus.empty()) {
    o.what_ifs.set("gpu", asked.gpus.front());
    asked.gpus.erase(asked.gpus.begin());
  }
  if (values.count("batch") == 0) return asked;
  if (!network) {
    throw InputError("command line", "--batch", "a trace, " + text,
                     "a network, or tandem replay TRACE --batch N");
  }
  o.what_ifs.set("batch", std::to_string(values["batch"].as<std::int64_t>()));
  return asked;
}

int threads_of(const po::variables_map& values) {
  const int threads = values["threads"].as<int>();
  if (threads >= 0 && threads <= max_threads) return threads;
  throw InputError("command line", "--threads", std::to_string(threads),
                   fmt::format("0 to {}", max_threads));
}

/// Of one trace an object, of several a list.
void write_json(const std::vector<Json>& all, bool several, const std::string& path) {
  write_file(path, [&](std::ostream& out) {
    const Json json = several ? Json(all) : all.front();
    // A path need not be UTF-8; JSON must be.
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  });
}

/// Part of the trace was lost: the advice is on less than was measured.
bool lost_data(const Advice& advice) {
  return std::any_of(advice.rows.begin(), advice.rows.end(), [](const AdvisedRow& row) {
    return row.is_base && row.result.losses.any(Severity::data_loss);
  });
}

/// One after the other, each with all cores; one that cannot be used does not stop the others.
int run(const std::vector<std::string>& traces, const po::variables_map& values) {
  const std::string json = values["json"].as<std::string>();
  const bool text = json != "-" && values.count("quiet") == 0;
  std::vector<Json> all;
  int status = exit_ok;
  for (const std::string& trace : traces) {
    try {
      const Asked asked = asked_of(trace, values);
      const Advice advice = advise(load_subject(asked.options), asked.gpus, threads_of(values));
      if (text) fmt::print("{}{}", all.empty() ? "" : "\n", advice_text(advice));
      all.push_back(advice_json(advice));
      if (!lost_data(advice) || values.count("allow-data-loss") > 0) continue;
      fmt::print(stderr, "tandem: part of {} could not be used; --allow-data-loss accepts that\n",
                 printable(trace));
      if (status == exit_ok) status = exit_data_loss;
    } catch (const InputError& error) {
      if (traces.size() == 1) throw;
      fmt::print(stderr, "tandem: {}\n", printable(error.what()));
      status = exit_bad_input;
    }
  }
  write_json(all, traces.size() > 1, json);
  return status;
}

}  // namespace

int run_advise(const Arguments& arguments) {
  const po::options_description options = options_of_advise();
  const po::variables_map values = parse_arguments("advise", arguments, options, {{"trace", -1}});
  if (values.count("help") > 0) {
    std::cout << options;
    return exit_ok;
  }
  if (values.count("trace") == 0) {
    throw InputError("command line", "advise", "no TRACE", "tandem advise TRACE|NETWORK [options]");
  }
  return run(values["trace"].as<std::vector<std::string>>(), values);
}

}  // namespace tandem
