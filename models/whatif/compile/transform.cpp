#include "models/whatif/compile/transform.h"

#include <utility>

#include "models/whatif/compile/compile.h"

namespace tandem {

namespace {

TransformReport report_of(JitReport&& r, const std::string& compiler, std::string_view attention) {
  TransformReport out;
  out.from = "eager";
  out.to = compiler;
  out.expected_error = r.expected_error;
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  out.values = {
      {"compiler", "text", "generates the code", compiler},
      {"attention", "text", "attention under the compiler", std::string(attention)},
      {"kernels_before", "count", "kernels before", count(r.kernels_before), true},
      {"kernels_after", "count", "kernels after", count(r.kernels_after), true},
      {"gpu_before_us", "us", "on the GPU before", r.gpu_before_us, true},
      {"gpu_after_us", "us", "on the GPU after", r.gpu_after_us, true},
      {"cuda_graphs", "count", "CUDA graphs", count(r.graphs), r.graphs > 0},
      {"bytes_before", "B", "of operands of memory-bound operations before", r.bytes_before},
      {"bytes_after", "B", "of operands of memory-bound operations after", r.bytes_after},
      {"host_before_us", "us", "on the host before", r.host_before_us, true},
      {"host_after_us", "us", "on the host after", r.host_after_us, true},
      {"layout_us", "us", "saved by channels-last order", r.layout_us},
      {"attention_keep_us", "us", "on the GPU with fused attention", r.attention_keep_us},
      {"attention_masked_us", "us", "on the GPU with fused attention that reads a mask",
       r.attention_masked_us},
      {"attention_math_us", "us", "on the GPU with attention by products", r.attention_math_us},
      {"unknown_share", "share", "of the GPU time in operations without shapes", r.unknown_share},
  };
  // Where the two ways of attention differ, the reader should see it.
  for (ReportValue& v : out.values) {
    if (v.name.starts_with("attention_")) v.headline = r.attention_keep_us != r.attention_math_us;
  }
  ReportList generated{"generated", {}};
  for (FusedKernel& k : r.kernels) {
    generated.rows.push_back({{"name", "text", "generated kernel", std::move(k.name)},
                              {"operations", "count", "operations in it", count(k.operations)},
                              {"bytes", "B", "read and written", k.bytes},
                              {"time_us", "us", "on the GPU", k.us}});
  }
  out.lists.push_back(std::move(generated));
  return out;
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const std::string compiler = in.asked.get("compile");
  const std::string attention = in.asked.has("attention") ? in.asked.get("attention") : "auto";
  const JitOptions options{parse_compiler(compiler), parse_attention(attention)};
  JitReport report;
  out.step = with_jit(std::move(out.step), options, *in.traced.gpu, in.fusion, in.libraries,
                      in.layers, in.host, out.losses, &report);
  out.changed = true;
  if (in.knows_compiled_memory && options.compiler != Compiler::torchscript) {
    out.memory.kept = options.compiler == Compiler::xla ? KeptMemory::least : KeptMemory::compiled;
  } else {
    out.memory.losses.add(
        "jit_memory_is_eager", Severity::info,
        "peak memory is that of the eager run: what a compiler keeps, recomputes or "
        "reuses is not modelled from a trace");
  }
  const std::string_view path = name_of(attention_paths(), report.attention);
  return report_of(std::move(report), compiler, path);
}

}  // namespace

Transform compile_transform() {
  std::vector<std::string_view> names, attentions;
  for (const Named<Compiler>& one : compilers()) names.push_back(one.name);
  for (const Named<AttentionPath>& one : attention_paths()) attentions.push_back(one.name);
  return {
      .name = "compile",
      .json = "fusion",
      .doc =
          "the model compiled: generated kernels in place of chains of memory-bound "
          "operations, channels-last convolutions, host calls of compiled code; "
          "reduce-overhead: its forward and backward as CUDA graphs; any mode may follow",
      .options =
          {{.name = "compile", .doc = "compile the model", .names = names},
           {.name = "attention",
            .doc =
                "attention under the compiler or in a CUDA graph (not masked); default: auto, by "
                "a rule that the report states",
            .names = attentions,
            .asks = false,
            .for_graphs = true}},
      .needs = {.pytorch = true},
      .apply = apply};
}

}  // namespace tandem
