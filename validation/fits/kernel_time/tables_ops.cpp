// Our own operators on H200 (validation/captures/h200_2026-11-20_fit/ops): durations of the
// kernels.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "validation/fits/kernel_time/table_file.h"
#include "validation/fits/kernel_time/tables.h"

namespace tandem::kernel_time {
namespace {

using Dims = std::vector<std::int64_t>;

// "2048x768;768x768" -> {2048, 768}, {768, 768}
std::vector<Dims> parse_shapes(std::string_view text) {
  std::vector<Dims> out(1);
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return {};
    out.back().push_back(value);
    if (next < end && *next == ';') out.emplace_back();
    at = next + 1;
  }
  return out;
}

DataType type_of(std::string_view text) {
  if (text == "fp32") return DataType::fp32;
  if (text == "tf32") return DataType::tf32;
  if (text == "bf16") return DataType::bf16;
  return text == "fp16" ? DataType::fp16 : DataType::unknown;
}

// Products: tn is A[m][k] B[n][k], nn A[m][k] B[k][n], nt A[k][m] B[k][n].
bool product(std::string_view op, std::string_view attrs, std::vector<Dims> shapes, DataType type,
             MeasuredOp& row) {
  if (shapes.size() < 2) return false;
  GemmShape s;
  s.type = type;
  if (op == "bmm") {
    if (shapes[0].size() != 3) return false;
    s.batch = shapes[0][0];
    for (Dims& d : shapes) d.erase(d.begin());
  }
  if (shapes[0].size() != 2 || shapes[1].size() != 2) return false;
  s.a_k_major = attrs.find("nt") == std::string_view::npos;
  s.b_k_major = op == "linear" || attrs.find("tn") != std::string_view::npos;
  s.m = shapes[0][s.a_k_major ? 0 : 1];
  s.k = shapes[0][s.a_k_major ? 1 : 0];
  s.n = shapes[1][s.b_k_major ? 0 : 1];
  row.shape = s;
  return s.m > 1 && s.n > 1;  // else a matrix-vector kernel
}

bool is_fit_product(const GemmShape& s) {
  return is_fit_row(fmt::format("gemm {} {} {}", s.m, s.n, s.k));
}

// Type of table that a row goes to; empty: not modelled here.
std::string modelled(std::string_view group, std::string_view op, std::string_view attrs,
                     std::string_view shapes_text, DataType type, MeasuredOp& row) {
  const std::vector<Dims> shapes = parse_shapes(shapes_text);
  if (type == DataType::unknown || shapes.empty() || shapes[0].empty()) return {};
  row.op = op;
  std::int64_t elements = 1;
  for (const std::int64_t d : shapes[0]) elements *= d;
  if (group == "gemm" && (op == "mm" || op == "bmm" || op == "linear")) {
    if (!product(op, attrs, shapes, type, row)) return {};
    return type == DataType::fp32 ? "gemm" : type == DataType::tf32 ? "tf32_gemm" : "half_gemm";
  }
  const std::int64_t columns = shapes[0].back();
  row.layer_norm = op == "layer_norm";
  if ((row.layer_norm && columns % 4 == 0) || (op == "softmax" && shapes[0].size() == 2)) {
    row.shape = RowShape{.rows = elements / columns, .columns = columns, .type = type};
    return row.layer_norm ? "layer_norm" : "softmax";
  }
  if (op == "relu" || op == "gelu" || op == "tanh" || op == "add" || op == "mul") {
    const int reads = static_cast<int>(shapes.size());
    for (const Dims& d : shapes) {
      if (d != shapes[0]) return {};
    }
    row.shape = PointwiseShape{.elements = elements, .reads = reads, .type = type};
    return "pointwise";
  }
  return {};
}

}  // namespace

void read_ops(const std::string& path, std::vector<MeasuredTable>& out) {
  if (!std::filesystem::exists(path)) return;
  TableFile file(path);
  std::map<std::string, MeasuredTable> tables;
  std::string last_id, last_type;
  while (file.next()) {
    const auto text = [&](std::string_view name) { return file.text(file.column(name)); };
    const double us = file.number(file.column("trace_us"));
    if (text("id") == last_id) {  // a further kernel of the same operator
      if (!last_type.empty()) tables[last_type].rows.back().measured_us += us;
      continue;
    }
    MeasuredOp row;
    last_id = text("id");
    last_type = modelled(text("group"), text("op"), text("attrs"), text("shapes"),
                         type_of(text("dtype")), row);
    if (last_type.empty()) continue;
    row.measured_us = us;
    row.fit = last_type == "gemm" || last_type == "layer_norm" || last_type == "softmax" ||
              (last_type == "half_gemm" && is_fit_product(std::get<GemmShape>(row.shape)));
    tables[last_type].rows.push_back(std::move(row));
  }
  for (auto& [type, table] : tables) {
    table.file = "ops-times.csv.gz";
    table.type = type;
    table.gpu = "h200_sxm";
    table.train = true;
    table.repeats = 25;
    out.push_back(std::move(table));
  }
}

}  // namespace tandem::kernel_time
