#include "models/whatif/ranks/transform.h"

#include <fmt/format.h>

#include <utility>

#include "models/collective/collective_time.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/ranks/alone.h"
#include "models/whatif/ranks/data_parallel.h"
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
constexpr ReportField all[] = {
    collective_us, traced_collective_us, gradients, buckets, graphs, buffers, joined, dropped};
}  // namespace says

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

/// Errors: InputError for more ranks than one host holds.
int asked_ranks(const TransformInput& in) {
  const std::int64_t asked = parse_count("ranks", in.asked.get("ranks"));
  const auto most = static_cast<std::int64_t>(in.collectives.host_gpus);
  if (asked >= 1 && asked <= most) return static_cast<int>(asked);
  throw InputError(
      "command line", "--ranks", std::to_string(asked),
      fmt::format("1 to {}, the GPUs of one host: links between hosts are not modelled", most));
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const int to = asked_ranks(in);
  const bool meets = meets_others(out.step);
  const int from = meets ? std::max(2, out.step.trace.distributed.world_size) : 1;
  if (to == from) return {};
  TransformReport report;
  report.from = std::to_string(from);
  report.to = std::to_string(to);
  const double before_us = collective_us(out.step);
  AloneReport alone;
  std::int64_t kept = 0;
  DataParallelReport added;
  if (to == 1) {
    out.step = without_collectives(std::move(out.step), in.host.launch_call_us, alone);
    out.step.trace.distributed.world_size = 1;
  } else if (meets) {
    kept = among_others(in.collectives, *out.gpu, from, to, out.step);
  } else {
    out.step = with_data_parallel(
        std::move(out.step),
        {to, *out.gpu, in.collectives, in.time, in.libraries, in.host, in.compiled_host}, added);
  }
  share_host(from, to, in.collectives.ranks_exponent, out.step.plan);
  out.changed = true;
  out.losses.add("collectives_kept", Severity::warning,
                 "collectives without a law, or of groups that are not the whole job: they last as "
                 "traced among other ranks",
                 kept);
  out.losses.add(
      "collectives_in_switch", Severity::info,
      "collectives are taken to go round rings; NCCL may sum in NVSwitch among more than "
      "two GPUs, which is faster for large messages",
      to > 2 ? 1 : 0);
  out.losses.add(
      "ranks_keep_fusion", Severity::info,
      "entries of compiled graphs that come or go with cuts at buckets of gradients: the host's "
      "time for them is counted, but kernels stay as traced, though none is fused across a cut",
      added.graphs + alone.joined);
  const bool many_more = to > 2 * from && to > 2;
  report.expected_error =
      in.collectives.shared_host_error + (many_more ? in.collectives.more_ranks_error : 0);
  report.values = {
      reported(says::collective_us, 0.0, true),  // see conclude()
      reported(says::traced_collective_us, before_us),
      reported(says::gradients, added.parameters, added.parameters > 0),
      reported(says::buckets, added.buckets, added.buckets > 0),
      reported(says::graphs, added.graphs, added.graphs > 0),
      reported(says::buffers, added.buffers, added.buffers > 0),
      reported(says::joined, alone.joined, alone.joined > 0),
      reported(says::dropped, alone.dropped, alone.dropped > 0),
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
                       .doc = "predict one rank of this many on one host"}},
          .needs = {.pytorch = true},
          .apply = apply,
          .conclude = conclude};
}

ReportedObject ranks_report() { return {"ranks_change", "another number of ranks", says::all}; }

}  // namespace tandem
