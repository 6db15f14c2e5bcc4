#include "models/whatif/aliases.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/core/named.h"

namespace tandem {

namespace {

constexpr Alias table[] = {
    {"mode", "traced", "as-traced"},
    {"mode", "eager", "eager-async"},
    {"mode", "async", "eager-async"},
    {"mode", "sync", "eager-sync"},
    {"mode", "blocking", "eager-sync"},
    {"mode", "cudagraph", "cuda-graph"},
    {"mode", "cudagraphs", "cuda-graph"},
    {"mode", "cuda-graphs", "cuda-graph"},
    {"mode", "graph", "cuda-graph"},
    {"mode", "compile", "jit"},
    {"mode", "compiled", "jit"},
    {"mode", "torch.compile", "jit"},
    {"precision", "float32", "fp32"},
    {"precision", "float", "fp32"},
    {"precision", "tensorfloat32", "tf32"},
    {"precision", "fp16", "amp"},
    {"precision", "float16", "amp"},
    {"precision", "half", "amp"},
    {"precision", "mixed", "amp"},
    {"precision", "amp-fp16", "amp"},
    {"precision", "bfloat16", "bf16"},
    {"precision", "amp-bf16", "bf16"},
    {"compile", "none", "as-traced"},
    {"compile", "torch.compile", "inductor"},
    {"compile", "default", "inductor"},
    {"compile", "torchinductor", "inductor"},
    {"compile", "jit", "torchscript"},
    {"compile", "torch.jit", "torchscript"},
    {"layout", "none", "as-traced"},
    {"layout", "nhwc", "channels-last"},
};

/// Lower case, hyphens for underscores.
std::string folded(std::string_view text) {
  std::string out = lower_case(text);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

}  // namespace

std::span<const Alias> aliases() { return table; }

std::string canonical(std::string_view option, std::string_view value,
                      std::span<const std::string_view> names) {
  const std::string wanted = folded(value);
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
  for (const Alias& alias : table) {
    if (alias.option == option && alias.text == wanted) return std::string(alias.name);
  }
  return std::string(value);
}

std::string expected_value(std::string_view option, std::span<const std::string_view> names,
                           std::string_view text) {
  const std::vector<std::string> known(names.begin(), names.end());
  std::vector<std::string> any = known, meant = known;
  for (const Alias& alias : table) {
    if (alias.option != option) continue;
    any.emplace_back(alias.text);
    meant.emplace_back(alias.name);
  }
  const auto near = nearest_name(any, text);
  return fmt::format("one of: {}{}", fmt::join(known, ", "),
                     near ? fmt::format("; did you mean {}?", meant[*near]) : std::string());
}

}  // namespace tandem
