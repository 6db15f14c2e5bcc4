// Occupancy against what NVIDIA says: its calculator's header, its driver and Nsight Compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "models/arch/gpu_config.h"
#include "models/arch/occupancy.h"
#include "sim/trace/source/byte_source.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
const std::string tables = source_path("tests/golden/occupancy/");

GpuArch gpu(const std::string& name) {
  return load_gpu(source_path("configs/gpus/") + name + ".json");
}

// Rows of whole numbers under a header line.
std::vector<std::vector<int>> read_table(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<std::vector<int>> rows;
  while (std::getline(file, line)) {
    std::vector<int>& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stoi(cell));
  }
  return rows;
}

int or_no_limit(int limit) { return limit < 0 ? no_limit : limit; }

// Columns: cc, threads, registers, static, dynamic, opt_in, carveout, barriers, blocks,
// limit_warps, limit_registers, limit_shared, limit_barriers, shared_allocated, factors.
void compare_with_header(const GpuArch& arch, const std::vector<int>& row) {
  LaunchGeometry launch;
  launch.block = {static_cast<std::uint32_t>(row[1]), 1, 1};
  launch.registers_per_thread = static_cast<std::uint32_t>(row[2]);
  launch.shared_bytes = static_cast<std::uint32_t>(row[3] + row[4]);
  const OccupancyOptions options{row[6], row[5] != 0, row[7], 1};
  const Occupancy o = occupancy(arch, launch, options);
  EXPECT_EQ(o.blocks_per_sm, row[8]);
  EXPECT_EQ(o.limit_warps, row[9]);
  EXPECT_EQ(o.limit_registers, or_no_limit(row[10]));
  EXPECT_EQ(o.limit_shared, or_no_limit(row[11]));
  EXPECT_EQ(o.limit_barriers, or_no_limit(row[12]));
  EXPECT_EQ(o.shared_allocated_bytes, row[13]);
  // Where barriers bind, the header still names the limits that bound before; we do not.
  const int named = o.limited_by(Limiter::barriers) ? o.limiters & row[14] : row[14];
  EXPECT_EQ(o.limiters, named);
}

TEST(OccupancyGolden, CudaOccupancyHeader) {
  const std::map<int, GpuArch> gpus{
      {70, gpu("v100_sxm2_16gb")}, {80, gpu("a100_sxm4_40gb")}, {90, gpu("h200_sxm")}};
  std::map<int, int> rows;
  for (const std::vector<int>& row : read_table(tables + "cuda_occupancy.csv")) {
    ASSERT_EQ(row.size(), 15u);
    compare_with_header(gpus.at(row[0]), row);
    ++rows[row[0]];
    if (HasFailure()) FAIL() << "row " << rows[row[0]] << " of compute capability " << row[0];
  }
  for (const int capability : {70, 80, 90}) EXPECT_GE(rows[capability], 2550);
}

// Columns: threads, registers, dynamic, carveout, cluster, count.
TEST(OccupancyGolden, CudaDriverOnH200) {
  const GpuArch h200 = gpu("h200_sxm");
  int launches = 0, clusters = 0;
  for (const std::vector<int>& row : read_table(tables + "driver_h200.csv")) {
    ASSERT_EQ(row.size(), 6u);
    LaunchGeometry launch;
    launch.block = {static_cast<std::uint32_t>(row[0]), 1, 1};
    launch.registers_per_thread = static_cast<std::uint32_t>(row[1]);
    launch.shared_bytes = static_cast<std::uint32_t>(row[2]);
    OccupancyOptions options;
    options.carveout_percent = row[3];
    const Occupancy o = occupancy(h200, launch, options);
    const int ours = row[4] == 0 ? o.blocks_per_sm : max_active_clusters(h200, o, row[4]);
    ASSERT_EQ(ours, row[5]) << row[0] << " threads, " << row[2] << " B, cluster " << row[4];
    ++(row[4] == 0 ? launches : clusters);
  }
  EXPECT_GE(launches, 2400);
  EXPECT_GE(clusters, 80);
}

std::vector<std::string> read_lines(const std::string& path) {
  ByteSource source(path);
  std::string text;
  std::vector<char> piece(1 << 20);
  while (const std::size_t size = source.read(piece)) text.append(piece.data(), size);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Cells of a line in which every cell is quoted.
std::vector<std::string> quoted_cells(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at < line.size() && line[at] == '"';) {
    const std::size_t end = line.find('"', at + 1);
    cells.push_back(line.substr(at + 1, end - at - 1));
    at = end + 2;
  }
  return cells;
}

/// One kernel of an Nsight Compute report by column name.
struct Row {
  std::map<std::string, std::string> cells;
  double number(const std::string& name) const {
    std::string text = cells.at("launch__" + name);
    std::erase(text, ',');
    return std::stod(text);
  }
  int whole(const std::string& name) const { return static_cast<int>(number(name)); }
};

std::vector<Row> read_counters(const fs::path& path) {
  std::vector<std::string> header;
  std::vector<Row> rows;
  for (const std::string& line : read_lines(path.string())) {
    const std::vector<std::string> cells = quoted_cells(line);
    if (cells.empty()) continue;  // a log line
    if (header.empty()) {
      header = cells;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < cells.size(); ++i) row.cells[header[i]] = cells[i];
    if (!row.cells["ID"].empty()) rows.push_back(std::move(row));  // else the row of units
  }
  return rows;
}

LaunchGeometry geometry(const Row& row) {
  LaunchGeometry launch;
  launch.grid = {static_cast<std::uint32_t>(row.number("grid_size")), 1, 1};
  launch.block = {static_cast<std::uint32_t>(row.number("block_size")), 1, 1};
  launch.registers_per_thread = static_cast<std::uint32_t>(row.number("registers_per_thread"));
  launch.shared_bytes = static_cast<std::uint32_t>(row.number("shared_mem_per_block_static") +
                                                   row.number("shared_mem_per_block_dynamic"));
  return launch;
}

// Nsight Compute reports a barrier limit above the block limit as the block limit, and the limit by
// shared memory for the carve-out the driver chose.
void compare_with_counters(const GpuArch& h200, const Row& row, int* carveouts_right) {
  const LaunchGeometry launch = geometry(row);
  OccupancyOptions options;
  options.barriers_per_block = row.whole("barrier_count");
  const Occupancy o = occupancy(h200, launch, options);
  EXPECT_EQ(o.limit_registers, row.whole("occupancy_limit_registers"));
  EXPECT_EQ(o.limit_warps, row.whole("occupancy_limit_warps"));
  EXPECT_EQ(o.limit_blocks, row.whole("occupancy_limit_blocks"));
  EXPECT_EQ(std::min(o.limit_barriers, o.limit_blocks), row.whole("occupancy_limit_barriers"));
  EXPECT_EQ(o.shared_allocated_bytes, row.number("shared_mem_per_block_allocated"));
  const std::int64_t config = static_cast<std::int64_t>(row.number("shared_mem_config_size"));
  EXPECT_EQ(config / o.shared_allocated_bytes, row.whole("occupancy_limit_shared_mem"));
  const int blocks =
      std::min({row.whole("occupancy_limit_registers"), row.whole("occupancy_limit_shared_mem"),
                row.whole("occupancy_limit_warps"), row.whole("occupancy_limit_blocks"),
                row.whole("occupancy_limit_barriers")});
  EXPECT_EQ(o.blocks_per_sm, blocks);
  EXPECT_NEAR(waves(h200, launch, o).count, row.number("waves_per_multiprocessor"), 0.006);
  *carveouts_right += driver_carveout_bytes(h200, launch, o) == config;
}

TEST(OccupancyGolden, NsightComputeOnH200) {
  const GpuArch h200 = gpu("h200_sxm");
  int rows = 0, carveouts_right = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(
           source_path("validation/captures/h200_2026-11-22_models_holdout/counters"))) {
    for (const Row& row : read_counters(entry.path())) {
      compare_with_counters(h200, row, &carveouts_right);
      ++rows;
      if (HasFailure()) FAIL() << entry.path().filename() << " ID " << row.cells.at("ID");
    }
  }
  EXPECT_GE(rows, 821);
  EXPECT_GE(carveouts_right, rows * 97 / 100);
}

}  // namespace
}  // namespace tandem
