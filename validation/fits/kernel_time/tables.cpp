#include "validation/fits/kernel_time/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "validation/fits/kernel_time/table_file.h"

namespace tandem::kernel_time {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> out;
  if (!fs::is_directory(folder)) return out;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().find(".csv") != std::string::npos) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

// Vidur: which columns of a model's row make the shape of each GEMM of a layer.
struct VidurLayer {
  std::int64_t embd, expanded, heads, kv_heads, parallel;
  bool gated;
};

struct Product {
  std::string_view op;
  std::int64_t n, k;
};

std::array<Product, 4> vidur_products(const VidurLayer& l) {
  const std::int64_t qkv = (l.heads + 2 * l.kv_heads) * (l.embd / l.heads) / l.parallel;
  return {{{"attn_pre_proj", qkv, l.embd},
           {"attn_post_proj", l.embd, l.embd / l.parallel},
           {"mlp_up_proj", (l.gated ? 2 : 1) * l.expanded / l.parallel, l.embd},
           {"mlp_down_proj", l.embd, l.expanded / l.parallel}}};
}

MeasuredOp half_gemm(std::string_view op, std::int64_t m, std::int64_t n, std::int64_t k, double us,
                     bool may_fit) {
  MeasuredOp row;
  row.op = op;
  row.shape = GemmShape{.m = m, .n = n, .k = k, .type = DataType::fp16, .b_k_major = true};
  row.measured_us = us;
  row.fit = may_fit && is_fit_row(fmt::format("gemm {} {} {}", m, n, k));
  return row;
}

void read_vidur_file(const std::string& path, MeasuredTable& table) {
  TableFile file(path);
  while (file.next()) {
    const auto integer = [&](std::string_view name) { return file.integer(file.column(name)); };
    const VidurLayer layer{integer("n_embd"),
                           integer("n_expanded_embd"),
                           integer("n_head"),
                           integer("n_kv_head"),
                           integer("num_tensor_parallel_workers"),
                           file.text(file.column("use_gated_mlp")) == "True"};
    for (const Product& p : vidur_products(layer)) {
      const int column = file.find(fmt::format("time_stats.{}.median", p.op));
      if (file.text(column).empty()) continue;
      table.rows.push_back(
          half_gemm(p.op, integer("num_tokens"), p.n, p.k, file.number(column) * 1e3, table.train));
    }
  }
}

}  // namespace

bool is_fit_row(std::string_view shape_key) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : shape_key) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h ^= h >> 33;
  return h % 10 == 0;
}

void read_vidur(const std::string& folder, std::vector<MeasuredTable>& out) {
  for (const std::string& path : files_in(folder)) {
    MeasuredTable table;
    table.file = file_name(path);
    table.type = "half_gemm";
    table.gpu = table.file.starts_with("a100") ? "a100_sxm4_80gb" : "h100_sxm5";
    table.train = table.file.starts_with("a100");
    table.cache = CacheState::cold;
    table.repeats = 25;
    read_vidur_file(path, table);
    out.push_back(std::move(table));
  }
}

void read_llmcompass(const std::string& folder, std::vector<MeasuredTable>& out) {
  const std::string path = folder + "/matmul_A100.csv";
  if (!fs::exists(path)) return;
  MeasuredTable table;
  table.file = file_name(path);
  table.type = "half_gemm";
  table.gpu = "a100_sxm4_80gb";
  CsvLines lines(path);
  while (lines.next()) {
    const auto& fields = lines.fields();
    std::array<double, 4> v{};
    bool numbers = fields.size() >= 4;
    for (std::size_t i = 0; numbers && i < 4; ++i) numbers = leading_number(fields[i], v[i]);
    if (!numbers) lines.fail(lines.text(), "M, N, K, latency");
    table.rows.push_back(half_gemm("matmul", static_cast<std::int64_t>(v[0]),
                                   static_cast<std::int64_t>(v[1]), static_cast<std::int64_t>(v[2]),
                                   v[3] * 1e3, false));
  }
  out.push_back(std::move(table));
}

std::vector<MeasuredTable> read_tables(const std::string& data) {
  std::vector<MeasuredTable> out;
  read_neusight(data + "/neusight/ops", out);
  read_vidur(data + "/vidur-a100-h100", out);
  read_deepbench(data + "/deepbench-v100", out);
  read_llmcompass(data + "/llmcompass-a100", out);
  return out;
}

}  // namespace tandem::kernel_time
