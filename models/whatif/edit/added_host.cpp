#include "models/whatif/edit/added_host.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ops/op_table.h"
#include "models/whatif/edit/edited_rows.h"
#include "sim/core/median.h"

namespace tandem {
namespace {

bool only_copies(std::string_view name) {
  const OpRow* row = find_op(name);
  if (row == nullptr) row = forward_of_node(name);
  return row != nullptr && (row->kind == OpKind::cast || row->is(converts));
}

}  // namespace

AddedHost added_host(const Step& step, const HostModel& host) {
  std::vector<Duration> calls;
  for (std::size_t i = 0; i < step.trace.calls.size(); ++i) {
    // What an earlier what-if has added tells nothing of the traced host.
    const bool traced = step.trace.calls.duration[i] > added_call_span;
    if (traced && step.trace.calls.api[i] == ApiKind::launch_kernel) {
      calls.push_back(step.trace.calls.duration[i]);
    }
  }
  AddedHost out{host.launch_call_us, host.gap_scale_aligned, host.launch_call_us};
  if (calls.empty()) return out;
  // The median: calls that waited for room in the launch queue are few and long.
  out.traced_call_us = to_us(median(std::move(calls)));
  return out;
}

double copy_host_us(const Step& step, const OpNesting& nesting, std::uint32_t work) {
  const std::uint32_t activity = step.plan.works[work].source;
  std::uint32_t row = nesting.of_activity[activity];
  const std::uint32_t call = step.links.call_of_activity[activity];
  if (row == no_row || call == no_row) return 0;
  const HostOps& ops = step.trace.ops;
  for (std::uint32_t up = nesting.parent[row];
       up != no_row && only_copies(step.trace.strings.get(ops.name[up])); up = nesting.parent[up]) {
    row = up;
  }
  return std::max(0.0, to_us(ops.duration[row] - step.trace.calls.duration[call]));
}

}  // namespace tandem
