// tandem advise: what would make a step faster, ranked.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/advise/advise.h"
#include "sim/cli/files.h"
#include "sim/cli/many/shown.h"
#include "sim/cli/scenario_options.h"
#include "sim/cli/schema/documents.h"
#include "sim/report/advice_report.h"
#include "sim/report/html/advice_page.h"

namespace tandem {

namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

std::vector<std::string> gpus_of(const std::string& list) {
  if (list.empty()) return {};
  std::vector<std::string> gpus = comma_list(list);
  if (std::find(gpus.begin(), gpus.end(), "") == gpus.end()) return gpus;
  throw InputError("command line", "--gpu", "\"" + list + "\"", "names with a comma between them");
}

/// The file that is meant: itself, or a network by its name.
std::string subject_path(const std::string& text, const std::string& task) {
  std::error_code error;
  if (std::filesystem::exists(text, error)) return text;
  const std::string network = network_path(text, task, data_root() + "/workloads/nets");
  return std::filesystem::exists(network, error) ? network : text;
}

struct AskedAdvice {
  ReplayOptions options;
  std::vector<std::string> gpus;
};

/// What is asked of the trace or network `text`.
AskedAdvice asked_of(const std::string& text, const po::variables_map& values) {
  AskedAdvice asked;
  ReplayOptions& o = asked.options;
  o.configs = data_root() + "/configs";
  read_trace_options(values, o);
  read_host_options(values, o);
  o.job = job_of(values);
  show_import(o);
  const std::string task = values["task"].as<std::string>();
  if (!task.empty()) o.network_task = parse_task(task, "command line", "--task");
  o.trace_path = subject_path(text, task);
  asked.gpus = gpus_of(values["gpu"].as<std::string>());
  const bool network = is_network(o.trace_path);
  if (network && !asked.gpus.empty()) {
    o.what_ifs.set("gpu", asked.gpus.front());
    asked.gpus.erase(asked.gpus.begin());
  }
  if (!network && o.network_task) {
    throw InputError("command line", "--task", "a trace, " + text, "a network");
  }
  if (values.count("batch") == 0) return asked;
  if (!network) {
    throw InputError("command line", "--batch", "a trace, " + text,
                     "a network, or tandem replay TRACE --batch N");
  }
  o.what_ifs.set("batch", std::to_string(values["batch"].as<std::int64_t>()));
  return asked;
}

Advice advice_on(const std::string& subject, const po::variables_map& values) {
  const AskedAdvice asked = asked_of(subject, values);
  return advise(load_subject(asked.options), asked.gpus, threads_of(values));
}

/// Of one trace an object, of several a list.
void write_json(const std::vector<CheckedDocument>& all, bool several, const std::string& path) {
  write_document(path, several ? CheckedDocument(all) : all.front());
}

/// Part of the trace was lost: the advice is on less than was measured.
bool lost_data(const Advice& advice) {
  return advice.base().result.losses.any(Severity::data_loss);
}

Shown advise_one(const std::string& trace, bool alone, const po::variables_map& values) {
  Shown done;
  done.path = trace;
  try {
    const Advice advice = advice_on(trace, values);
    done.json = advice_json(advice);
    write_file(values["report"].as<std::string>(),
               [&](std::ostream& out) { out << html::page_html(html::advice_page(advice)); });
    done.text = advice_text(advice);
    done.lost = lost_data(advice);
  } catch (const InputError& error) {
    if (alone) throw;
    done.error = error.what();
  }
  return done;
}

/// On all cores, shown in their order; one that cannot be used does not stop the others.
int run(const std::vector<std::string>& traces, const po::variables_map& values) {
  if (traces.size() > 1 && !values["report"].as<std::string>().empty()) {
    throw InputError("command line", "--report", "several traces", "one; a page is of one step");
  }
  const std::string json = values["json"].as<std::string>();
  const auto work = [&](std::size_t i) {
    return advise_one(traces[i], traces.size() == 1, values);
  };
  std::vector<CheckedDocument> all;
  const int status = show_in_order(traces.size(), values, work, all);
  write_json(all, traces.size() > 1, json);
  return status;
}

std::vector<std::string> named_steps(const po::variables_map& values) {
  if (values.count("trace") > 0) return values["trace"].as<std::vector<std::string>>();
  throw InputError("command line", "advise", "no TRACE", "tandem advise TRACE|NETWORK [options]");
}

}  // namespace

CommandLine advise_line() {
  po::options_description input("Trace or network"), host("Host"), job("Job"), output("Output");
  input.add_options()("trace", po::value<std::vector<std::string>>()->value_name(network_value),
                      "profiler trace, name of a file in workloads/nets, or a network (.onnx)")(
      "gpu", text_value("GPU,GPU"),
      "other GPUs to try; of a network: the first one is where it runs")(
      "batch", po::value<std::int64_t>()->value_name("N"), "of a network: its batch")(
      "task", text_value("train|infer"),
      "of a network: which step; default: train, or what a file was recorded with");
  add_trace_options(input);
  add_host_options(host);
  add_job_options(job);
  add_threads_option(output);
  output.add_options()("json", text_value(file_value), "write the advice here; -: stdout")(
      "report", text_value(file_value),
      "write a page (HTML, needs no network) with charts and tables here")("quiet", "no text");
  add_loss_option(output);
  return {"advise",
          "TRACE|NETWORK [TRACE ...] [options]",
          "Precisions, CUDA graphs, compilers, batches and other GPUs predicted and ranked by\n"
          "throughput, each with the reason; of several traces in their order.",
          {{"trace", -1}},
          {input, host, job, output}};
}

std::optional<Json> answer_advise(const Arguments& arguments) {
  const auto values = parse_arguments(advise_line(), arguments);
  if (!values) return {};
  return advice_json(advice_on(named_steps(*values).front(), *values));
}

int run_advise(const Arguments& arguments) {
  const auto values = parse_arguments(advise_line(), arguments);
  return values ? run(named_steps(*values), *values) : exit_ok;
}

}  // namespace tandem
