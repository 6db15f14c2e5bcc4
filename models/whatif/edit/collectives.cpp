#include "models/whatif/edit/collectives.h"

#include <algorithm>

#include "models/collective/collective_time.h"
#include "models/ops/op_table.h"
#include "models/step/op_rows.h"

namespace tandem {

int ranks_of(const Trace& trace, const Collective& collective) {
  return collective.ranks > 0 ? collective.ranks : trace.distributed.world_size;
}

bool meets_others(const Step& step) {
  return std::any_of(step.plan.works.begin(), step.plan.works.end(), [&](const DeviceWork& work) {
    return step.trace.activities.collective[work.source].valid();
  });
}

namespace {

/// A tensor of two dimensions or more is handed to `op` or to what contains it of its kind.
bool sends_matrix(const Trace& trace, const OpNesting& nesting, OpRows& rows, std::uint32_t op) {
  for (; op != no_row && rows.of(op).kind == OpKind::collective; op = nesting.parent[op]) {
    const std::vector<TensorShape>& shapes = operands_of(trace, op).tensors.shapes;
    const auto flat = [](const TensorShape& shape) { return shape.rank < 2; };
    if (!shapes.empty() && std::none_of(shapes.begin(), shapes.end(), flat)) return true;
  }
  return false;
}

}  // namespace

std::vector<bool> exchanges_activations(const Step& step) {
  const Trace& trace = step.trace;
  std::vector<bool> out(trace.activities.size(), false);
  if (trace.collectives.empty()) return out;
  const OpNesting nesting = nest_ops(trace, step.links);
  const std::vector<bool> updates = ops_of_optimizer(trace);
  OpRows rows(trace);
  for (std::uint32_t act = 0; act < out.size(); ++act) {
    const Collective* const c = collective_of(trace, act);
    if (c == nullptr) continue;
    const std::uint32_t op = nesting.of_activity[act];
    out[act] = c->kind == CollectiveKind::all_to_all || c->kind == CollectiveKind::point_to_point ||
               (op != no_row && !updates[op] && sends_matrix(trace, nesting, rows, op));
  }
  return out;
}

bool runs_in_hook(const Trace& trace, const OpNesting& nesting, std::uint32_t op) {
  const std::uint32_t node = nesting.parent[op];
  if (node == no_row) return false;
  return op_row(without_engine_prefix(text_of(trace, trace.ops.name[node]))).is(stores_gradients);
}

double collective_ratio(const CollectiveLaw& law, const Trace& trace, std::uint32_t activity,
                        const GpuArch& from, const Collective& next, const RankedGpu& to) {
  const Collective& now = *collective_of(trace, activity);
  const CollectiveTime before = collective_time(from, law, now, ranks_of(trace, now));
  const CollectiveTime after = collective_time(to.gpu, law, next, to.ranks);
  return before.known && after.known ? after.us / before.us : 0;
}

void set_collective(Trace& trace, std::uint32_t activity, const Collective& next, double ratio) {
  Activities& acts = trace.activities;
  acts.duration[activity] = scale(acts.duration[activity], ratio);
  acts.bytes[activity] = next.in_bytes;
  const auto known = std::find(trace.collectives.begin(), trace.collectives.end(), next);
  acts.collective[activity] =
      CollectiveId(static_cast<std::size_t>(known - trace.collectives.begin()));
  if (known == trace.collectives.end()) trace.collectives.push_back(next);
}

}  // namespace tandem
