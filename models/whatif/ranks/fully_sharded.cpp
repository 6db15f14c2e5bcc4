#include "models/whatif/ranks/fully_sharded.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "models/step/memory/trained_parameters.h"
#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/added_stream.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/gradients.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/ranks/cut_graphs.h"
#include "models/whatif/ranks/shard_units.h"
#include "models/whatif/ranks/shards.h"

namespace tandem {

namespace {

/// Names of PyTorch's operations, as its profiler writes them.
constexpr std::string_view copy_in_op = "fsdp::all_gather_copy_in";
constexpr std::string_view gather_op = "c10d::_allgather_base_";
constexpr std::string_view copy_out_op = "fsdp::split_with_sizes_copy";
constexpr std::string_view sum_copy_op = "fsdp::chunk_cat";
constexpr std::string_view scatter_op = "c10d::_reduce_scatter_base_";

/// Of one unit; works by the numbers of their insertions.
struct Gather {
  std::size_t copy_in = 0, gather = 0, copy_out = 0;
  Collective message;
  bool backward = false;
};
struct Scatter {
  std::size_t copy = 0, scatter = 0;
  Collective message;
};

/// In the order in which the host issues them.
struct Exchanges {
  std::vector<Gather> gathers;
  std::vector<Scatter> scatters;
};

Collective message(CollectiveKind kind, double part_bytes, int ranks) {
  // No GPU holds more: a trace may say anything.
  constexpr double most_bytes = 1ULL << 44;
  Collective c;
  c.kind = kind;
  c.ranks = ranks;
  const auto part = static_cast<std::int64_t>(std::min(part_bytes, most_bytes));
  c.in_bytes = c.out_bytes = part;
  (kind == CollectiveKind::all_gather ? c.out_bytes : c.in_bytes) = part * ranks;
  return c;
}

/// Puts the exchanges of a unit into a step.
class Sharding {
 public:
  Sharding(StepEdit& edit, const RanksOptions& o) : edit_(edit), o_(o), make_(edit.step(), o) {}

  /// A unit is gathered before `work`; more of the host's time goes by `once`.
  void gather(const ShardUnit& unit, std::uint32_t work, bool backward, double once = 0) {
    const ShardHost& host = o_.law.shard_host;
    const double ratio = once + host.gather + host.gather_parameter * unit.parameters;
    Gather& g = out_.gathers.emplace_back();
    g.message = message(CollectiveKind::all_gather, unit.part_bytes, o_.ranks);
    g.backward = backward;
    g.copy_in = edit_.insert_before(
        work, make_.chunk_copy(copy_in_op, unit.part_bytes, host_us(ratio / 2)));
    g.gather =
        edit_.insert_before(work, make_.collective(gather_op, g.message, host_us(ratio / 2)));
  }
  /// What was gathered last is copied to where it is needed, before `work`.
  void use(const ShardUnit& unit, std::uint32_t work) {
    const ShardHost& host = o_.law.shard_host;
    Gather& g = out_.gathers.back();
    const double ratio =
        (g.backward ? host.use_again : host.use) + host.use_parameter * unit.parameters;
    g.copy_out = edit_.insert_before(
        work, make_.list_copy(copy_out_op, o_.ranks * unit.part_bytes, host_us(ratio)));
  }
  void scatter(const ShardUnit& unit) {
    const ShardHost& host = o_.law.shard_host;
    const double bytes = o_.ranks * unit.part_bytes;
    const double ratio =
        host.scatter + host.scatter_parameter * unit.parameters + host.scatter_gb * bytes / 1e9;
    Scatter& s = out_.scatters.emplace_back();
    s.message = message(CollectiveKind::reduce_scatter, unit.part_bytes, o_.ranks);
    s.copy =
        edit_.insert_after(unit.gradients, make_.list_copy(sum_copy_op, bytes, host_us(ratio / 2)));
    s.scatter = edit_.insert_after(unit.gradients,
                                   make_.collective(scatter_op, s.message, host_us(ratio / 2)));
  }
  /// Lists of distributed tensors cost the host more: before each item that begins such an update.
  void slow_update(std::uint32_t item) {
    const double launch_us = make_.host().launch_call_us;
    const double more_us = make_.host().us(o_.law.shard_host.update) - launch_us;
    edit_.set_gap(item, edit_.step().plan.items[item].gap + from_us(more_us));
  }
  Exchanges take() { return std::move(out_); }

 private:
  double host_us(double ratio) const { return make_.host().us(ratio, o_.law.shard_host.bare); }

  StepEdit& edit_;
  const RanksOptions& o_;
  RankKernels make_;
  Exchanges out_;
};

/// Those of the forward pass: the root stays whole, if anything is left for it.
std::vector<const ShardUnit*> forward_units(const ShardUnits& units) {
  std::vector<const ShardUnit*> out;
  if (units.root.parameters > 0) out.push_back(&units.root);
  for (const ShardUnit& layer : units.layers) out.push_back(&layer);
  return out;
}

/// Before the backward pass of a layer runs, the gather of the one before it is on its way.
void add_exchanges(const ShardUnits& units, const ShardHost& host, Sharding& add) {
  const std::vector<ShardUnit>& layers = units.layers;
  const std::vector<const ShardUnit*> forward = forward_units(units);
  for (const ShardUnit* unit : forward) {
    add.gather(*unit, unit->forward, false, unit == forward.front() ? host.step : 0);
    add.use(*unit, unit->forward);
  }
  for (std::size_t k = layers.size(); k-- > 0;) {
    const bool last = k + 1 == layers.size();
    if (last) add.gather(layers[k], units.root.backward, true);
    add.use(layers[k], layers[k].backward);
    if (k > 0) add.gather(layers[k - 1], layers[k].backward, true);
  }
  for (std::size_t k = layers.size(); k-- > 0;) add.scatter(layers[k]);
  if (units.root.parameters > 0) add.scatter(units.root);
}

/// The first item of each operation on the lists of an optimizer.
std::vector<std::uint32_t> updates(const Step& step, const OpNesting& nesting) {
  const std::vector<bool> in_optimizer = ops_of_optimizer(step.trace);
  OpRows rows(step.trace);
  std::set<std::uint32_t> seen;
  std::vector<std::uint32_t> items;
  for (const DeviceWork& work : step.plan.works) {
    const std::uint32_t op = nesting.of_activity[work.source];
    if (op == no_row || work.item == no_index || !in_optimizer[op]) continue;
    if (rows.of(op).kind == OpKind::optimizer && seen.insert(op).second) {
      items.push_back(work.item);
    }
  }
  return items;
}

/// The next work of the stream of `work`, or none.
std::uint32_t next_on_stream(const Plan& plan, std::uint32_t work) {
  for (std::uint32_t w = work + 1; w < plan.works.size(); ++w) {
    if (plan.works[w].stream == plan.works[work].stream) return w;
  }
  return no_index;
}

/// Puts the exchanges on streams of their own, behind the events that PyTorch waits for.
class Events {
 public:
  Events(Step& step, const HostModel& host)
      : step_(step),
        delay_(from_us(host.event_latency_us)),
        copies_(step, host, "gather copies"),
        gathers_(step, host, "gathers"),
        scatters_(step, host, "scatters") {}

  void connect(const Exchanges& all, const std::vector<std::uint32_t>& works) {
    const std::uint32_t update = next_on_stream(step_.plan, works[all.scatters.back().scatter]);
    const std::uint32_t first = works[all.gathers.front().copy_in];
    const std::uint32_t before = before_on_stream(step_.plan, first);
    std::uint32_t last = no_index;  // of what computes, for the next step
    for (std::uint32_t w = 0; w < step_.plan.works.size(); ++w) {
      if (step_.plan.works[w].stream == step_.plan.works[first].stream) last = w;
    }
    for (const Gather& g : all.gathers) take(g, works);
    for (const Scatter& s : all.scatters) take(s, works);
    // The parts are there once the optimizer has run.
    wait_for({before != no_index ? before : last, delay_, false, before == no_index}, first,
             step_.plan);
    order(all, works);
    if (update != no_index) wait(update, works[all.scatters.back().scatter]);
    step_.links = link_trace(step_.trace);
  }

 private:
  void wait(std::uint32_t work, std::uint32_t awaited) {
    wait_for({awaited, delay_}, work, step_.plan);
  }
  void take(const Gather& g, const std::vector<std::uint32_t>& works) {
    copies_.take(works[g.copy_in]);
    gathers_.take(works[g.gather], g.message);
    wait(works[g.gather], works[g.copy_in]);
    wait(works[g.copy_out], works[g.gather]);
  }
  void take(const Scatter& s, const std::vector<std::uint32_t>& works) {
    scatters_.take(works[s.scatter], s.message);
    wait(works[s.scatter], works[s.copy]);
  }
  /// In the forward pass a gather runs beside that of the layer before, so that its buffer is free
  /// once the one before that was copied out; in the backward pass it waits for the layer before.
  /// The gradients of a layer are copied when those before have been scattered.
  void order(const Exchanges& all, const std::vector<std::uint32_t>& works) {
    for (std::size_t j = 1; j < all.gathers.size(); ++j) {
      const std::size_t ahead = all.gathers[j].backward ? 1 : 2;
      if (j >= ahead) wait(works[all.gathers[j].copy_in], works[all.gathers[j - ahead].copy_out]);
    }
    for (std::size_t k = 1; k < all.scatters.size(); ++k) {
      wait(works[all.scatters[k].copy], works[all.scatters[k - 1].scatter]);
    }
  }

  Step& step_;
  Duration delay_;
  AddedStream copies_, gathers_, scatters_;
};

double elements(const Gradient& gradient) {
  double out = 1;
  for (const std::int64_t d : gradient.dims) out *= static_cast<double>(d);
  return out;
}

/// Errors: InputError for what cannot be sharded.
void check(const Step& step, const std::vector<Gradient>& gradients,
           const std::vector<GraphCall>& graphs) {
  const auto fail = [&](const char* found, const char* expected) {
    throw InputError(step.trace.path, "--shard", found, expected);
  };
  if (gradients.empty()) {
    fail("no gradient whose shape was recorded",
         "a step of training, of a network or of a trace with record_shapes=True");
  }
  if (!graphs.empty()) fail("compiled graphs", "an eager step");
  if (TrainedParameters(step.trace, step.links.steps.back()).passes() > 1) {
    fail("gradients of several passes, added up", "one forward and backward pass an update");
  }
  if (updates_rows(step.trace)) {
    fail("sparse gradients of tables, which PyTorch does not shard", "dense ones");
  }
}

}  // namespace

Step with_full_sharding(Step step, const RanksOptions& o, FullyShardedReport& report) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  const std::vector<Gradient> gradients = gradients_of(step, nesting);
  check(step, gradients, graph_calls(step, nesting));
  const ShardUnits units = shard_units(step, gradients, o.ranks);
  const double launch_us = o.host.launch_call_us;
  StepEdit edit(with_shards(std::move(step), {}, o.ranks, moving_us(o.gpu, o.time, 0), launch_us,
                            report.resized),
                launch_us);
  Sharding sharding(edit, o);
  for (const std::uint32_t item : updates(edit.step(), nesting)) sharding.slow_update(item);
  add_exchanges(units, o.law.shard_host, sharding);
  const Exchanges exchanges = sharding.take();
  std::vector<std::uint32_t> works;
  Step out = std::move(edit).finish(&works);
  out.trace.distributed.world_size = o.ranks;
  Events(out, o.host).connect(exchanges, works);
  for (const Gradient& gradient : gradients) report.elements += elements(gradient);
  report.units = static_cast<std::int64_t>(exchanges.scatters.size());
  report.gathers = static_cast<std::int64_t>(exchanges.gathers.size());
  for (const Gather& g : exchanges.gathers) {
    report.gathered_bytes += static_cast<double>(g.message.out_bytes);
  }
  return out;
}

}  // namespace tandem
