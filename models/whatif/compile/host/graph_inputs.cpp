#include "models/whatif/compile/host/graph_inputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/kernel/launch_rules.h"

namespace tandem {
namespace {

/// Collects the inputs of one graph.
class Collector {
 public:
  Collector(const Dataflow& flow, const std::vector<bool>& outside, const GraphCuts& cuts)
      : flow_(flow), outside_(outside), cuts_(cuts) {}

  void see(const FlowOp& op, bool first, CopiedInputs& inputs) {
    for (const FlowUse& use : flow_.inputs_of(op)) {
      const bool given = first && is_input(op, use);
      if (!given && !is_made_outside(use.tensor)) continue;
      if (!seen_.insert(use.tensor).second) continue;
      const FlowTensor& tensor = flow_.tensors[use.tensor];
      inputs.bytes += tensor.bytes();
      inputs.largest = std::max(inputs.largest, double(tensor.elements));
      inputs.chunks += std::ceil(double(tensor.elements) / double(multi_tensor_chunk));
    }
  }

 private:
  /// Of the first operation; what others read and nothing has made may be parameters.
  bool is_input(const FlowOp& op, const FlowUse& use) const {
    const FlowTensor& tensor = flow_.tensors[use.tensor];
    return op.phase == FlowPhase::forward && tensor.producer == no_row && !tensor.state &&
           op.kind != OpKind::gather && !contains(op.row->arguments.parameters, use.argument);
  }
  bool is_made_outside(std::uint32_t tensor) const {
    const std::uint32_t maker = flow_.tensors[tensor].producer;
    return maker != no_row && (outside_[maker] || cuts_.graph_of[maker] == runs_eager);
  }

  const Dataflow& flow_;
  const std::vector<bool>& outside_;
  const GraphCuts& cuts_;
  std::set<std::uint32_t> seen_;
};

}  // namespace

std::vector<CopiedInputs> copied_inputs(const Dataflow& flow, const std::vector<bool>& outside,
                                        const GraphCuts& cuts) {
  std::vector<CopiedInputs> out;
  std::map<std::tuple<std::uint32_t, FlowPhase, std::uint32_t>, std::size_t> graphs;
  std::vector<Collector> collectors;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (outside[i] || op.phase == FlowPhase::other) continue;
    if (cuts.graph_of[i] == runs_eager || op.work_count == 0) continue;
    const auto [graph, first] =
        graphs.try_emplace({op.pass, op.phase, cuts.graph_of[i]}, out.size());
    if (first) {
      out.push_back({.work = flow.works_of(op).front()});
      collectors.emplace_back(flow, outside, cuts);
    }
    collectors[graph->second].see(op, first, out[graph->second]);
  }
  return out;
}

double input_copy_us(const GpuArch& gpu, const FloorAndShare& moving, double chunk_us,
                     const CopiedInputs& inputs) {
  const double block_us = chunk_us * std::min(1.0, inputs.largest / double(multi_tensor_chunk));
  const double launches = std::ceil(std::max(1.0, inputs.chunks) / double(multi_tensor_chunks));
  return launches * std::hypot(streamed_us(gpu, moving, 2 * inputs.bytes / launches), block_us);
}

}  // namespace tandem
