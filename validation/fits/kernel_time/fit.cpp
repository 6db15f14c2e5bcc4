// Fits constants of the kernel-time model to the rows that may be used for it (tables.h):
//   kernel_time_fit --data DIR --types bmm,linear --free shared.simt_prologue_k,7+8.simt_64x64 ...
// A constant is named by where it stands: shared, or the major compute capabilities that share it.
// Coordinate descent on the mean absolute error, every type and GPU weighing the same. Prints the
// constants; the file is edited by hand.
#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <boost/program_options.hpp>
#include <cstdio>
#include <functional>
#include <iostream>

#include "sim/core/error.h"
#include "sim/core/fields/field.h"
#include "validation/fits/kernel_time/score.h"

namespace po = boost::program_options;

namespace tandem::kernel_time {
namespace {

// One free constant, in all places that share it.
class Parameter {
 public:
  Parameter(const std::string& name, TimeConstants& constants) : name_(name) {
    const std::size_t dot = name.find('.');
    const Place place{"--free", name};
    if (dot == std::string::npos) place.fail(name, "shared.NAME or 8.NAME");
    const std::string owner = name.substr(0, dot);
    const std::string key = name.substr(dot + 1);
    if (owner == "shared") {
      add(find_field(time_shared_fields(), key, place), constants.shared());
      return;
    }
    for (TimeGeneration& generation : constants.generations()) {
      if (owner.find(static_cast<char>('0' + generation.compute_major)) != std::string::npos) {
        add(find_field(time_generation_fields(), key, place), generation);
      }
    }
    if (setters_.empty()) place.fail(name, "a generation of the file");
  }
  const std::string& name() const { return name_; }
  double value() const { return value_; }
  void set(double value) {
    value_ = value;
    for (const auto& setter : setters_) setter(value);
  }

 private:
  template <class T>
  void add(const Field<T>& field, T& object) {
    value_ = field.write(object).template get<double>();
    setters_.push_back([&field, &object](double v) { field.read(object, Json(v), {}); });
  }
  std::string name_;
  double value_ = 0;
  std::vector<std::function<void(double)>> setters_;
};

struct Problem {
  std::vector<MeasuredTable> tables;
  const GpuCatalogue& catalogue;
  TimeConstants constants;

  double error() const {
    double sum = 0, n = 0;
    for (const Score& s : score_tables(tables, catalogue, constants)) {
      if (s.part == Part::fit) sum += s.mape, n += 1;
    }
    return n > 0 ? sum / n : 0;
  }
};

// Tries steps up and down for each constant; halves them when none helps.
void descend(Problem& problem, std::vector<Parameter>& free) {
  constexpr double smallest_step = 0.004;
  double best = problem.error();
  for (double step = 0.15; step > smallest_step;) {
    const double before = best;
    for (Parameter& p : free) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        const double old = p.value();
        p.set(old * factor);
        const double error = problem.error();
        if (error < best - 1e-7) {
          best = error;
        } else {
          p.set(old);
        }
      }
    }
    if (before - best < 2e-5) step /= 2;
  }
}

void keep_types(std::vector<MeasuredTable>& tables, const std::vector<std::string>& types,
                const std::vector<std::string>& gpus, const GpuCatalogue& catalogue) {
  std::erase_if(tables, [&](const MeasuredTable& t) {
    const std::string& gpu = find_gpu(catalogue, t.gpu).name;
    const bool wanted_gpu =
        gpus.front().empty() || std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
    return !t.train || !wanted_gpu || std::find(types.begin(), types.end(), t.type) == types.end();
  });
}

std::vector<std::string> list(const po::variables_map& args, const std::string& name) {
  std::vector<std::string> out;
  boost::split(out, args[name].as<std::string>(), boost::is_any_of(","));
  return out;
}

int run(int argc, char** argv) {
  using std::string;
  po::options_description options("kernel_time_fit");
  options.add_options()("help", "this text")("data", po::value<string>()->required(), "tables")(
      "ops",
      po::value<string>()->default_value(
          "validation/captures/h200_2026-11-20_fit/ops/ops-times.csv.gz"),
      "operators measured on H200")("configs", po::value<string>()->default_value("configs"),
                                    "folder of gpus and kernels")(
      "types", po::value<string>()->required(), "operator types")(
      "gpus", po::value<string>()->default_value(""), "only these GPUs")(
      "free", po::value<string>()->required(), "constants to fit");
  po::variables_map args;
  po::store(po::parse_command_line(argc, argv, options), args);
  if (args.contains("help")) {
    std::cout << options;
    return 0;
  }
  po::notify(args);
  const string configs = args["configs"].as<string>();
  const GpuCatalogue catalogue = load_catalogue(configs + "/gpus");
  Problem problem{read_tables(args["data"].as<string>()), catalogue,
                  TimeConstants::load(configs + "/kernels/time.json")};
  read_ops(args["ops"].as<string>(), problem.tables);
  keep_types(problem.tables, list(args, "types"), list(args, "gpus"), catalogue);
  const std::vector<MeasuredTable> all_rows = problem.tables;
  for (MeasuredTable& t : problem.tables) {
    std::erase_if(t.rows, [](const MeasuredOp& row) { return !row.fit; });
  }
  std::vector<Parameter> free;
  for (const string& name : list(args, "free")) free.emplace_back(name, problem.constants);
  fmt::print("error before {:.2f} %\n", 100 * problem.error());
  descend(problem, free);
  for (const Parameter& p : free) fmt::print("{} {:.4g}\n", p.name(), p.value());
  for (const Score& s : score_tables(all_rows, catalogue, problem.constants)) {
    fmt::print("{:<12} {:<16} {:<7} {:>6} {:>6.2f} % bias {:+.2f} %\n", s.type, s.gpu,
               to_string(s.part), s.rows, 100 * s.mape, 100 * s.bias);
  }
  return 0;
}

}  // namespace
}  // namespace tandem::kernel_time

int main(int argc, char** argv) {
  try {
    return tandem::kernel_time::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "kernel_time_fit: {}\n", e.what());
    return 2;
  }
}
