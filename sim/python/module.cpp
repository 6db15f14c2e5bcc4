// The module tandem._tandem: what the commands find, as JSON and columns. tandem/__init__.py makes
// objects and pandas tables of that; nothing here computes. All long calls release the GIL.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "sim/cli/scenario_options.h"
#include "sim/cli/schema/documents.h"
#include "sim/core/fields/field.h"
#include "sim/predict/network_run.h"
#include "sim/report/report.h"
#include "sim/sweep/points.h"

namespace tandem {

namespace {

namespace py = pybind11;
using WithoutGil = py::call_guard<py::gil_scoped_release>;

std::string json_text(const Json& json) { return CheckedDocument(json).text(-1); }

const Result& result_of(const Answer& answer) {
  return answer.found.replays.front().prediction.result;
}

/// Runs a command's answer and writes the files that its options ask for.
std::shared_ptr<Answer> answer(std::optional<Answer> (*command)(const Arguments&),
                               const Arguments& arguments) {
  std::optional<Answer> found = command(arguments);
  if (!found) return nullptr;  // --help, which is printed
  auto out = std::make_shared<Answer>(std::move(*found));
  write_outputs(out->found, out->paths);
  return out;
}

/// What a command's --json says; empty for --help, which is printed.
std::string json_of(std::optional<Json> (*command)(const Arguments&), const Arguments& arguments) {
  const std::optional<Json> found = command(arguments);
  return found ? json_text(*found) : "null";
}

std::string kernels_csv(const Answer& answer) {
  std::ostringstream out;
  write_kernels(out, answer.found.replays.front());
  return std::move(out).str();
}

/// The text of an experiment; `path`: of its file, for messages and what is relative to it. A trace
/// that is only a name is a network's.
Sweep sweep(const std::string& text, const std::string& path, int threads) {
  const std::string root = data_root();
  Experiment experiment = parse_experiment(parse_json(text, path), path, sweep_metric_names());
  if (experiment.trace.find_first_of("./") == std::string::npos) {
    experiment.trace = network_path(experiment.trace, experiment.task, root + "/workloads/nets");
  }
  const SweepBase base = load_sweep_base(experiment, root + "/configs");
  check_values(base, experiment, path);
  RunOptions options;
  options.threads = threads;
  return run_sweep(experiment, base, nullptr, options);
}

/// Name -> values, in the order of the table: the settings of the points, as texts.
py::dict sweep_settings(const Sweep& sweep) {
  py::dict columns;
  for (const Axis& axis : sweep.experiment.axes) {
    py::list values;
    for (const Point& point : sweep.points) values.append(value_of(point, axis.name));
    columns[py::str(axis.name)] = values;
  }
  return columns;
}

/// Name -> the bytes of its doubles, which numpy reads as they are: pybind11's own arrays need the
/// numpy that it was written for.
py::dict sweep_metric_columns(const Sweep& sweep) {
  py::dict columns;
  for (const SweepMetric& metric : sweep_metrics()) {
    const std::vector<double> values = metric_column(sweep, metric.name);
    columns[py::str(std::string(metric.name))] =
        py::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  return columns;
}

std::vector<std::string> sweep_errors(const Sweep& sweep) {
  std::vector<std::string> errors;
  for (const PointResult& result : sweep.results) errors.push_back(result.error);
  return errors;
}

std::vector<std::string> experiment_keys() {
  std::vector<std::string> keys;
  for (const Field<Experiment>& f : experiment_fields()) keys.push_back(f.name);
  return keys;
}

/// Sets `type` with a text that need not be UTF-8.
void say_error(const py::object& type, const std::string& text) {
  const std::string shown = printable(text);
  PyErr_SetObject(
      type.ptr(),
      py::reinterpret_steal<py::object>(
          PyUnicode_DecodeUTF8(shown.data(), static_cast<py::ssize_t>(shown.size()), "replace"))
          .ptr());
}

/// tandem.InputError, with the message of the command line.
void add_input_error(py::module_& module) {
  static py::exception<InputError> type(module, "InputError", PyExc_ValueError);
  type.attr("__module__") = "tandem";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& error) {
      say_error(type, error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      say_error(type, message_of(error));
    }
  });
}

}  // namespace

PYBIND11_MODULE(_tandem, module) {
  module.attr("version") = TANDEM_VERSION;
  add_input_error(module);
  py::class_<Answer, std::shared_ptr<Answer>>(module, "Answer")
      .def("json", [](const Answer& a) { return json_text(result_json(result_of(a))); })
      .def("summary", [](const Answer& a) { return py::bytes(summary_text(result_of(a))); })
      .def("kernels_csv", [](const Answer& a) { return py::bytes(kernels_csv(a)); })
      .def_property_readonly("lossy", [](const Answer& a) {
        return !a.accepts_loss && result_of(a).losses.any(Severity::data_loss);
      });
  py::class_<Sweep>(module, "Sweep")
      .def("json", [](const Sweep& s) { return json_text(sweep_json(s)); })
      .def("settings", &sweep_settings)
      .def("metrics", &sweep_metric_columns)
      .def("errors", &sweep_errors)
      .def_readonly("front", &Sweep::front)
      .def_property_readonly("lossy",
                             [](const Sweep& s) { return s.losses.any(Severity::data_loss); })
      .def_property_readonly("failed", &failed_points);
  module.def(
      "replay", [](const Arguments& a) { return answer(answer_replay, a); }, WithoutGil());
  module.def(
      "run", [](const Arguments& a) { return answer(answer_run, a); }, WithoutGil());
  module.def(
      "advise", [](const Arguments& a) { return json_of(answer_advise, a); }, WithoutGil());
  module.def(
      "diff", [](const Arguments& a) { return json_of(answer_diff, a); }, WithoutGil());
  module.def("sweep", &sweep, WithoutGil());
  module.def("help_of_replay", [] { return help_text(replay_line()); });
  module.def("help_of_run", [] { return help_text(network_line()); });
  module.def("help_of_advise", [] { return help_text(advise_line()); });
  module.def("help_of_diff", [] { return help_text(diff_line()); });
  module.def("data_root", &data_root);
  module.def("experiment_keys", &experiment_keys);
}

}  // namespace tandem
