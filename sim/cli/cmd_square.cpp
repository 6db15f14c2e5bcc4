// tandem square: a tiny kernel launched back to back, as in EuroMLSys'23 figure 1.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "models/arch/default_gpus.h"
#include "models/arch/gpu_config.h"
#include "models/kernel/tiny_launch/tiny_launch.h"
#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/cli/schema/documents.h"
#include "sim/core/error.h"
#include "sim/report/svg_chart.h"

namespace tandem {

namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

/// Errors: InputError outside of 1 to `most`.
std::uint32_t count(const po::variables_map& values, const std::string& option, std::int64_t most) {
  const auto value = values[option].as<std::int64_t>();
  if (value >= 1 && value <= most) return static_cast<std::uint32_t>(value);
  throw InputError("command line", "--" + option, std::to_string(value),
                   "1 to " + std::to_string(most));
}

struct Model {
  GpuArch gpu;
  TinyConstants constants;
  StoreTarget stores = StoreTarget::same_lines;

  TinyLaunchCost operator()(std::uint32_t blocks, std::uint32_t threads) const {
    return back_to_back(gpu, square_launch(blocks, threads), stores, constants);
  }
};

/// A line a block size, over the number of blocks.
std::string figure(const Model& model) {
  constexpr std::array<std::uint32_t, 7> sizes = {1, 32, 128, 256, 512, 768, 1024};
  std::array<Chart, 2> panels;
  panels[0].title = "SM active (SMACT), " + model.gpu.name;
  panels[1].title = "SM occupancy (SMOCC)";
  for (std::size_t p = 0; p < panels.size(); ++p) {
    Chart& chart = panels[p];
    chart.x_label = "blocks";
    chart.y_label = "share";
    chart.log_x = true;
    chart.y_max = 1;
    for (const std::uint32_t threads : sizes) {
      ChartSeries series{fmt::format("{} threads", threads), {}};
      series.markers = false;
      for (std::uint32_t blocks = 1; blocks <= 1U << 17U; blocks *= 2) {
        const TinyLaunchCost cost = model(blocks, threads);
        series.points.push_back({double(blocks), p == 0 ? cost.smact : cost.smocc, ""});
      }
      chart.series.push_back(std::move(series));
    }
  }
  return chart_svg(panels, 2);
}

void print(const TinyLaunchCost& cost, const GpuArch& gpu, std::uint32_t blocks,
           std::uint32_t threads) {
  fmt::print("launch     {} blocks of {} threads, back to back, on {}\n", blocks, threads,
             gpu.name);
  fmt::print("period     {:.2f} us from launch to launch\n", cost.period_us);
  fmt::print(
      "use        GRACT {:.3f}, SMACT {:.3f}, SMOCC {:.3f} (DCGM's ratios, over the period)\n",
      cost.gract, cost.smact, cost.smocc);
}

Json to_json(const TinyLaunchCost& cost, const GpuArch& gpu, std::uint32_t blocks,
             std::uint32_t threads) {
  return {{"schema", "tandem.square/1"},
          {"gpu", gpu.name},
          {"blocks", blocks},
          {"threads", threads},
          {"period_us", cost.period_us},
          {"gract", cost.gract},
          {"smact", cost.smact},
          {"smocc", cost.smocc}};
}

}  // namespace

CommandLine square_line() {
  po::options_description launch("Launch"), output("Output");
  launch.add_options()("blocks", po::value<std::int64_t>()->value_name("N"), "blocks of a launch")(
      "threads", po::value<std::int64_t>()->value_name("N"), "threads of a block")(
      "gpu", text_value(gpu_value),
      "one of configs/kernels/tiny_launch.json; default: square_gpu of configs/defaults.json")(
      "own-lines", "every block stores to lines of its own; default: all to the same");
  output.add_options()("figure", text_value(file_value),
                       "draw SM activity and occupancy over blocks and block sizes here (SVG)")(
      "json", text_value(file_value), "write the result here; -: stdout");
  return {"square",
          "--blocks B --threads T [options]",
          "A tiny kernel launched back to back: SM activity and occupancy, as DCGM counts.",
          {},
          {launch, output}};
}

namespace {

/// Whether a launch is asked for. Errors: InputError for what says nothing without the other.
bool asks_launch(const po::variables_map& values) {
  const bool picture = !values["figure"].as<std::string>().empty();
  const bool blocks = values.count("blocks") > 0, threads = values.count("threads") > 0;
  if (blocks && threads) return true;
  if (blocks != threads || !picture) {
    throw InputError("command line", "square",
                     !blocks && !threads ? "no --blocks or no --threads"
                     : blocks            ? "no --threads"
                                         : "no --blocks",
                     "tandem square --blocks B --threads T, or --figure FILE.svg");
  }
  if (!values["json"].as<std::string>().empty()) {
    throw InputError("command line", "--json", "no --blocks and --threads",
                     "both beside it: a figure has no JSON");
  }
  return false;
}

}  // namespace

int run_square(const Arguments& arguments) {
  const auto parsed = parse_arguments(square_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  const std::string picture = values["figure"].as<std::string>();
  const bool launch = asks_launch(values);
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31U) - 1;
  const std::uint32_t blocks = launch ? count(values, "blocks", most_blocks) : 0;
  const std::uint32_t threads = launch ? count(values, "threads", 1024) : 0;
  const std::string root = data_root() + "/configs/";
  const GpuCatalogue gpus = load_catalogue(root + "gpus");
  const std::string asked = values["gpu"].as<std::string>();
  const GpuArch& gpu = find_gpu(
      gpus, asked.empty() ? load_default_gpus(root + "defaults.json", gpus).square : asked);
  Model model{gpu, load_tiny_constants(root + "kernels/tiny_launch.json", gpu.name)};
  if (values.count("own-lines") > 0) model.stores = StoreTarget::own_lines;
  if (!picture.empty()) {
    write_file(picture, [&](std::ostream& out) { out << figure(model); });
  }
  if (!launch) return exit_ok;
  const TinyLaunchCost cost = model(blocks, threads);
  write_document(values["json"].as<std::string>(), to_json(cost, model.gpu, blocks, threads));
  if (!fills_stdout(values)) print(cost, model.gpu, blocks, threads);
  return exit_ok;
}

}  // namespace tandem
