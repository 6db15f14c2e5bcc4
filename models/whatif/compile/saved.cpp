#include "models/whatif/compile/saved.h"

#include <algorithm>

#include "models/memory/compiled_lives.h"
#include "models/step/memory/step_memory.h"

namespace tandem {
namespace {

/// Whether the operation widens what a library kernel made in 16 bits: to keep that takes half the
/// memory that normalised rows do.
bool widens_library(const Dataflow& flow, const std::vector<FuseRole>& roles,
                    const std::vector<std::uint32_t>& same_as, const FlowOp& op) {
  if (op.kind != OpKind::cast || op.input_count != 1) return false;
  const FlowTensor& from = flow.tensors[same_as[flow.inputs_of(op)[0].tensor]];
  return is_half(from.type) && from.producer != no_row && roles[from.producer] == FuseRole::library;
}

/// Norms of the backward pass take what they need of the forward pass their own way (groups.cpp);
/// `widened`: something narrower is there.
bool kept_for_norms(const Dataflow& flow, const std::vector<FuseRole>& roles,
                    const std::vector<std::uint32_t>& readers, bool widened) {
  return std::any_of(readers.begin(), readers.end(), [&](std::uint32_t r) {
    const bool norm = roles[r] == FuseRole::channel_norm_backward ||
                      flow.ops[r].kind == OpKind::row_norm_backward;
    return norm && !widened;
  });
}

}  // namespace

std::vector<bool> computed_later(const Dataflow& flow, const std::vector<FuseRole>& roles,
                                 const std::vector<std::uint32_t>& same_as,
                                 const TensorReaders& readers,
                                 const std::vector<bool>& attends_rows) {
  std::vector<GraphStorage> storages(flow.tensors.size());
  for (std::size_t t = 0; t < storages.size(); ++t) {
    storages[t].bytes.fixed_bytes = flow.tensors[t].bytes();
    storages[t].unmade = flow.tensors[t].producer == no_row;
  }
  std::vector<GraphOp> ops;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    GraphOp out{fusable(roles[i]) ? op.row : nullptr, graph_phase(op.phase)};
    out.pass = op.pass;
    if (roles[i] != FuseRole::vanishes) {
      for (const FlowUse& use : flow.inputs_of(op)) out.reads.push_back(same_as[use.tensor]);
      for (const std::uint32_t t : flow.outputs_of(op)) {
        if (same_as[t] != t) continue;
        const bool repeats = attends_rows[i] || repeatable(op, roles[i]);
        const bool kept =
            !repeats || flow.tensors[t].elements <= 1 ||
            kept_for_norms(flow, roles, readers[t], widens_library(flow, roles, same_as, op));
        out.writes.push_back({t, kept});
      }
    }
    ops.push_back(std::move(out));
  }
  return computed_again(ops, storages);
}

}  // namespace tandem
