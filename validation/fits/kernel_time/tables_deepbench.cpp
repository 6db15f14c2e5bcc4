// DeepBench: one sheet a precision, with sections for products and convolutions.
#include <fmt/format.h>

#include <filesystem>

#include "validation/fits/kernel_time/table_file.h"
#include "validation/fits/kernel_time/tables.h"

namespace tandem::kernel_time {
namespace {

using Fields = std::vector<std::string_view>;

bool numbers(const Fields& fields, std::size_t first, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    if (first + i >= fields.size() || !leading_number(fields[first + i], out[i])) return false;
  }
  return true;
}

// Column-major M x N x K: the row-major product of the transposes.
void add_product(const Fields& f, DataType type, MeasuredTable& table) {
  double v[3], ms = 0;
  if (f.size() < 9 || !numbers(f, 2, 3, v) || !leading_number(f[8], ms)) return;
  GemmShape s;
  s.m = static_cast<std::int64_t>(v[1]);
  s.n = static_cast<std::int64_t>(v[0]);
  s.k = static_cast<std::int64_t>(v[2]);
  s.type = type;
  s.a_k_major = f[6] == "N";
  s.b_k_major = f[5] == "T";
  MeasuredOp row;
  row.op = "gemm";
  row.shape = s;
  row.measured_us = ms * 1e3;
  row.fit = type == DataType::fp16 && is_fit_row(fmt::format("gemm {} {} {}", s.n, s.m, s.k));
  table.rows.push_back(row);
}

void add_convolution(const Fields& f, DataType type, MeasuredTable (&passes)[3]) {
  double v[11];
  if (!numbers(f, 2, 11, v)) return;
  const auto integer = [&](int i) { return static_cast<int>(v[i]); };
  ConvLayer s;
  s.width = integer(0), s.height = integer(1);
  s.in_channels = integer(2), s.batch = integer(3), s.out_channels = integer(4);
  s.kernel_w = integer(5), s.kernel_h = integer(6);
  s.pad_w = integer(7), s.pad_h = integer(8);
  s.stride_w = integer(9), s.stride_h = integer(10);
  s.type = type;
  for (int pass = 0; pass < 3; ++pass) {
    double ms = 0;
    if (13 + static_cast<std::size_t>(pass) >= f.size() ||
        !leading_number(f[13 + static_cast<std::size_t>(pass)], ms)) {
      continue;
    }
    s.pass = static_cast<Pass>(pass);
    MeasuredOp row;
    row.op = "conv";
    row.shape = s;
    row.measured_us = ms * 1e3;
    passes[pass].rows.push_back(row);
  }
}

MeasuredTable empty_table(const std::string& path, const std::string& type) {
  MeasuredTable table;
  table.file = std::filesystem::path(path).filename().string();
  table.type = type;
  table.gpu = "v100_sxm2_16gb";
  table.train = type == "half_gemm";
  return table;
}

void read_sheet(const std::string& path, DataType type, std::vector<MeasuredTable>& out) {
  const std::string half = type == DataType::fp16 ? "half_" : "";
  MeasuredTable products = empty_table(path, half + "gemm");
  MeasuredTable passes[] = {empty_table(path, half + "conv_other"),
                            empty_table(path, half + "conv_dgrad"),
                            empty_table(path, half + "conv_wgrad")};
  std::string section;
  CsvLines lines(path);
  while (lines.next()) {
    const Fields& fields = lines.fields();
    if (!fields.front().empty()) section = fields.front();
    if (section.starts_with("Dense")) add_product(fields, type, products);
    if (section.starts_with("Conv")) add_convolution(fields, type, passes);
  }
  out.push_back(std::move(products));
  for (MeasuredTable& pass : passes) out.push_back(std::move(pass));
}

}  // namespace

void read_deepbench(const std::string& folder, std::vector<MeasuredTable>& out) {
  const std::pair<const char*, DataType> sheets[] = {
      {"Results_FP32.csv", DataType::fp32}, {"Results_-_FP16_ip_Mixed_math.csv", DataType::fp16}};
  for (const auto& [name, type] : sheets) {
    const std::string path = folder + "/" + name;
    if (std::filesystem::exists(path)) read_sheet(path, type, out);
  }
}

}  // namespace tandem::kernel_time
