#include "models/whatif/compile/host/host_reads.h"

#include <algorithm>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/whatif/compile/host/host_lists.h"

namespace tandem {
namespace {

/// Operations, in the order of their launch, from the first to the last of a phase of one pass that
/// the compiler is given.
struct Span {
  std::size_t first = 0, last = 0;
};
Span model_of(const Dataflow& flow, std::uint32_t pass, FlowPhase phase) {
  Span span{flow.ops.size(), 0};
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (!flow.ops[i].in_model || flow.ops[i].phase != phase || flow.ops[i].pass != pass) continue;
    span.first = std::min(span.first, i);
    span.last = i;
  }
  return span;
}

/// What the compiler is not given of the operations among those that it is given.
std::vector<const FlowOp*> between(const Dataflow& flow) {
  std::vector<const FlowOp*> out;
  for (std::uint32_t pass = 0; pass < flow.passes(); ++pass) {
    for (const FlowPhase phase : {FlowPhase::forward, FlowPhase::backward}) {
      const Span span = model_of(flow, pass, phase);
      for (std::size_t i = span.first; i < span.last; ++i) {
        if (!flow.ops[i].in_model && flow.ops[i].phase == phase) out.push_back(&flow.ops[i]);
      }
    }
  }
  return out;
}

/// Whether all that the operation launched are copies.
bool moves_only(const Step& step, const Dataflow& flow, const FlowOp& op) {
  const auto works = flow.works_of(op);
  return std::all_of(works.begin(), works.end(), [&](std::uint32_t w) {
    return step.kernels.of(step.plan.works[w].source).family == KernelFamily::transfer;
  });
}

/// Whether Python reads a number, not an operation that it calls.
bool reads_number(const Step& step, const FlowOp& op) {
  if (!reads_value(step, op.root)) return false;
  const DataType type = value_type(step, op.root);
  return type != DataType::unknown && type != DataType::boolean;
}

}  // namespace

bool tells_size(const Step& step, const Dataflow& flow, const FlowOp& op) {
  return op.row != nullptr && op.row->is(waits) && !moves_only(step, flow, op);
}

bool reads_value(const Step& step, std::uint32_t row) {
  const OpRow& op = op_row(text_of(step.trace, step.trace.ops.name[row]));
  return op.is(waits) && op.kind == OpKind::scope;
}

DataType value_type(const Step& step, std::uint32_t row) {
  const TensorShape* value = operands_of(step.trace, row).tensors.at(0);
  return value == nullptr ? DataType::unknown : value->type;
}

void drop_host_reads(const Step& step, const Dataflow& flow, const std::vector<bool>& lists,
                     StepEdit& edit) {
  std::vector<bool> read(step.trace.ops.size(), false);
  const auto asked = between(flow);
  for (const FlowOp* op : asked) {
    if (tells_size(step, flow, *op)) return;
  }
  for (const FlowOp* op : asked) {
    if (!moves_only(step, flow, *op) || reads_number(step, *op)) continue;
    const std::uint32_t rows = rows_around(step, flow, *op);
    if (rows != no_row && lists[rows]) continue;
    read[op->op] = true;
    for (const std::uint32_t w : flow.works_of(*op)) edit.drop(w, true);
  }
  for (std::uint32_t i = 0; i < step.plan.items.size(); ++i) {
    const HostItem& item = step.plan.items[i];
    if (item.wait == WaitFor::nothing || item.source == no_index) continue;
    std::uint32_t op = flow.nesting.of_call[item.source];
    while (op != no_row && !read[op]) op = flow.nesting.parent[op];
    if (op != no_row) edit.drop_wait(i);
  }
}

}  // namespace tandem
