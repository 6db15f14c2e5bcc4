// Scores the kernel-time model on public tables of measured operators:
//   kernel_time_score --data DIR [--ops FILE] [--configs DIR] [--rows FILE.csv]
// DIR holds the folders neusight, vidur-a100-h100, deepbench-v100, llmcompass-a100, or some of
// them.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "sim/core/error.h"
#include "validation/fits/kernel_time/score.h"

namespace po = boost::program_options;

namespace tandem::kernel_time {
namespace {

void print_scores(const std::vector<Score>& scores) {
  fmt::print("{:<16} {:<16} {:<7} {:>6} {:>7} {:>7} {:>7} {:>9}\n", "type", "gpu", "part", "rows",
             "MAPE %", "bias %", "median", ">=100 us");
  for (const Score& s : scores) {
    fmt::print("{:<16} {:<16} {:<7} {:>6} {:>7.1f} {:>+7.1f} {:>7.1f} {:>9}\n", s.type, s.gpu,
               s.gpu.empty() ? "all" : to_string(s.part), s.rows, 100 * s.mape, 100 * s.bias,
               100 * s.median, s.long_rows > 0 ? fmt::format("{:.1f}", 100 * s.long_mape) : "-");
  }
}

void print_grids(const std::vector<GridScore>& scores) {
  fmt::print(
      "\nkernels that the tables name: algorithm and tile as predicted; grid of a kernel told\n");
  fmt::print("{:<16} {:<16} {:>6} {:>11} {:>7} {:>7}\n", "type", "gpu", "rows", "algorithm %",
             "tile %", "grid %");
  const auto share = [](std::size_t part, std::size_t all) {
    return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0.0;
  };
  for (const GridScore& s : scores) {
    fmt::print("{:<16} {:<16} {:>6} {:>11.1f} {:>7.1f} {:>7.1f}\n", s.type, s.gpu, s.rows,
               share(s.algorithms, s.rows), share(s.kernels, s.rows), share(s.grids, s.grid_rows));
  }
}

std::string shape_text(const MeasuredOp& op) {
  if (const auto* s = std::get_if<GemmShape>(&op.shape)) {
    return fmt::format("{}x{}x{}x{}", s->batch, s->m, s->n, s->k);
  }
  if (const auto* s = std::get_if<PointwiseShape>(&op.shape)) return fmt::format("{}", s->elements);
  if (const auto* s = std::get_if<RowShape>(&op.shape)) {
    return fmt::format("{}x{}", s->rows, s->columns);
  }
  const auto& s = std::get<ConvLayer>(op.shape);
  return fmt::format("{}x{}x{}x{} {} {}x{}", s.batch, s.in_channels, s.height, s.width,
                     s.out_channels, s.kernel_h, s.kernel_w);
}

void write_rows(const std::string& path, const std::vector<MeasuredTable>& tables,
                const GpuCatalogue& catalogue, const TimeConstants& constants) {
  std::ofstream out(path);
  out << "file,type,op,gpu,part,shape,measured_us,predicted_us,bound,algorithm,tile,split,grid\n";
  for (const MeasuredTable& table : tables) {
    const GpuArch& gpu = find_gpu(catalogue, table.gpu);
    const std::vector<double> us = predict_table(gpu, table, constants);
    for (std::size_t i = 0; i < us.size(); ++i) {
      const MeasuredOp& row = table.rows[i];
      const KernelTime t = predict(gpu, row, constants, {table.cache, table.repeats});
      out << fmt::format("{},{},{},{},{},{},{:.3f},{:.3f},{},{},{}x{},{},{}x{}x{}\n", table.file,
                         table.type, row.op, gpu.name,
                         row.fit       ? "fit"
                         : table.train ? "scored"
                                       : "test",
                         shape_text(row), row.measured_us, us[i], static_cast<int>(t.bound),
                         static_cast<int>(t.algorithm), t.tile_m, t.tile_n, t.split, t.grid_x,
                         t.grid_y, t.grid_z);
    }
  }
}

int run(int argc, char** argv) {
  po::options_description options("kernel_time_score");
  options.add_options()("help", "this text")("data", po::value<std::string>()->required(),
                                             "folder of the public tables")(
      "configs", po::value<std::string>()->default_value("configs"), "folder of gpus and kernels")(
      "ops",
      po::value<std::string>()->default_value(
          "validation/captures/h200_2026-11-20_fit/ops/ops-times.csv.gz"),
      "operators measured on H200")("rows", po::value<std::string>(),
                                    "write every row to this CSV file");
  po::variables_map args;
  po::store(po::parse_command_line(argc, argv, options), args);
  if (args.contains("help")) {
    std::cout << options;
    return 0;
  }
  po::notify(args);
  const std::string configs = args["configs"].as<std::string>();
  const GpuCatalogue catalogue = load_catalogue(configs + "/gpus");
  const TimeConstants constants = TimeConstants::load(configs + "/kernels/time.json");
  auto tables = read_tables(args["data"].as<std::string>());
  read_ops(args["ops"].as<std::string>(), tables);
  for (const std::string& note : drop_unknown(tables, catalogue)) fmt::print("{}\n", note);
  if (tables.empty()) {
    fmt::print("skipped: none of the tables is in {}\n", args["data"].as<std::string>());
    return 0;
  }
  print_scores(score_tables(tables, catalogue, constants));
  fmt::print("\nrows that no constant was fitted on, all GPUs\n");
  print_scores(score_types(tables, catalogue, constants));
  print_grids(score_grids(tables, catalogue, constants));
  if (args.contains("rows")) {
    write_rows(args["rows"].as<std::string>(), tables, catalogue, constants);
  }
  return 0;
}

}  // namespace
}  // namespace tandem::kernel_time

int main(int argc, char** argv) {
  try {
    return tandem::kernel_time::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "kernel_time_score: {}\n", e.what());
    return 2;
  }
}
