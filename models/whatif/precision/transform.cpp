#include "models/whatif/precision/transform.h"

#include <utility>

#include "models/whatif/precision/precision.h"

namespace tandem {

namespace {

TransformReport report_of(const PrecisionReport& r, double item_memory_ratio) {
  TransformReport out;
  out.from = to_string(r.from);
  out.to = to_string(r.to);
  out.expected_error = r.expected_error;
  const auto count = [](std::uint32_t n) { return static_cast<std::int64_t>(n); };
  out.values = {
      {"from", "text", "traced precision", out.from},
      {"to", "text", "predicted precision", out.to},
      {"casts_added", "count", "casts added", count(r.casts_added), true},
      {"casts_removed", "count", "casts removed", count(r.casts_removed), true},
      {"kernels_retyped", "count", "kernels in another type", count(r.kernels_retyped), true},
      {"switch_share", "share", "of the GPU time in other kernels of the libraries",
       r.switch_share},
      {"unmodelled_share", "share", "of the GPU time in operations without a law of their own",
       r.unmodelled_share},
      {"item_memory_ratio", "ratio", "times the bytes of activations", item_memory_ratio},
  };
  return out;
}

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const Precision to = parse_precision(in.asked.get("precision"));
  PrecisionReport report;
  out.step = with_precision(std::move(out.step), to, *in.traced.gpu, in.precision, in.time,
                            in.libraries, in.host, out.losses, &report);
  if (report.from != to) {
    out.changed = true;
    if (in.traced_item_bytes > 0) {
      out.memory.item_ratio = in.item_bytes(out.step) / in.traced_item_bytes;
    }
  }
  return report_of(report, out.memory.item_ratio);
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

}  // namespace tandem
