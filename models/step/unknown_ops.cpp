#include "models/step/unknown_ops.h"

#include <fmt/format.h>

#include <string_view>

#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"

namespace tandem {

LossList unknown_operations(const Step& step) {
  constexpr double noticeable = 0.01;
  const Trace& trace = step.trace;
  const OpNesting nesting = nest_ops(trace, step.links);
  OpRows rows(trace);
  std::int64_t count = 0;
  Duration unknown{}, total{};
  std::string_view first;
  for (const DeviceWork& work : step.plan.works) {
    total += work.duration;
    const std::uint32_t op = nesting.of_activity[work.source];
    if (op == no_row || is_known(rows.of(op))) continue;
    if (count++ == 0) first = trace.strings.get(trace.ops.name[op]);
    unknown += work.duration;
  }
  LossList losses;
  if (count == 0) return losses;
  const double share = total > Duration::zero() ? to_us(unknown) / to_us(total) : 0;
  losses.add("unknown_operation", share < noticeable ? Severity::info : Severity::warning,
             fmt::format("kernels of operations that the operation table does not know, {:.1f} us "
                         "({:.1f} % of the step's device time); their layer is \"other\" and "
                         "what-ifs see nothing of them but their shapes; the first is {}",
                         to_us(unknown), 100 * share, first),
             count);
  return losses;
}

}  // namespace tandem
