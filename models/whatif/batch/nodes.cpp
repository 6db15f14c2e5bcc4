#include "models/whatif/batch/nodes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/error.h"

namespace tandem {

namespace {

std::vector<std::uint32_t> nodes_of(const Plan& plan) {
  std::vector<std::uint32_t> items;
  for (std::uint32_t i = 0; i < plan.items.size(); ++i) {
    if (plan.items[i].kind == ItemKind::node) items.push_back(i);
  }
  return items;
}

std::string_view op_of(const Step& step, std::uint32_t item) {
  const std::uint32_t op = step.trace.nodes.op[step.plan.items[item].executed];
  return step.trace.strings.get(step.trace.ops.name[op]);
}

Duration computes(const Step& step, std::uint32_t item) {
  return step.plan.items[item].call - step.plan.items[item].submit;
}

void require_one_model(const NodesBase& base, const NodesBase& other,
                       const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  const std::string& path = other.step.trace.path;
  if (base.batch == other.batch) {
    throw InputError(path, "batch", std::to_string(other.batch),
                     "a batch that differs from that of " + base.step.trace.path);
  }
  std::size_t same = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    same += op_of(base.step, a[i]) == op_of(other.step, b[i]);
  }
  if (a.size() == b.size() && same == a.size()) return;
  throw InputError(
      path, "batch",
      std::to_string(b.size()) + " operations, " + std::to_string(same) + " of them in place",
      "the " + std::to_string(a.size()) + " operations of " + base.step.trace.path);
}

}  // namespace

Plan nodes_at_batch(const NodesBase& base, const NodesBase& other, std::int64_t batch) {
  const std::vector<std::uint32_t> a = nodes_of(base.step.plan);
  const std::vector<std::uint32_t> b = nodes_of(other.step.plan);
  require_one_model(base, other, a, b);
  const double position =
      static_cast<double>(batch - base.batch) / static_cast<double>(other.batch - base.batch);
  Plan plan = base.step.plan;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Duration near = computes(base.step, a[i]);
    const Duration far = computes(other.step, b[i]);
    const Duration least = scale(std::min(near, far), 0.5);
    HostItem& item = plan.items[a[i]];
    item.call = item.submit + std::max(least, near + scale(far - near, position));
  }
  return plan;
}

}  // namespace tandem
