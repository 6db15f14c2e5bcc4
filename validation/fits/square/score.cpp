// Errors of the tiny-launch model against EuroMLSys'23 figure 1 and against our own measurement.
//
//   square_score [--data DIR] [--root DIR] [--table] [--fit]
//
// --data: folder with pmdlt-a100/square_steady_state_median.csv (not redistributable); --root: the
// repository. --table prints every point, --fit refits the constants to the points that may be.
#include <fmt/core.h>

#include <filesystem>

#include "models/arch/gpu_config.h"
#include "validation/fits/square/points.h"

namespace {

using namespace tandem;

struct Options {
  std::string data;
  std::string root = ".";
  bool table = false;
  bool fit = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--table") {
      options.table = true;
    } else if (name == "--fit") {
      options.fit = true;
    } else if ((name == "--data" || name == "--root") && i + 1 < argc) {
      (name == "--data" ? options.data : options.root) = argv[++i];
    } else {
      throw std::runtime_error(fmt::format(
          "command line: found {}, expected [--data DIR] [--root DIR] [--table] [--fit]", name));
    }
  }
  return options;
}

struct Model {
  GpuArch gpu;
  TinyConstants constants;
  Model(const Options& options, const std::string& name)
      : gpu(load_gpu(options.root + "/configs/gpus/" + name + ".json")),
        constants(load_tiny_constants(options.root + "/configs/kernels/tiny_launch.json", name)) {}
};

void print_errors(std::string_view title, const Model& model,
                  const std::vector<SquarePoint>& points, StoreTarget stores) {
  const SquareErrors e = errors_of(model.gpu, points, stores, model.constants);
  fmt::print("{:44} {:3}  {:.3f} ({:+.3f})  {:.3f} ({:+.3f})  {:.3f}  {:5.1f} %\n", title, e.count,
             e.smact, e.smact_bias, e.smocc, e.smocc_bias, e.gract, 100 * e.log_period);
}

void print_points(const Model& model, const std::vector<SquarePoint>& points, StoreTarget stores) {
  fmt::print("  blocks threads  SMACT measured  SMOCC measured  period us measured\n");
  for (const SquarePoint& p : points) {
    const TinyLaunchCost cost = back_to_back(model.gpu, p.geometry, stores, model.constants);
    fmt::print("{:8} {:7}  {:.3f}    {:.3f}  {:.3f}    {:.3f}   {:8.2f} {:8.2f}\n",
               p.geometry.grid[0], p.geometry.block[0], cost.smact, p.smact, cost.smocc, p.smocc,
               cost.period_us, p.period_us);
  }
}

void score_published(const Options& options) {
  const std::string path = options.data + "/pmdlt-a100/square_steady_state_median.csv";
  if (options.data.empty() || !std::filesystem::exists(path)) {
    fmt::print("A100: not scored, needs --data DIR with pmdlt-a100\n");
    return;
  }
  Model model(options, "a100_sxm4_40gb");
  const std::vector<SquarePoint> all = read_published(path);
  std::vector<SquarePoint> fit, rest;
  for (const SquarePoint& point : all) (may_be_fitted(point) ? fit : rest).push_back(point);
  if (options.fit) {
    model.constants = fit_constants(model.gpu, fit, model.constants);
    for (const FittedConstant& f : fitted_constants()) {
      fmt::print("{} = {:.5g}\n", f.name, model.constants.*f.member);
    }
  }
  print_errors("A100, fitted points", model, fit, StoreTarget::same_lines);
  print_errors("A100, all others", model, rest, StoreTarget::same_lines);
  print_errors("A100, all", model, all, StoreTarget::same_lines);
  if (options.table) print_points(model, all, StoreTarget::same_lines);
}

void score_ours(const Options& options) {
  const std::string path =
      options.root + "/validation/captures/h200_2026-11-20_fit/square/activity.csv";
  if (!std::filesystem::exists(path)) {
    fmt::print("H200: not scored, no {}\n", path);
    return;
  }
  const Model model(options, "h200_sxm");
  const auto score = [&](const char* title, const char* kernel, StoreTarget stores) {
    const std::vector<SquarePoint> points = read_activity(path, kernel);
    print_errors(title, model, points, stores);
    if (options.table) print_points(model, points, stores);
  };
  score("H200, same kernel (stores: the A100's)", "same_lines", StoreTarget::same_lines);
  score("H200, every block its own lines", "own_lines", StoreTarget::own_lines);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    fmt::print("{:44} {:>3}  {:14}  {:14}  {:5}  {:7}\n", "mean absolute error (signed)", "n",
               "SMACT", "SMOCC", "GRACT", "period");
    score_published(options);
    score_ours(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
