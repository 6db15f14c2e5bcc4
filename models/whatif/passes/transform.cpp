#include "models/whatif/passes/transform.h"

#include <string>
#include <utility>

#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/live_memory.h"
#include "models/whatif/edit/repeat_law.h"
#include "models/whatif/passes/accumulated.h"

namespace tandem {

namespace {

/// What the report says.
namespace says {
constexpr ReportField added{"added", "count", "gradients added to those of a pass before"};
constexpr ReportField added_us{"added_us", "us", "of the GPU in which they are"};
constexpr ReportField all[] = {added, added_us};
}  // namespace says

std::optional<TransformReport> apply(const TransformInput& in, Rewritten& out) {
  const std::int64_t to = parse_count("passes", in.asked.get("passes"));
  if (to < 1) throw InputError("command line", "--passes", std::to_string(to), "1 or more");
  if (meets_others(out.step)) {
    throw InputError(std::string(in.traced.path), "--passes", "a rank among several",
                     "a step that trained alone; --ranks beside it puts ranks around the passes");
  }
  PassesReport report;
  out.step = with_passes(std::move(out.step), {to, *in.traced.gpu, in.time, in.libraries, in.host},
                         report);
  if (report.from == to) return {};
  out.changed = true;
  change_live_memory(in, out);
  TransformReport said;
  said.from = std::to_string(report.from);
  said.to = std::to_string(to);
  said.expected_error =
      in.repeats.between_runs + in.repeats.of_sums * report.added_us / gpu_us(out.step);
  said.values = {reported(says::added, report.added, report.added > 0),
                 reported(says::added_us, report.added_us)};
  return said;
}

}  // namespace

Transform passes_transform() {
  return {.name = "passes",
          .json = "passes_change",
          .doc =
              "another number of forward and backward passes, of the traced batch each, whose "
              "gradients one update of the optimizer uses (gradient accumulation)",
          .options = {{.name = "passes",
                       .kind = OptionKind::count,
                       .doc = "predict a step of this many passes of the batch"}},
          .needs = {.pytorch = true},
          .each_base = true,
          .apply = apply};
}

ReportedObject passes_report() {
  return {"passes_change", "another number of passes to one update", says::all};
}

}  // namespace tandem
