// Tile, instruction and operand order of matrix kernels, from the names the libraries give them.
#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "models/kernel/classify/classify.h"
#include "models/kernel/classify/search_text.h"

namespace tandem {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool has_any(const SearchText& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return text.has(part); });
}

bool digit(char c) { return c >= '0' && c <= '9'; }

/// A demangled name without its parameters. Template arguments and namespaces without a name have
/// parentheses of their own: "(anonymous namespace)::Kernel<(Mode)0>(Params)".
std::string_view without_parameters(std::string_view name) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(unnamed)) i += unnamed.size();
    if (i == name.size()) break;
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (name[i] == '(' && depth <= 0) return name.substr(0, i);
  }
  return name;
}

struct Group {
  std::size_t begin = 0;
  int count = 0;
  std::array<int, 3> values{};
};

// The groups "AxB" and "AxBxC" of a name, in order.
std::vector<Group> number_groups(std::string_view text) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < text.size();) {
    if (!digit(text[i])) {
      ++i;
      continue;
    }
    Group group{i, 0, {}};
    const char* at = text.data() + i;
    const char* end = text.data() + text.size();
    while (group.count < 3) {
      int value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc{}) break;
      group.values[static_cast<std::size_t>(group.count++)] = value;
      at = next;
      if (at + 1 >= end || *at != 'x' || !digit(at[1])) break;
      ++at;
    }
    i = static_cast<std::size_t>(at - text.data());
    if (group.count > 1) groups.push_back(group);
  }
  return groups;
}

std::uint16_t u16(int value) { return static_cast<std::uint16_t>(value); }
std::uint8_t u8(int value) { return static_cast<std::uint8_t>(value); }

// Before sm80 the memory-efficient attention of FP32 has no tensor instruction to use.
bool is_old_fp32_attention(const SearchText& text) {
  return has_any(text, {"fmha_cutlassF_f32", "fmha_cutlassB_f32"}) &&
         has_any(text, {"_sm50", "_sm70", "_sm75"});
}

DataType matrix_type(const SearchText& text) {
  if (has_any(text, {"tf32", "tfloat32"})) return DataType::tf32;
  if (is_old_fp32_attention(text)) return DataType::fp32;
  if (has_any(text, {"bf16", "_tst_", "_tss_", "bfloat16", "BFloat16"})) return DataType::bf16;
  if (has_any(text, {"f16", "_hsh_", "_hss_", "_hhh_", "half", "h884", "h1688", "h16816", "Half",
                     "hgemm", "fp16"})) {
    return DataType::fp16;
  }
  // Tensor instructions on FP32 operands round them to TF32.
  if (has_any(text, {"s1688", "16x8x8", "_sss_", "fmha_cutlassF_f32", "fmha_cutlassB_f32"})) {
    return DataType::tf32;
  }
  if (has_any(text, {"dgemm", "d884", "double"})) return DataType::fp64;
  return DataType::fp32;
}

Engine engine_of(const SearchText& text) {
  const bool says_tf32 = text.has("tf32");  // "ampere_sgemm_tf32_s1688gemm"
  if (has_any(text, {"ffma", "simt", "scudnn", "fmha_reduce_head"}) ||
      (text.has("sgemm") && !says_tf32) || is_old_fp32_attention(text)) {
    return Engine::simt;
  }
  if (has_any(text, {"nvjet", "sm90_xmma", "gmma", "Gmma", "GMMA"})) return Engine::gmma;
  if (has_any(text, {"s16816", "h16816", "s1688", "h1688", "s884", "h884", "16x8x", "tensorop",
                     "TensorOp", "hmma", "161616", "flash_", "fmha_"})) {
    return Engine::hmma;
  }
  return Engine::simt;
}

int mma_k_of(const SearchText& text, const KernelClass& k) {
  if (k.traits.engine == Engine::gmma || text.has("fmha")) return k.math == DataType::tf32 ? 8 : 16;
  if (has_any(text, {"884"})) return 4;
  if (has_any(text, {"1688", "16x8x8", "tfloat32"})) return 8;
  return 16;
}

bool is_size(int value) { return value >= 8 && value <= 512 && value % 8 == 0; }

// cutlass: 128x256_64x3; cuBLAS: nvjet .. 128x256_64x4_2x1, volta_sgemm_128x64.
void set_tile_from_groups(const std::vector<Group>& groups, KernelTraits& t) {
  std::size_t i = 0;
  while (i < groups.size() && !(is_size(groups[i].values[0]) && is_size(groups[i].values[1]))) ++i;
  if (i == groups.size()) return;
  t.tile_m = u16(groups[i].values[0]);
  t.tile_n = u16(groups[i].values[1]);
  t.tile_k = groups[i].count == 3 ? u16(groups[i].values[2]) : 0;
  if (++i < groups.size() && groups[i].count == 2 && is_size(groups[i].values[0])) {
    t.tile_k = u16(groups[i].values[0]);
    t.stages = u16(groups[i].values[1]);
    ++i;
  }
  if (i < groups.size() && groups[i].values[0] <= 8 && groups[i].values[1] <= 8) {
    t.cluster_m = u8(groups[i].values[0]);
    t.cluster_n = u8(groups[i].values[1]);
  }
}

// The first three template arguments, where they are numbers: "64, 128, 32, ...".
std::array<int, 3> three_numbers(std::string_view arguments) {
  std::array<int, 3> values{};
  const char* from = arguments.data();
  const char* end = arguments.data() + arguments.size();
  for (int& value : values) {
    from = std::from_chars(from, end, value).ptr;
    while (from < end && (*from == ',' || *from == ' ')) ++from;
  }
  return values;
}

// The first of a kernel's types: the tile of a block.
constexpr std::string_view cutlass_shape = "GemmShape<";

// Flash_fwd_kernel_traits<head width, queries, keys, warps, ...>
bool set_flash_tile(std::string_view text, KernelTraits& t) {
  constexpr std::string_view key = "kernel_traits<";
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return false;
  const auto values = three_numbers(text.substr(at + key.size()));
  t.tile_k = u16(values[0]);
  t.tile_m = u16(values[1]);
  t.tile_n = u16(values[2]);
  return true;
}

void set_tile(std::string_view text, KernelTraits& t) {
  if (set_flash_tile(text, t)) return;
  const std::size_t at = text.find("tilesize");
  const std::size_t mangled = text.find("GemmShapeILi");
  const std::size_t demangled = text.find(cutlass_shape);
  if (at != std::string_view::npos) {
    const auto groups = number_groups(text.substr(at));
    if (groups.empty()) return;
    t.tile_m = u16(groups[0].values[0]);
    t.tile_n = u16(groups[0].values[1]);
    t.tile_k = u16(groups[0].values[2]);
    t.stages = u16(number_after(text, "_stage"));
  } else if (mangled != std::string_view::npos) {
    const std::string_view rest = text.substr(mangled);
    const std::size_t second = rest.find("ELi");
    t.tile_m = u16(number_after(rest, "ILi"));
    t.tile_n = u16(number_after(rest, "ELi"));
    t.tile_k = u16(number_after(rest.substr(second + 3), "ELi"));
  } else if (demangled != std::string_view::npos) {
    const auto sizes = three_numbers(text.substr(demangled + cutlass_shape.size()));
    t.tile_m = u16(sizes[0]), t.tile_n = u16(sizes[1]), t.tile_k = u16(sizes[2]);
  } else {
    const bool nvjet = has(text, "nvjet");
    set_tile_from_groups(number_groups(text), t);
    if (!nvjet) t.cluster_m = t.cluster_n = 1;
  }
  // Not stated: the SIMT kernels of cuBLAS step by 8, the tensor-core kernels without stages by 32.
  if (t.tile_m > 0 && t.tile_k == 0) t.tile_k = t.engine == Engine::simt ? 8 : 32;
}

// Transposes in the column-major terms of cuBLAS; 0: not stated. nvjet adds a third letter.
std::array<char, 2> transposes(std::string_view text) {
  if (has(text, "nvjet")) {
    const std::size_t at = text.rfind('_');
    if (at != std::string_view::npos && at + 2 < text.size()) return {text[at + 1], text[at + 2]};
  }
  for (const std::string_view order : {"_nn", "_nt", "_tn", "_tt"}) {
    const std::size_t at = text.find(order);
    if (at == std::string_view::npos) continue;
    const std::size_t next = at + order.size();
    if (next == text.size() || text[next] == '_' || text[next] == '>') {
      return {static_cast<char>(order[1] - 32), static_cast<char>(order[2] - 32)};
    }
  }
  return {0, 0};
}

Pass pass_of(const SearchText& text, std::string_view op, const KernelTraits& t,
             std::array<char, 2> trans) {
  if (has_any(text, {"dgrad", "Dgrad", "depthwise2d_backward"})) return Pass::input_gradient;
  if (has_any(text, {"wgrad", "Wgrad", "grad_weight"})) return Pass::weight_gradient;
  const bool backward = has(op, "backward") || has(op, "Backward");
  if (!t.library_gemm || !backward) return Pass::forward;
  // A 1x1 convolution as plain product: dX = dY W^T ("nt"), dW = X^T dY ("tn").
  return trans[0] == 'T' ? Pass::weight_gradient : Pass::input_gradient;
}

}  // namespace

void classify_matrix(std::string_view name, std::string_view op, KernelClass& out) {
  const SearchText searched(without_parameters(name));
  const std::string_view text = searched.text();
  KernelTraits& t = out.traits;
  out.math = matrix_type(searched);
  t.engine = engine_of(searched);
  t.data = out.math == DataType::tf32 ? DataType::fp32 : out.math;
  set_tile(text, t);
  t.mma_k = u8(mma_k_of(searched, out));
  const auto trans = transposes(text);
  t.library_gemm = out.family == KernelFamily::gemm;
  t.a_k_major = trans[0] != 'N';
  t.b_k_major = trans[1] != 'T';
  t.split_k = has_any(searched, {"splitK", "split_k", "splitk", "segment_k_on"});
  t.persistent = t.engine == Engine::gmma;
  // Tensor-core kernels of cutlass copy operands in pieces as long as their alignment.
  const int aligned = number_after(text, "_align");
  if (t.engine == Engine::hmma && aligned > 0) {
    t.load_bytes = u8(std::min(16, aligned * element_bytes(t.data)));
  }
  t.states_cluster = has(text, "nvjet");
  t.cooperative_n = has(text, "coopB");
  t.pad_channels = has(text, "_optimized_");
  set_pass(out, pass_of(searched, op, t, trans));
}

}  // namespace tandem
