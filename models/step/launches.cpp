#include "models/step/launches.h"

#include <algorithm>
#include <compare>
#include <map>
#include <unordered_map>

#include "models/kernel/work/flops.h"
#include "models/kernel/work/work.h"
#include "models/step/op_nesting.h"

namespace tandem {

// What makes two launches equal, as ids of the trace.
struct TraceLaunches::Key {
  StringId name;
  GeometryId geometry;
  std::uint32_t kind = 0;
  std::uint32_t kernel = 0;  // StepKernels::id_of
  StringId op;
  OperandsId operands;
  friend bool operator==(const Key&, const Key&) = default;
};

namespace {

struct KeyHash {
  template <class Key>
  std::size_t operator()(const Key& key) const {
    std::size_t h = key.name.value * 0x9e3779b97f4a7c15ULL + key.geometry.value;
    for (const std::uint32_t id : {key.op.value, key.operands.value, key.kernel}) {
      h = (h ^ id) * 0xff51afd7ed558ccdULL;
    }
    return h ^ (h >> 32U) ^ key.kind;
  }
};

KernelLaunch transfer_launch(ActivityKind kind, std::string_view name) {
  KernelLaunch launch;
  launch.name = name;
  launch.traits.kind = kind == ActivityKind::memcpy ? Kind::memcpy : Kind::memset;
  launch.family = row_of(launch.traits).family;
  return launch;
}

}  // namespace

// Of the call that launched the activity; no_row where that was before the trace began.
TraceLaunches::OpOfActivity TraceLaunches::op_of_activity(
    const Links& links, std::span<const std::uint32_t> op_of_call) {
  OpOfActivity out;
  out.rows.reserve(links.call_of_activity.size());
  for (const std::uint32_t call : links.call_of_activity) {
    out.rows.push_back(call == no_row ? no_row : op_of_call[call]);
  }
  return out;
}

TraceLaunches::TraceLaunches(const Step& step)
    : TraceLaunches(step.trace, step.links,
                    op_of_activity(step.links, nest_ops(step.trace, step.links).of_call),
                    step.kernels) {}

TraceLaunches::TraceLaunches(const Trace& trace, const Links& links,
                             std::span<const std::uint32_t> op_of_call)
    : TraceLaunches(trace, links, op_of_activity(links, op_of_call)) {}

TraceLaunches::TraceLaunches(const Trace& trace, const Links& links, const OpOfActivity& ops)
    : TraceLaunches(trace, links, ops, classify_kernels(trace, ops.rows)) {}

TraceLaunches::TraceLaunches(const Trace& trace, const Links& links, const OpOfActivity& ops,
                             const StepKernels& kernels)
    : trace_(trace) {
  const Activities& acts = trace.activities;
  struct Twin {
    Key key;
    std::uint32_t activity = 0;
  };
  std::unordered_map<Key, std::uint32_t, KeyHash> known;
  std::unordered_map<Key, Twin, KeyHash> twins;  // without operation -> the same kernel with one
  std::vector<Key> keys(acts.size());
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    Key& key = keys[a];
    key = {acts.name[a], acts.geometry[a], static_cast<std::uint32_t>(acts.kind[a]), 0, {}, {}};
    const std::uint32_t op = ops.rows[a];
    if (op == no_row) continue;
    const Key bare = key;
    key.kernel = kernels.id_of(a);
    key.op = trace.ops.name[op];
    if (is_graph_node(trace, links, a)) continue;
    key.operands = trace.ops.operands[op];
    if (operands_of(trace, op).has_shapes) twins.try_emplace(bare, Twin{key, a});
  }
  shape_of_.resize(acts.size());
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    // Launched before the trace began: most likely what its twin with the same geometry was.
    const auto twin = keys[a].op.valid() ? twins.end() : twins.find(keys[a]);
    const bool stands_in = twin != twins.end();
    const Key& key = stands_in ? twin->second.key : keys[a];
    const auto [it, fresh] = known.try_emplace(key, 0);
    if (fresh) it->second = add(key, kernels.of(stands_in ? twin->second.activity : a));
    shape_of_[a] = it->second;
  }
  set_shares(ops.rows);
}

namespace {

/// What kernels of an operation compute together: its product, or one of its gradients.
struct SharedProduct {
  std::uint32_t op = 0;
  Pass pass = Pass::forward;
  Kind depthwise{};  // whose kernels do not state the gradient otherwise
  auto operator<=>(const SharedProduct&) const = default;
};

/// Of a kernel of a recurrent layer its own part; other kernels that share a product do so equally.
double weight_of(const KernelLaunch& launch) {
  const MatrixProblem& p = launch.work.matrix;
  if (p.steps == 0) return 1;
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

}  // namespace

void TraceLaunches::set_shares(std::span<const std::uint32_t> op_of_activity) {
  share_of_.assign(shape_of_.size(), 1);
  std::map<SharedProduct, std::vector<std::uint32_t>> together;
  for (std::uint32_t a = 0; a < shape_of_.size(); ++a) {
    const KernelLaunch& launch = launches_[shape_of_[a]];
    if (op_of_activity[a] == no_row || launch.work.flops <= 0) continue;
    SharedProduct product{op_of_activity[a], launch.traits.pass, {}};
    if (launch.work.matrix.steps > 0) product.pass = Pass::forward;  // a recurrent layer as a whole
    if (row_of(launch.traits).depthwise) product.depthwise = launch.traits.kind;
    together[product].push_back(a);
  }
  // Names of plain products do not tell which gradient of a convolution they are: several may stand
  // as one, and the operation says how many it computes.
  struct Gradients {
    int stated = 0, told_apart = 0, kernels = 0;
  };
  std::map<std::uint32_t, Gradients> of_op;
  for (const auto& [product, kernels] : together) {
    Gradients& g = of_op[product.op];
    g.stated = gradients_[shape_of_[kernels.front()]];
    g.told_apart += 1;
    g.kernels += static_cast<int>(kernels.size());
  }
  for (const auto& [product, kernels] : together) {
    const Gradients& g = of_op[product.op];
    const int gradients = std::min(g.stated, g.kernels);
    double sum = 0;
    for (const std::uint32_t a : kernels) sum += weight_of(launches_[shape_of_[a]]);
    if (gradients > 0) sum *= static_cast<double>(g.told_apart) / gradients;
    for (const std::uint32_t a : kernels) {
      share_of_[a] = static_cast<float>(weight_of(launches_[shape_of_[a]]) / sum);
    }
  }
}

std::uint32_t TraceLaunches::add(const Key& key, const KernelClass& named) {
  const auto text = [&](StringId id) { return text_of(trace_, id); };
  const auto kind = static_cast<ActivityKind>(key.kind);
  const std::string_view name = text(key.name);
  const auto number = static_cast<std::uint32_t>(launches_.size());
  if (kind != ActivityKind::kernel) {
    launches_.push_back(transfer_launch(kind, name));
    gradients_.push_back(0);
    return number;
  }
  const Operands& operands = trace_.operands.get(key.operands);
  const KernelClass c = with_operand_type(named, operands.tensors.shapes);
  KernelLaunch launch;
  launch.name = name;
  launch.op = text(key.op);
  launch.family = c.family;
  launch.math = c.math;
  launch.traits = c.traits;
  if (key.geometry.valid()) launch.geometry = trace_.geometries[key.geometry.index()];
  const OpContext context{launch.op, operands.tensors, operands.arguments, launch.geometry};
  launch.work = kernel_work(c, context);
  launch.work.flops = formula_flops(c, context);
  launch.tensors = operands.tensors.shapes;
  if (c.traits.kind == Kind::unknown) {
    losses_.add("kernel_unknown", Severity::info,
                "kernel names that no rule of the kernel model knows, e.g. " + std::string(name));
  }
  launches_.push_back(launch);
  gradients_.push_back(convolution_gradients(context));
  return number;
}

KernelLaunch TraceLaunches::launch(std::uint32_t activity) const {
  KernelLaunch launch = launches_[shape_of_[activity]];
  launch.duration_us = to_us(trace_.activities.duration[activity]);
  launch.work.flops *= share_of_[activity];
  return launch;
}

}  // namespace tandem
