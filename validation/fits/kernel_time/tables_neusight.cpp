// NeuSight: FP32 operators timed with events around one PyTorch call.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "validation/fits/kernel_time/table_file.h"
#include "validation/fits/kernel_time/tables.h"

namespace tandem::kernel_time {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view two_operands[] = {"add", "mul", "div", "pow"};
constexpr std::string_view one_operand[] = {"addu", "mulu", "divu", "powu", "relu", "gelu", "tanh"};

template <std::size_t N>
bool among(std::string_view op, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

std::string table_type(std::string_view op) {
  if (op == "ln") return "layer_norm";
  if (among(op, two_operands) || among(op, one_operand)) return "pointwise";
  if (op == "bmm" || op == "linear" || op == "conv" || op == "softmax") return std::string(op);
  return "";
}

// The table's N is the inner dimension and K the number of output features: (M, N) x (N, K). A
// linear layer sees all rows of a batch as one matrix.
void read_product(const TableFile& file, MeasuredOp& row, bool linear) {
  GemmShape s;
  const std::int64_t batch = file.integer(file.column("B"));
  s.batch = linear ? 1 : batch;
  s.m = file.integer(file.column("M")) * (linear ? batch : 1);
  s.k = file.integer(file.column("N"));
  s.n = file.integer(file.column("K"));
  s.b_k_major = linear;
  row.shape = s;
  row.fit = is_fit_row(fmt::format("{} {} {} {} {}", row.op, s.batch, s.m, s.k, s.n));
}

void read_conv(const TableFile& file, MeasuredOp& row) {
  ConvLayer s;
  s.batch = file.integer(file.column("B"));
  s.in_channels = file.integer(file.column("Input_Channel"));
  s.out_channels = file.integer(file.column("Output_Channel"));
  s.height = s.width = file.integer(file.column("Input_Size"));
  s.kernel_h = s.kernel_w = static_cast<int>(file.integer(file.column("Kernel_Szie")));
  s.stride_h = s.stride_w = static_cast<int>(file.integer(file.column("Stride")));
  s.pad_h = s.pad_w = static_cast<int>(file.integer(file.column("Padding")));
  row.shape = s;
  row.fit = is_fit_row(fmt::format("conv {} {} {} {} {} {} {}", s.batch, s.in_channels,
                                   s.out_channels, s.kernel_h, s.height, s.stride_h, s.pad_h));
}

void read_rows_or_elements(const TableFile& file, MeasuredOp& row) {
  const std::int64_t b = file.integer(file.column("B"));
  const std::int64_t h = file.integer(file.column("H"));
  row.fit = is_fit_row(fmt::format("{} {} {}", row.op, b, h));
  row.layer_norm = row.op == "ln";
  if (row.layer_norm || row.op == "softmax") {
    row.shape = RowShape{.rows = b, .columns = h};
  } else {
    row.shape = PointwiseShape{.elements = b * h, .reads = among(row.op, two_operands) ? 2 : 1};
  }
}

// Tile of volta_sgemm_32x128_tn, ampere_scudnn_128x64_relu, ...tilesize128x64x8...
bool read_tile(std::string_view name, MeasuredKernel& out) {
  for (const std::string_view key : {"sgemm_", "scudnn_", "tilesize"}) {
    const std::size_t at = name.find(key);
    if (at == std::string_view::npos) continue;
    const char* end = name.data() + name.size();
    const auto m = std::from_chars(name.data() + at + key.size(), end, out.tile_m);
    if (m.ec != std::errc{} || m.ptr == end || *m.ptr != 'x') continue;
    if (std::from_chars(m.ptr + 1, end, out.tile_n).ec == std::errc{}) return true;
  }
  return false;
}

MeasuredKernel read_kernel(const TableFile& file) {
  MeasuredKernel out;
  const std::string_view name = file.text(file.column("Kernel Name"));
  const std::string_view all = file.text(file.column("Kernels"));
  out.known = read_tile(name, out);
  if (name.find("winograd") != std::string_view::npos) {
    out.algorithm = KernelAlgorithm::winograd_fused;
    out.tile_m = out.tile_n = 128;
    out.known = true;
  } else if (all.find("winograd_nonfused") != std::string_view::npos) {
    out.algorithm = KernelAlgorithm::winograd_transformed;
  }
  out.grid = {file.integer(file.column("Grid x")), file.integer(file.column("Grid y")),
              file.integer(file.column("Grid z"))};
  return out;
}

MeasuredOp read_row(const TableFile& file, const std::string& type) {
  MeasuredOp row;
  row.op = file.text(file.column("OPName"));
  if (type.empty()) return row;
  row.measured_us = file.number(file.column("Latency")) * 1e3;
  if (type == "bmm" || type == "linear" || type == "conv") row.kernel = read_kernel(file);
  if (type == "bmm" || type == "linear") {
    read_product(file, row, type == "linear");
  } else if (type == "conv") {
    read_conv(file, row);
  } else {
    read_rows_or_elements(file, row);
  }
  return row;
}

void read_file(const std::string& path, std::vector<MeasuredTable>& out) {
  TableFile file(path);
  std::map<std::string, MeasuredTable> tables;  // by type, operator's floor and device
  while (file.next()) {
    const std::string type = table_type(file.text(file.column("OPName")));
    MeasuredOp row = read_row(file, type);
    const std::string device(file.text(file.column("Device")));
    MeasuredTable& table = tables[row.op + "\n" + device];
    table.file = fs::path(path).filename().string();
    table.type = type;
    table.gpu = device;
    table.clock = Clock::events;
    table.train = table.file.starts_with("train");
    table.repeats = 25;
    row.fit = row.fit && table.train;
    table.rows.push_back(std::move(row));
  }
  for (auto& [key, table] : tables) out.push_back(std::move(table));
}

}  // namespace

void read_neusight(const std::string& folder, std::vector<MeasuredTable>& out) {
  if (!fs::is_directory(folder)) return;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    if (path.find(".csv") != std::string::npos) read_file(path, out);
  }
}

}  // namespace tandem::kernel_time
