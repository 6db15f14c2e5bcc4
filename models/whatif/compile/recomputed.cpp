#include "models/whatif/compile/recomputed.h"

#include <algorithm>

#include "models/memory/inlined.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

using Tensors = std::vector<std::uint32_t>;  // ascending

class Recomputed {
 public:
  Recomputed(const Dataflow& flow, const std::vector<FuseRole>& roles, const Tensors& same_as,
             const TensorReaders& readers, const std::vector<bool>& later)
      : flow_(flow), roles_(roles), same_as_(same_as), readers_(readers), later_(later) {}

  std::vector<bool> find() {
    std::vector<bool> again(flow_.tensors.size(), false);
    // What is loaded by whoever computes a tensor; nothing for stored ones.
    std::vector<Tensors> loads(flow_.tensors.size());
    // Loads more than are done again: places of an image; rows, their weights and statistics.
    std::vector<bool> many(flow_.tensors.size(), false);
    for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
      const FlowOp& op = flow_.ops[i];
      if (op.kind == OpKind::row_norm || op.kind == OpKind::row_norm_backward) {
        for (const std::uint32_t t : flow_.outputs_of(op)) many[t] = true;
      }
      if (!repeatable(op, roles_[i])) continue;
      const Tensors loaded = loads_of(op, again, loads);
      const auto inputs = flow_.inputs_of(op);
      const bool too_many = interpolates_images(op) ||
                            std::any_of(inputs.begin(), inputs.end(), [&](const auto& use) {
                              return many[same_as_[use.tensor]];
                            });
      for (const std::uint32_t t : flow_.outputs_of(op)) {
        const bool fits = (read_once(op, t) && loaded.size() <= most_reads_at_all) ||
                          (loaded.size() <= most_reads_again && !too_many);
        if (flow_.tensors[t].elements <= 1) continue;  // counters, which are updated in place
        if (same_as_[t] != t || !fits || !read_in_place(i, t)) continue;
        again[t] = true;
        loads[t] = loaded;
        many[t] = too_many;
      }
    }
    return again;
  }

 private:
  /// By whoever has it at the same places: an image is interpolated from four places of what is
  /// stored, and stored before it is joined with others (realize_opcount_threshold).
  bool read_once(const FlowOp& maker, std::uint32_t t) const {
    if (readers_[t].size() != 1) return false;
    const FlowOp& reader = flow_.ops[readers_[t].front()];
    return !interpolates_images(reader) && !(interpolates_images(maker) && concatenates(reader));
  }

  Tensors loads_of(const FlowOp& op, const std::vector<bool>& again,
                   const std::vector<Tensors>& loads) const {
    Tensors all;
    for (const FlowUse& use : flow_.inputs_of(op)) {
      const std::uint32_t t = same_as_[use.tensor];
      if (again[t]) {
        all.insert(all.end(), loads[t].begin(), loads[t].end());
      } else {
        all.push_back(t);
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// Whether generated code of the same phase alone reads the result. Library kernels and later
  /// phases need it in memory; but the gradient of a norm reads the normalised rows, which the norm
  /// keeps. Statistics of channels are taken of what is stored, be it in another type.
  bool read_in_place(std::uint32_t maker, std::uint32_t t) const {
    const std::vector<std::uint32_t>& readers = readers_[t];
    const bool widens = flow_.ops[maker].kind == OpKind::cast;
    bool normalised = false, later = false;
    for (const std::uint32_t r : readers) {
      const FlowOp& reader = flow_.ops[r];
      if (reader.phase != flow_.ops[maker].phase) {
        if (later_[t] && reader.phase == FlowPhase::backward) continue;
        if (reader.kind != OpKind::row_norm_backward) return false;
        later = true;
        continue;
      }
      if (!fusable(roles_[r])) return false;
      if (roles_[r] == FuseRole::channel_norm && !widens) return false;
      normalised |= reader.kind == OpKind::row_norm;
    }
    return !readers.empty() && (normalised || !later);
  }

  const Dataflow& flow_;
  const std::vector<FuseRole>& roles_;
  const Tensors& same_as_;
  const TensorReaders& readers_;
  const std::vector<bool>& later_;
};

}  // namespace

bool repeatable(const FlowOp& op, FuseRole role) {
  if (role != FuseRole::pointwise || op.row == nullptr || op.output_count == 0) return false;
  if (samples_images(op)) return false;
  return op.kind == OpKind::pointwise || op.kind == OpKind::cast || op.kind == OpKind::gather ||
         concatenates(op);
}

std::vector<bool> recomputed(const Dataflow& flow, const std::vector<FuseRole>& roles,
                             const std::vector<std::uint32_t>& same_as,
                             const TensorReaders& readers, const std::vector<bool>& later) {
  return Recomputed(flow, roles, same_as, readers, later).find();
}

void keep_wide(const FusionPlan& plan, Dataflow& flow) {
  std::vector<bool> narrow(flow.tensors.size(), false);  // somebody reads it in 16 bits
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    const bool wide = op.phase == FlowPhase::forward && op.row != nullptr &&
                      fusable(plan.roles[i]) && computes_in_fp32(*op.row);
    if (wide || plan.roles[i] == FuseRole::vanishes) continue;
    for (const FlowUse& use : flow.inputs_of(op)) narrow[plan.same_as[use.tensor]] = true;
  }
  for (const FusionGroup& group : plan.groups) {
    for (const std::uint32_t t : group.writes) {
      FlowTensor& tensor = flow.tensors[t];
      if (narrow[t] || tensor.producer == no_row || tensor.consumers == 0) continue;
      const FlowOp& maker = flow.ops[tensor.producer];
      const bool computed =
          maker.phase == FlowPhase::forward && maker.row != nullptr && computes_in_fp32(*maker.row);
      if (computed && is_half(tensor.type)) tensor.type = DataType::fp32;
    }
  }
}

}  // namespace tandem
