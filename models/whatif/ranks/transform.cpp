#include "models/whatif/ranks/transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/collective/collective_time.h"
#include "models/step/memory/sharded_parameters.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/ranks/alone.h"
#include "models/whatif/ranks/data_parallel.h"
#include "models/whatif/ranks/fully_sharded.h"
#include "models/whatif/ranks/shards.h"
#include "models/whatif/ranks/shared_host.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField collective_us{"collective_us", "us", "in collectives of a step"};
constexpr ReportField traced_collective_us{"traced_collective_us", "us",
                                           "in those of the traced step"};
constexpr ReportField gradients{"gradients", "count", "gradients copied to buckets and back"};
constexpr ReportField buckets{"buckets", "count", "buckets"};
constexpr ReportField graphs{"graphs", "count",
                             "entries of compiled graphs more, which are cut at buckets"};
constexpr ReportField buffers{"buffers", "count", "buffers broadcast"};
constexpr ReportField joined{"joined", "count", "cuts of compiled graphs that vanish"};
constexpr ReportField dropped{"dropped", "count", "kernels and copies between ranks dropped"};
constexpr ReportField resized{"resized", "count",
                              "kernels on parts of parameters, whose sizes follow the ranks"};
constexpr ReportField units{"units", "count", "units of sharded parameters"};
constexpr ReportField gathers{"gathers", "count", "gathers of units"};
constexpr ReportField gathered_bytes{"gathered_bytes", "B", "of parameters gathered in a step"};
constexpr ReportField all[] = {collective_us, traced_collective_us,
                               gradients,     buckets,
                               graphs,        buffers,
                               joined,        dropped,
                               resized,       units,
                               gathers,       gathered_bytes};
}  // namespace says

constexpr std::string_view shard_option = "shard";

double collective_us(const Step& step) {
  double sum = 0;
  for (const DeviceWork& work : step.plan.works) {
    if (work.engine == DeviceEngine::collective) sum += to_us(work.duration);
  }
  return sum;
}

/// Every collective of the whole job among `ranks` of them. The number without a law, or of groups
/// that are not the whole job.
std::int64_t among_others(const CollectiveLaw& law, const GpuArch& gpu, int from, int to,
                          Step& step) {
  std::int64_t kept = 0;
  Trace& trace = step.trace;
  for (std::uint32_t act = 0; act < trace.activities.size(); ++act) {
    const Collective* const c = collective_of(trace, act);
    if (c == nullptr) continue;
    Collective whole = *c;
    whole.ranks = ranks_of(trace, *c);
    const Collective next = among(whole, to);
    const double ratio =
        whole.ranks == from ? collective_ratio(law, trace, act, gpu, next, {gpu, to}) : 0;
    kept += ratio <= 0;
    if (ratio > 0) set_collective(trace, act, next, ratio);
  }
  trace.distributed.world_size = to;
  retime_plan(step);
  return kept;
}

/// What a rank keeps of sharded parameters is known from liveness alone.
void change_memory(const TransformInput& in, Rewritten& out) {
  if (!in.traced.batch || in.memory == nullptr) return;
  const std::int64_t batch =
      in.asked.has("batch") ? parse_count("batch", in.asked.get("batch")) : *in.traced.batch;
  const auto peak = [&](const Step& step, std::int64_t items) {
    return live_memory(step, items, in.device_memory, out.gpu->compute_major);
  };
  out.memory.before = peak(in.traced.step, *in.traced.batch);
  out.memory.after = peak(out.step, batch);
}

/// Errors: InputError for more ranks than one host holds.
int asked_ranks(const TransformInput& in) {
  const std::int64_t asked = parse_count("ranks", in.asked.get("ranks"));
  const auto most = static_cast<std::int64_t>(in.collectives.host_gpus);
  if (asked >= 1 && asked <= most) return static_cast<int>(asked);
  throw InputError(
      "command line", "--ranks", std::to_string(asked),
      fmt::format("1 to {}, the GPUs of one host: links between hosts are not modelled", most));
}

/// What another number of ranks does to a step.
struct RanksChange {
  int from = 1, to = 1;
  AloneReport alone;
  DataParallelReport added;
  FullyShardedReport sharded;
  std::int64_t activations = 0;  // collectives of them
  std::int64_t kept = 0;         // collectives that last as traced
  std::int64_t resized = 0;      // kernels on parts of parameters
  bool stays_whole = false;      // part of the parameters is not sharded
  bool peak_kept = false;        // though a rank's part of the parameters is another one
};

/// Whether a step has more parameters than gradients reach, by more than what is counted twice.
bool knows_more(const std::optional<PeakMemory>& memory, double elements) {
  constexpr double counted_twice = 1.1;
  return memory && static_cast<double>(memory->parameters) > counted_twice * elements;
}

/// Kernels on the parts of sharded parameters, and what a rank keeps of them in memory.
void change_shards(const TransformInput& in, const ShardedParameters& held, RanksChange& change,
                   Rewritten& out) {
  out.step = with_shards(std::move(out.step), held, change.to, moving_us(*out.gpu, in.time, 0),
                         in.host.launch_call_us, change.resized);
  // Alone, the trace of a narrow step does not tell how wide its parameters are; another what-if
  // may have changed what stays in memory.
  change.peak_kept = (change.to == 1 && held.width > 1) || out.memory.before.has_value();
  if (!out.memory.before) change_memory(in, out);
}

RanksChange change_ranks(const TransformInput& in, int from, int to, Rewritten& out) {
  RanksChange change;
  change.from = from;
  change.to = to;
  const std::vector<bool> activations = exchanges_activations(out.step);
  change.activations = std::count(activations.begin(), activations.end(), true);
  const ShardedParameters held = sharded_parameters(out.step.trace, out.step.links);
  if (to == 1) {
    out.step = without_collectives(std::move(out.step), in.host.launch_call_us, change.alone);
    out.step.trace.distributed.world_size = 1;
  } else if (from > 1) {
    change.kept = among_others(in.collectives, *out.gpu, from, to, out.step);
  } else {
    const RanksOptions among{to,           *out.gpu, in.collectives,  in.time,
                             in.libraries, in.host,  in.compiled_host};
    if (in.asked.has(shard_option)) {
      out.step = with_full_sharding(std::move(out.step), among, change.sharded);
      change_memory(in, out);
      change.stays_whole = knows_more(out.memory.before, change.sharded.elements);
    } else {
      out.step = with_data_parallel(std::move(out.step), among, change.added);
    }
  }
  if (held.ranks > 1) change_shards(in, held, change, out);
  share_host(from, to, in.collectives.ranks_exponent, out.step.plan);
  out.changed = true;
  return change;
}

void count_losses(const RanksChange& change, LossList& losses) {
  losses.add("activations_between_ranks", Severity::warning,
             "collectives of activations (tensor, pipeline or expert parallelism): what a rank "
             "computes there is taken as traced, though it follows the number of ranks",
             change.activations);
  losses.add(
      "peak_of_traced_ranks", Severity::warning,
      "sharded parameters among other ranks, in another precision or compiled, or gathered in a "
      "narrow type and then alone: the peak of memory is that of as many ranks as were traced",
      change.peak_kept);
  losses.add("collectives_kept", Severity::warning,
             "collectives without a law, or of groups that are not the whole job: they last as "
             "traced among other ranks",
             change.kept);
  losses.add("collectives_in_switch", Severity::info,
             "collectives are taken to go round rings; NCCL may sum in NVSwitch among more than "
             "two GPUs, which is faster for large messages",
             change.to > 2 ? 1 : 0);
  losses.add("ranks_keep_fusion", Severity::info,
             "entries of compiled graphs that come or go with cuts at buckets of gradients: the "
             "host's time for them is counted, but kernels stay as traced, though none is fused "
             "across a cut",
             change.added.graphs + change.alone.joined);
  losses.add(
      "sharded_as_one", Severity::warning,
      "layers that repeat themselves were not found: all parameters are sharded as one unit, "
      "which is whole from the forward pass to its gradients",
      change.sharded.units == 1 ? 1 : 0);
  losses.add("frozen_not_sharded", Severity::warning,
             "parameters that no gradient seems to reach are taken to stay whole on every rank, "
             "though fully_shard divides them as well",
             change.stays_whole ? 1 : 0);
}

/// Errors: InputError for a step that cannot be sharded among as many.
void check_shard(const TransformInput& in, int from, int to) {
  if (!in.asked.has(shard_option)) return;
  if (to < 2) throw InputError("command line", "--shard", "--ranks 1", "--ranks 2 or more");
  if (in.asked.has("compile")) {
    throw InputError("command line", "--shard", "a compiler beside it", "an eager step");
  }
  if (from < 2) return;
  throw InputError(std::string(in.traced.path), "--shard", fmt::format("a step of {} ranks", from),
                   "a step that trained alone; --ranks N alone keeps what its ranks share");
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const int to = asked_ranks(in);
  const bool meets = meets_others(out.step);
  const int from = meets ? std::max(2, out.step.trace.distributed.world_size) : 1;
  check_shard(in, from, to);
  if (to == from) return {};
  const double before_us = collective_us(out.step);
  const RanksChange change = change_ranks(in, from, to, out);
  count_losses(change, out.losses);
  TransformReport report;
  report.from = std::to_string(from);
  report.to = std::to_string(to);
  const bool many_more = to > 2 * from && to > 2;
  report.expected_error =
      in.collectives.shared_host_error + (many_more ? in.collectives.more_ranks_error : 0);
  const auto counted = [](const ReportField& field, std::int64_t count) {
    return reported(field, count, count > 0);
  };
  report.values = {
      reported(says::collective_us, 0.0, true),  // see conclude()
      reported(says::traced_collective_us, before_us),
      counted(says::gradients, change.added.parameters),
      counted(says::buckets, change.added.buckets),
      counted(says::graphs, change.added.graphs),
      counted(says::buffers, change.added.buffers),
      counted(says::joined, change.alone.joined),
      counted(says::dropped, change.alone.dropped),
      counted(says::resized, change.resized + change.sharded.resized),
      counted(says::units, change.sharded.units),
      counted(says::gathers, change.sharded.gathers),
      reported(says::gathered_bytes, change.sharded.gathered_bytes),
  };
  return report;
}

/// Another GPU has other links.
void conclude(const Step& step, TransformReport& report) {
  for (ReportValue& value : report.values) {
    if (value.name == says::collective_us.name) value.value = collective_us(step);
  }
}

}  // namespace

Transform ranks_transform() {
  return {.name = "ranks",
          .json = "ranks_change",
          .doc =
              "another number of ranks with the batch of each kept: collectives among them, "
              "PyTorch's data parallelism around a step that trained alone, or none of it",
          .options = {{.name = "ranks",
                       .kind = OptionKind::count,
                       .doc = "predict one rank of this many on one host"},
                      {.name = shard_option,
                       .kind = OptionKind::flag,
                       .doc = "... of which each keeps a part of the parameters (fully_shard)",
                       .names = {asks_for_flag},
                       .asks = false}},
          .needs = {.pytorch = true},
          .apply = apply,
          .conclude = conclude};
}

ReportedObject ranks_report() { return {"ranks_change", "another number of ranks", says::all}; }

}  // namespace tandem
