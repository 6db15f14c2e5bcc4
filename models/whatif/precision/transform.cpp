#include "models/whatif/precision/transform.h"

#include <utility>

#include "models/step/unrecorded/types.h"
#include "models/whatif/precision/precision.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField from{"from", "text", "traced precision"};
constexpr ReportField to{"to", "text", "predicted precision"};
constexpr ReportField casts_added{"casts_added", "count", "casts added"};
constexpr ReportField casts_removed{"casts_removed", "count", "casts removed"};
constexpr ReportField kernels_retyped{"kernels_retyped", "count", "kernels in another type"};
constexpr ReportField switch_share{"switch_share", "share",
                                   "of the GPU time in other kernels of the libraries"};
constexpr ReportField unmodelled_share{"unmodelled_share", "share",
                                       "of the GPU time in operations without a law of their own"};
constexpr ReportField memory_ratio{"memory_ratio", "ratio",
                                   "times the peak of memory at the traced batch"};
constexpr ReportField all[] = {from,
                               to,
                               casts_added,
                               casts_removed,
                               kernels_retyped,
                               switch_share,
                               unmodelled_share,
                               memory_ratio,
                               switched_field,
                               main_switch_field};
}  // namespace says

TransformReport report_of(const PrecisionReport& r, double memory_ratio) {
  TransformReport out;
  out.from = to_string(r.from);
  out.to = to_string(r.to);
  out.expected_error = r.expected_error;
  const auto count = [](std::uint32_t n) { return static_cast<std::int64_t>(n); };
  out.values = {
      reported(says::from, out.from),
      reported(says::to, out.to),
      reported(says::casts_added, count(r.casts_added), true),
      reported(says::casts_removed, count(r.casts_removed), true),
      reported(says::kernels_retyped, count(r.kernels_retyped), true),
      reported(says::switch_share, r.switch_share),
      reported(says::unmodelled_share, r.unmodelled_share),
      reported(says::memory_ratio, memory_ratio),
  };
  report_switches(r.switches, out);
  return out;
}

/// How much the peak changes at the traced batch; 1 where it is not known.
double change_memory(const TransformInput& in, const PrecisionReport& report, Rewritten& out) {
  if (in.memory == nullptr || !in.traced.batch) return 1;
  const std::int64_t batch = *in.traced.batch;
  out.memory.before = step_memory(*in.memory, in.traced.step, batch);
  PeakMemory held = *in.memory;
  if (is_whole(report.from) != is_whole(report.to)) {
    held = with_weights(std::move(held), is_whole(report.to) ? 0.5 : 2);
  }
  out.memory.after = step_memory(std::move(held), out.step, batch);
  if (!out.memory.before || !out.memory.after) return 1;
  return peak_bytes(*out.memory.after, batch) / peak_bytes(*out.memory.before, batch);
}

/// Errors: InputError where operands have shapes and neither the trace nor kernels tell their
/// types.
void require_types(const TracedModel& traced) {
  if (!lacks_types(traced.step.trace)) return;
  throw InputError(traced.path, "precision", "operations without the types of their operands",
                   "a trace that states them: torch.profiler with record_shapes=True");
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const Precision to = parse_precision(in.asked.get("precision"));
  require_types(in.traced);
  PrecisionReport report;
  double memory_ratio = 1;
  out.step =
      with_precision(std::move(out.step), to, *in.traced.gpu, in.precision, in.time, in.libraries,
                     in.layers, in.host, out.losses, &report, in.asked.has("compile"));
  if (report.from != to) {
    out.changed = true;
    memory_ratio = change_memory(in, report, out);
  }
  return report_of(report, memory_ratio);
}

void check_target(const TransformInput& in, const GpuArch& target) {
  require_precision(target, parse_precision(in.asked.get("precision")));
}

}  // namespace

Transform precision_transform() {
  std::vector<std::string_view> names;
  for (const Named<Precision>& one : precisions()) names.push_back(one.name);
  return {.name = "precision",
          .json = "precision",
          .doc =
              "another arithmetic: casts appear and vanish, products move between FP32 pipes and "
              "tensor cores, operands take other numbers of bytes",
          .options = {{.name = "precision", .doc = "predict this precision", .names = names}},
          .each_base = true,
          .apply = apply,
          .check_target = check_target};
}

ReportedObject precision_report() {
  return {"precision", "another arithmetic", says::all, switches_list};
}

}  // namespace tandem
