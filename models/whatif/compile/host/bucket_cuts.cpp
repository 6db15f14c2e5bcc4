#include "models/whatif/compile/host/bucket_cuts.h"

#include <set>

#include "models/step/memory/trained_parameters.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/collectives.h"

namespace tandem {
namespace {

/// Bytes of the parameters that operations take.
class ParameterBytes {
 public:
  explicit ParameterBytes(const Step& step)
      : step_(step), trained_(step.trace, step.links.steps.front()) {}

  /// Those of the operation around `op`, or its own. Each operation of the program counts once,
  /// however many operations it is made of.
  double of(const FlowOp& op) {
    if (!seen_.insert(op.root).second) return 0;
    const double bytes = given_to(op.root);
    return bytes > 0 || op.op == op.root ? bytes : given_to(op.op);
  }

 private:
  double given_to(std::uint32_t row) {
    const OpRow& known = op_row(text_of(step_.trace, step_.trace.ops.name[row]));
    const OpTensors& tensors = operands_of(step_.trace, row).tensors;
    double bytes = 0;
    for (std::size_t i = 0; i < tensors.shapes.size(); ++i) {
      if (!contains(known.arguments.parameters, tensors.arguments[i])) continue;
      if (trained_.takes(tensors.shapes[i])) bytes += stored_bytes(tensors.shapes[i]);
    }
    return bytes;
  }

  const Step& step_;
  TrainedParameters trained_;
  std::set<std::uint32_t> seen_;
};

}  // namespace

bool sums_gradients(const Step& step, const OpNesting& nesting) {
  OpRows rows(step.trace);
  for (std::uint32_t op = 0; op < step.trace.ops.size(); ++op) {
    if (rows.of(op).kind == OpKind::collective && runs_in_hook(step.trace, nesting, op))
      return true;
  }
  return false;
}

std::vector<bool> piece_begins(const Step& step, const Dataflow& flow,
                               const std::vector<std::uint32_t>& forward,
                               const std::vector<std::uint32_t>& graph_of,
                               const GradientBuckets& buckets) {
  std::vector<bool> begins(forward.size(), false);
  if (buckets.further_bytes <= 0 || forward.empty() || step.links.steps.empty()) return begins;
  ParameterBytes parameters(step);
  std::size_t cut = 0;  // the last of the graph; none of it begins at the first operation
  double bytes = 0, cap = buckets.first_bytes;
  for (std::size_t at = forward.size(); at-- > 0;) {
    const std::uint32_t graph = graph_of[forward[at]];
    const bool last = at + 1 == forward.size() || graph_of[forward[at + 1]] != graph;
    if (last) {
      bytes = 0, cap = buckets.first_bytes, cut = 0;
    } else if (bytes >= cap && flow.ops[forward[at]].root != flow.ops[forward[at + 1]].root) {
      begins[cut = at + 1] = true;
      bytes = 0, cap = buckets.further_bytes;
    }
    bytes += parameters.of(flow.ops[forward[at]]);
    const bool first = at == 0 || graph_of[forward[at - 1]] != graph;
    if (first && bytes <= 0 && cut > 0) begins[cut] = false;
  }
  return begins;
}

}  // namespace tandem
