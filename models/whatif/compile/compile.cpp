#include "models/whatif/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/kernel/launch_rules.h"
#include "models/whatif/compile/host/graph_inputs.h"
#include "models/whatif/compile/host/graph_pieces.h"
#include "models/whatif/compile/host/host_reads.h"
#include "models/whatif/compile/kernels/group_kernels.h"
#include "models/whatif/compile/library.h"
#include "models/whatif/compile/products.h"
#include "models/whatif/compile/recomputed.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/compiled_host.h"

namespace tandem {
namespace {

constexpr Named<Compiler> compiler_names[] = {{Compiler::inductor, "inductor"},
                                              {Compiler::reduce_overhead, "reduce-overhead"},
                                              {Compiler::xla, "xla"},
                                              {Compiler::torchscript, "torchscript"}};

double host_us(const Step& step) {
  double sum = 0;
  for (const HostItem& item : step.plan.items) sum += to_us(item.gap + item.call);
  return sum;
}

/// Numbers behind the names of generated kernels.
class GeneratedNames {
 public:
  /// Equal kernels are generated once and share a number.
  PredictedKernel numbered(PredictedKernel kernel, const Operands& operands) {
    const std::pair key(kernel.name, operands_.intern(operands));
    const auto number = numbers_.try_emplace(key, numbers_.size()).first->second;
    kernel.name.append("_").append(std::to_string(number));
    return kernel;
  }

 private:
  OperandTable operands_;
  std::map<std::pair<std::string, OperandsId>, std::size_t> numbers_;
};

double operand_bytes(const Dataflow& flow, const FlowOp& op) {
  double bytes = 0;
  for (const FlowUse& use : flow.inputs_of(op)) {
    bytes += double(flow.elements_of(use)) * element_bytes(flow.tensors[use.tensor].type);
  }
  for (const std::uint32_t t : flow.outputs_of(op)) bytes += flow.tensors[t].bytes();
  return bytes;
}

/// Where the host enters compiled graphs.
struct Entries {
  /// The works before which it does, and whether that is the first of its phase in its pass, which
  /// prepares the parameters.
  std::map<std::uint32_t, bool> works;
  bool backward = false;  // some are of the backward pass
};
std::vector<double> written_before(const Dataflow& flow) {
  std::vector<double> out(flow.ops.size() + 1, 0);
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    out[i + 1] = out[i];
    for (const std::uint32_t t : flow.outputs_of(flow.ops[i]))
      out[i + 1] += flow.tensors[t].bytes();
  }
  return out;
}

Entries entries_of(const KernelContext& context, const GraphCuts& cuts) {
  std::set<std::pair<FlowPhase, std::uint32_t>> entered;
  std::set<std::pair<std::uint32_t, FlowPhase>> begun;
  Entries entries;
  for (std::size_t i = 0; i < context.flow.ops.size(); ++i) {
    const FlowOp& op = context.flow.ops[i];
    if (context.plan.roles[i] == FuseRole::outside || op.phase == FlowPhase::other) continue;
    if (!entered.emplace(op.phase, cuts.graph_of[i]).second) continue;
    const bool first = begun.emplace(op.pass, op.phase).second;
    entries.works.emplace(context.flow.works_of(op).front(), first);
    entries.backward = entries.backward || op.phase == FlowPhase::backward;
  }
  return entries;
}

/// Host time of entering each graph, `parameters` of which take gradients.
void enter_graphs(const KernelContext& context, const CompiledHost& host, const Entries& entries,
                  double parameters, StepEdit& edit) {
  const CompiledHostLaw& law = context.law.host;
  for (const auto& [work, first] : entries.works) {
    const std::uint32_t item = context.step.plan.works[work].item;
    if (item == no_index) continue;
    const double prepared_us = first ? parameters * law.parameter_host_us : 0;
    const double us = host.work_us(law.region_host_us + prepared_us);
    edit.set_gap(item, edit.step().plan.items[item].gap + from_us(us));
  }
}

void add_ways(const AttentionWays& ways, AttentionPath path, JitReport& report) {
  report.attention_keep_us += ways.keep_us;
  report.attention_masked_us += ways.masked_us;
  report.attention_math_us += ways.math_us;
  if (path != AttentionPath::keep) report.attention = path;
}

/// A kernel to come behind a work.
struct Pending {
  std::uint32_t work;
  NewKernel kernel;
};

NewKernel new_kernel(const ExtraKernel& extra, double host_us) {
  NewKernel k;
  k.kernel = extra.kernel;
  k.op = extra.op;
  k.operands = extra.operands;
  k.geometry = extra.geometry;
  k.duration_us = extra.us;
  k.host_us = host_us;
  return k;
}

/// Puts the compiler's kernels into the step.
class Fuser {
 public:
  Fuser(const KernelContext& context, const GraphCuts& cuts, const JitOptions& options,
        const HostModel& host, StepEdit& edit, JitReport& report)
      : context_(context),
        options_(options),
        host_(host),
        edit_(edit),
        report_(report),
        entries_(entries_of(context_, cuts)),
        style_(attention_style(context_.step, context_.flow)),
        library_(context_, options.compiler == Compiler::xla),
        compiled_(context_.law.host, context_.step, host, options.compiler == Compiler::xla,
                  entries_.backward) {}

  void run() {
    for (std::size_t i = 0; i < context_.flow.ops.size(); ++i) {
      const FuseRole role = context_.plan.roles[i];
      if (role == FuseRole::outside) continue;
      const FlowOp& op = context_.flow.ops[i];
      if (role == FuseRole::library) {
        keep(op);
      } else {
        drop(op);
      }
    }
    for (const FusionGroup& group : context_.plan.groups) insert(group);
    insert_pending();
  }

 private:
  bool is_entry(std::uint32_t work) const { return entries_.works.count(work) > 0; }

  void drop(const FlowOp& op) {
    for (const std::uint32_t w : context_.flow.works_of(op)) edit_.drop(w, !is_entry(w));
    report_.bytes_before += operand_bytes(context_.flow, op);
  }

  void keep(const FlowOp& op) {
    const bool attention = op.kind == OpKind::attention || op.kind == OpKind::attention_backward;
    if (attention && by_products(op)) return;
    const LibraryChange change = library_.rewrite(op);
    for (const ExtraKernel& extra : change.before) pend(context_.flow.works_of(op).front(), extra);
    for (const auto& [work, us] : change.retimed) {
      report_.layout_us += to_us(context_.step.plan.works[work].duration) - us;
      edit_.set_duration(work, from_us(us));
    }
    for (const std::uint32_t w : change.dropped) {
      report_.layout_us += to_us(context_.step.plan.works[w].duration);
      edit_.drop(w, !is_entry(w));
    }
    const double further_us = compiled_.further_us();
    bool first = true;
    for (const std::uint32_t w : context_.flow.works_of(op)) {
      const bool dropped =
          std::find(change.dropped.begin(), change.dropped.end(), w) != change.dropped.end();
      if (dropped) continue;
      set_gap(w, first ? compiled_.call_us(op.kind) : further_us);
      first = false;
    }
    for (const ExtraKernel& own : change.after) {  // of the framework itself, behind compiled code
      pending_.push_back({context_.flow.works_of(op).back(), new_kernel(own, further_us)});
    }
  }

  void set_gap(std::uint32_t work, double us) {
    const std::uint32_t item = context_.step.plan.works[work].item;
    if (item == no_index) return;
    const HostItem& old = context_.step.plan.items[item];
    const Duration gap = std::max(Duration::zero(), from_us(us) - old.call);
    edit_.set_gap(item, is_entry(work) ? old.gap + gap : gap);
  }

  /// All ways for the report; true if products take the place of the fused kernels.
  bool by_products(const FlowOp& op) {
    const AttentionWays ways = attention_ways(context_, style_, op);
    const AttentionPath path =
        attention_path(context_.step.trace, context_.flow, style_, op, asked_attention(options_));
    add_ways(ways, path, report_);
    const bool untold = asked_attention(options_) == AttentionPath::automatic &&
                        mask_is_untold(context_.step.trace, context_.flow, style_, op);
    if (untold) report_.untold.add(path, ways.keep_us, ways.math_us);
    if (path == AttentionPath::masked) {
      edit_.set_duration(ways.longest, from_us(ways.longest_masked_us));
    }
    if (path != AttentionPath::math || ways.products.empty()) return false;
    const std::uint32_t last = context_.flow.works_of(op).back();
    for (const std::uint32_t w : context_.flow.works_of(op)) edit_.drop(w, !is_entry(w));
    for (const ExtraKernel& k : ways.products) pend(last, k);
    return true;
  }

  void pend(std::uint32_t work, const ExtraKernel& extra) {
    const OpKind kind = op_row(extra.op).kind;
    const bool of_library = kind == OpKind::matmul || kind == OpKind::attention;
    NewKernel k = new_kernel(extra, of_library ? compiled_.call_us(kind) : compiled_.launch_us());
    if (!of_library) {
      k.kernel = names_.numbered(extra.kernel, {});
      k.op = k.kernel.name;
      report_.bytes_after += extra.bytes;
      report_.kernels.push_back({k.kernel.name, 1, extra.bytes, extra.us});
    }
    pending_.push_back({work, std::move(k)});
  }

  void insert(const FusionGroup& group) {
    const auto works = context_.flow.works_of(context_.flow.ops[group.ops.back()]);
    const std::uint32_t anchor = works.back();
    for (const GeneratedKernel& g : group_kernels(context_, group)) {
      NewKernel k;
      k.operands = generated_operands(context_, group, g);
      k.kernel = names_.numbered(generated_kernel(context_, g.kind, group), k.operands);
      k.op = k.kernel.name;
      k.geometry = g.geometry;
      k.duration_us = g.us;
      k.host_us = compiled_.launch_us();
      report_.bytes_after += g.bytes;
      report_.kernels.push_back(
          {k.kernel.name, static_cast<std::uint32_t>(group.ops.size()), g.bytes, g.us});
      if (group.phase == FlowPhase::backward) {
        last_backward_[context_.flow.ops[group.ops.back()].pass] = pending_.size();
      }
      pending_.push_back({anchor, std::move(k)});
    }
  }

  void insert_pending() {
    const GradientNodes nodes = gradient_nodes(context_.step, context_.flow.passes());
    for (const auto& [pass, last] : last_backward_) {
      pending_[last].kernel.host_us += nodes.us * host_.gap_scale_aligned;
    }
    enter_graphs(context_, compiled_, entries_, nodes.count, edit_);
    for (Pending& p : pending_) edit_.insert_after(p.work, std::move(p.kernel));
  }

  KernelContext context_;
  const JitOptions& options_;
  const HostModel& host_;
  StepEdit& edit_;
  JitReport& report_;
  Entries entries_;
  AttentionStyle style_;
  LibraryRewrite library_;
  std::vector<Pending> pending_;
  std::map<std::uint32_t, std::size_t> last_backward_;  // by pass: what is pending
  CompiledHost compiled_;
  GeneratedNames names_;
};

/// As nodes of the CUDA graphs in front of which they run.
void copy_inputs(const KernelContext& c, const GraphCuts& cuts, StepEdit& edit) {
  std::vector<bool> outside;
  for (const FuseRole role : c.plan.roles) outside.push_back(role == FuseRole::outside);
  for (const CopiedInputs& in : copied_inputs(c.flow, outside, cuts)) {
    NewKernel k;
    k.kernel = c.names.kernel(LibraryUse::list_copy);
    k.op = "aten::copy_";
    k.geometry = chunks_geometry(in.chunks * double(multi_tensor_chunk));
    k.duration_us = input_copy_us(c.gpu, c.law.graph_input, c.law.graph_input_chunk_us, in);
    edit.insert_after(in.work, std::move(k));
  }
}

/// TorchScript runs the forward operations without Python between them.
void script_host(const Dataflow& flow, const FusionLaw& law, Step& step) {
  for (const FlowOp& op : flow.ops) {
    if (!op.in_model || op.phase != FlowPhase::forward) continue;
    for (const std::uint32_t w : flow.works_of(op)) {
      const std::uint32_t item = step.plan.works[w].item;
      if (item == no_index) continue;
      HostItem& before = step.plan.items[item];
      before.gap = before.input + scale(before.gap - before.input, law.host.script_host_share);
    }
  }
}

void require_shapes(const Step& step, const Dataflow& flow) {
  const bool shapes = std::any_of(flow.ops.begin(), flow.ops.end(), [](const FlowOp& op) {
    return op.in_model && op.input_count > 0;
  });
  if (shapes) return;
  throw InputError(
      step.trace.path, "--compile",
      "a trace of " + std::string(to_string(step.trace.framework)) + " without operator shapes",
      "operator shapes of an eager PyTorch run (record_shapes=True)");
}

void refuse_compiled(const Step& step) {
  const Trace& trace = step.trace;
  bool compiled = false;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    compiled = compiled || step.kernels.of(a).family == KernelFamily::triton;
  }
  std::vector<bool> used(trace.strings.size(), false);  // many operations share a name
  for (const StringId name : trace.ops.name) {
    if (used[name.index()]) continue;
    used[name.index()] = true;
    compiled = compiled || op_row(text_of(trace, name)).kind == OpKind::generated;
  }
  if (!compiled) return;
  throw InputError(trace.path, "--compile", "a trace of compiled code", "a trace of an eager run");
}

double unknown_share(const Step& step, const Dataflow& flow, const GraphCuts& cuts,
                     const FusionPlan& plan) {
  double unknown = 0;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (!flow.ops[i].in_model || plan.roles[i] != FuseRole::outside) continue;
    if (cuts.graph_of[i] == runs_eager) continue;
    for (const std::uint32_t w : flow.works_of(flow.ops[i])) {
      unknown += to_us(step.plan.works[w].duration);
    }
  }
  const double all = gpu_us(step);
  return all > 0 ? unknown / all : 0;
}

/// Where gradients are summed, or will be: around a step without collectives other ranks are put by
/// DistributedDataParallel, too.
GradientBuckets buckets_of(const Step& step, const Dataflow& flow, const JitOptions& options) {
  const bool sums = sums_gradients(step, flow.nesting);
  const bool several = options.ranks.value_or(sums ? 2 : 1) > 1;
  return several && (sums || !meets_others(step)) ? options.buckets : GradientBuckets{};
}

double attention_us(const JitReport& report, AttentionPath path) {
  switch (path) {
    case AttentionPath::math: return report.attention_math_us;
    case AttentionPath::masked: return report.attention_masked_us;
    default: return report.attention_keep_us;
  }
}

void count_losses(const JitReport& report, const JitOptions& options, LossList& losses) {
  add_untold(report.untold, "jit_mask_untold", "is compiled", losses);
  if (report.unknown_share > 0.01) {
    losses.add("jit_without_shapes", Severity::warning,
               "operations of the model without shapes keep their kernels");
  }
  if (report.breaks > 0) {
    losses.add(
        "jit_graph_breaks", Severity::info,
        "places where Python reads a value or calls a recurrent layer cut the compiled model "
        "into several graphs, each with host time of its own",
        report.breaks);
  }
  if (report.bucket_cuts > 0) {
    losses.add("jit_bucket_cuts", Severity::info,
               "places where PyTorch cuts the compiled model at a bucket of gradients, which "
               "other ranks add to: each piece has host time and kernels of its own",
               static_cast<std::int64_t>(report.bucket_cuts));
  }
  if (report.attention_keep_us > 0 && options.compiler != Compiler::torchscript) {
    losses.add(
        "jit_attention_backend", Severity::info,
        "the compiled model may compute attention in another way than the eager one: by rule, "
        "or as --attention says; the GPU time of every way is stated");
  }
}

}  // namespace

std::span<const Named<Compiler>> compilers() { return compiler_names; }

AttentionPath asked_attention(const JitOptions& options) {
  const bool kept =
      options.compiler == Compiler::xla && options.attention == AttentionPath::automatic;
  return kept ? AttentionPath::keep : options.attention;
}

Compiler parse_compiler(std::string_view name) {
  return parse_named(compiler_names, name, "command line", "--compile");
}

Step with_jit(Step step, const JitOptions& options, const JitConstants& constants, LossList& losses,
              JitReport* report) {
  const auto& [gpu, law, time, names, layers, host, products] = constants;
  JitReport local;
  JitReport& r = report == nullptr ? local : *report;
  r = {};
  Dataflow flow = dataflow(step);
  require_shapes(step, flow);
  refuse_compiled(step);
  r.kernels_before = r.kernels_after = step.plan.works.size();
  r.gpu_before_us = r.gpu_after_us = gpu_us(step);
  r.host_before_us = host_us(step);
  if (options.compiler == Compiler::torchscript) {
    script_host(flow, law, step);
    r.host_after_us = host_us(step);
    return step;
  }
  r.expected_error = law.expected_error;
  lower_backward_products(flow);
  const bool xla = options.compiler == Compiler::xla;
  const GraphCuts cuts =
      xla ? uncut(flow) : graph_cuts(step, flow, buckets_of(step, flow, options));
  r.breaks = cuts.breaks;
  r.bucket_cuts = cuts.bucket_cuts;
  const FusionPlan plan = plan_fusion(step, flow, cuts, xla);
  r.unknown_share = unknown_share(step, flow, cuts, plan);
  if (!xla) keep_wide(plan, flow);
  // The plan refers to the step as it was; the edit has a copy to change.
  StepEdit edit(step, host.launch_call_us);
  const KernelContext context{step,
                              flow,
                              plan,
                              gpu,
                              law,
                              time,
                              names,
                              layers,
                              products,
                              image_order(step, flow, plan, law),
                              written_before(flow)};
  drop_host_reads(step, flow, plan.host_lists, edit);
  Fuser(context, cuts, options, host, edit, r).run();
  if (options.compiler == Compiler::reduce_overhead) copy_inputs(context, cuts, edit);
  Step out = std::move(edit).finish();
  if (options.compiler == Compiler::reduce_overhead) {
    const double gradients_us = gradient_nodes(step, flow.passes()).us;
    const Duration gradients = from_us(gradients_us * host.gap_scale_aligned);
    r.graphs = capture_compiled(host, gradients, graph_spans(step, flow, cuts), out);
  }
  r.kernels_after = out.plan.works.size();
  r.gpu_after_us = gpu_us(out);
  r.host_after_us = host_us(out);
  const double other = r.gpu_after_us - attention_us(r, r.attention);
  for (double* us : {&r.attention_keep_us, &r.attention_masked_us, &r.attention_math_us}) {
    *us += other;
  }
  count_losses(r, options, losses);
  return out;
}

}  // namespace tandem
