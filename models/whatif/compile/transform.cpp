#include "models/whatif/compile/transform.h"

#include <utility>

#include "models/collective/collective_law.h"
#include "models/step/memory/item_moments.h"
#include "models/step/memory/step_memory.h"
#include "models/step/one_call.h"
#include "models/whatif/compile/compile.h"
#include "models/whatif/edit/live_memory.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField compiler{"compiler", "text", "generates the code"};
constexpr ReportField attention{"attention", "text", "attention under the compiler"};
constexpr ReportField kernels_before{"kernels_before", "count", "kernels before"};
constexpr ReportField kernels_after{"kernels_after", "count", "kernels after"};
constexpr ReportField gpu_before_us{"gpu_before_us", "us", "on the GPU before"};
constexpr ReportField gpu_after_us{"gpu_after_us", "us", "on the GPU after"};
constexpr ReportField graph_breaks{"graph_breaks", "count", "graph breaks"};
constexpr ReportField bucket_cuts{"bucket_cuts", "count",
                                  "cuts of compiled graphs at buckets of gradients"};
constexpr ReportField cuda_graphs{"cuda_graphs", "count", "CUDA graphs"};
constexpr ReportField bytes_before{"bytes_before", "B",
                                   "of operands of memory-bound operations before"};
constexpr ReportField bytes_after{"bytes_after", "B",
                                  "of operands of memory-bound operations after"};
constexpr ReportField host_before_us{"host_before_us", "us", "on the host before"};
constexpr ReportField host_after_us{"host_after_us", "us", "on the host after"};
constexpr ReportField layout_us{"layout_us", "us", "saved by channels-last order"};
constexpr ReportField attention_keep_us{"attention_keep_us", "us",
                                        "on the GPU with fused attention"};
constexpr ReportField attention_masked_us{"attention_masked_us", "us",
                                          "on the GPU with fused attention that reads a mask"};
constexpr ReportField attention_math_us{"attention_math_us", "us",
                                        "on the GPU with attention by products"};
constexpr ReportField unknown_share{"unknown_share", "share",
                                    "of the GPU time in operations without shapes"};
constexpr ReportField all[] = {
    compiler,          attention,    kernels_before,    kernels_after,
    gpu_before_us,     gpu_after_us, graph_breaks,      bucket_cuts,
    cuda_graphs,       bytes_before, bytes_after,       host_before_us,
    host_after_us,     layout_us,    attention_keep_us, attention_masked_us,
    attention_math_us, unknown_share};
}  // namespace says

/// Columns of the list of generated kernels.
constexpr ReportField of_kernel[] = {{"name", "text", "generated kernel"},
                                     {"operations", "count", "operations in it"},
                                     {"bytes", "B", "read and written"},
                                     {"time_us", "us", "on the GPU"}};
constexpr ReportedList generated_list{"generated", of_kernel};

TransformReport report_of(JitReport&& r, const std::string& compiler, std::string_view attention) {
  TransformReport out;
  out.from = "eager";
  out.to = compiler;
  out.expected_error = r.expected_error;
  if (r.gpu_after_us > 0) {
    out.untold = {r.untold.more_us / r.gpu_after_us, r.untold.less_us / r.gpu_after_us};
  }
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  out.values = {
      reported(says::compiler, compiler),
      reported(says::attention, std::string(attention)),
      reported(says::kernels_before, count(r.kernels_before), true),
      reported(says::kernels_after, count(r.kernels_after), true),
      reported(says::gpu_before_us, r.gpu_before_us, true),
      reported(says::gpu_after_us, r.gpu_after_us, true),
      reported(says::graph_breaks, count(r.breaks), r.breaks > 0),
      reported(says::bucket_cuts, count(r.bucket_cuts), r.bucket_cuts > 0),
      reported(says::cuda_graphs, count(r.graphs), r.graphs > 0),
      reported(says::bytes_before, r.bytes_before),
      reported(says::bytes_after, r.bytes_after),
      reported(says::host_before_us, r.host_before_us, true),
      reported(says::host_after_us, r.host_after_us, true),
      reported(says::layout_us, r.layout_us),
      reported(says::attention_keep_us, r.attention_keep_us),
      reported(says::attention_masked_us, r.attention_masked_us),
      reported(says::attention_math_us, r.attention_math_us),
      reported(says::unknown_share, r.unknown_share),
  };
  // Where the two ways of attention differ, the reader should see it.
  for (ReportValue& v : out.values) {
    if (v.name.starts_with("attention_")) v.headline = r.attention_keep_us != r.attention_math_us;
  }
  ReportList generated{generated_list.name, {}};
  for (FusedKernel& k : r.kernels) {
    generated.rows.push_back({reported(of_kernel[0], std::move(k.name)),
                              reported(of_kernel[1], count(k.operations)),
                              reported(of_kernel[2], k.bytes), reported(of_kernel[3], k.us)});
  }
  out.lists.push_back(std::move(generated));
  return out;
}

/// Of layers of attention that the framework runs in one call: key and value are copies of their
/// own beside what was projected, whose operand the query takes the place of.
void add_taken_apart(const Step& step, const Dataflow& flow, std::vector<Life>& lives) {
  const WholeBlocks blocks(step.trace, flow);
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.output_count == 0 || !blocks.leaves_in_pieces(op)) continue;
    lives.push_back({i, i, {0, 2 * flow.tensors[flow.outputs_of(op)[0]].bytes()}});
  }
}

/// `memory` with what a step of `items` items, still eager, holds once compiled. `pieces`: layers
/// that are one call in the step are in pieces in the program.
PeakMemory compiled_peak(PeakMemory memory, const Step& step, std::int64_t items,
                         AttentionPath attention, bool pieces) {
  const Dataflow flow = dataflow(step);
  std::vector<Life> added = product_lives(step, flow, attention);
  if (pieces) add_taken_apart(step, flow, added);
  memory.moments = item_moments(compiled_tensors(step, flow, items, Saving::cheapest, added), items,
                                {memory.kept_bytes, memory.kept_item_bytes}, memory.update_bytes);
  return memory;
}

/// The network tells what its own step holds once compiled; another precision changes that as it
/// changes what a compiler saves.
void change_known_memory(const TransformInput& in, const JitOptions& options, Rewritten& out) {
  out.memory.kept = options.compiler == Compiler::xla ? KeptMemory::least : KeptMemory::compiled;
  if (!out.memory.after || in.memory == nullptr || !in.traced.batch) return;
  out.memory.before =
      compiled_peak(*in.memory, in.traced.step, *in.traced.batch, asked_attention(options), false);
  out.memory.after = compiled_peak(held_memory(in, out), out.step, *in.traced.batch,
                                   asked_attention(options), false);
}

/// What `out.step`, which is still eager, holds once compiled. False where that is not known.
bool change_memory(const TransformInput& in, const JitOptions& options, Rewritten& out) {
  if (options.compiler == Compiler::torchscript) return false;
  if (in.knows_compiled_memory) {
    change_known_memory(in, options, out);
    return true;
  }
  if (in.memory == nullptr || !in.traced.batch) return false;
  const std::int64_t traced = *in.traced.batch;
  const std::int64_t now =
      in.asked.has("batch") ? parse_count("batch", in.asked.get("batch")) : traced;
  if (!out.memory.before) out.memory.before = step_memory(*in.memory, in.traced.step, traced);
  PeakMemory after =
      compiled_peak(held_memory(in, out), out.step, now, asked_attention(options), true);
  if (!out.memory.before || after.moments.empty()) return false;
  out.memory.after = std::move(after);
  return true;
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const std::string compiler = in.asked.get("compile");
  const std::string attention = in.asked.has("attention") ? in.asked.get("attention") : "auto";
  JitOptions options{parse_compiler(compiler), parse_attention(attention)};
  options.buckets = in.collectives.buckets();
  if (in.asked.has("ranks")) options.ranks = parse_count("ranks", in.asked.get("ranks"));
  JitReport report;
  const bool knows_memory = change_memory(in, options, out);
  out.step = with_jit(
      std::move(out.step), options,
      {*in.traced.gpu, in.fusion, in.time, in.libraries, in.layers, in.host, in.library_products},
      out.losses, &report);
  out.changed = true;
  if (!knows_memory) {
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

ReportedObject compile_report() {
  return {"fusion", "the model compiled", says::all, generated_list};
}

}  // namespace tandem
