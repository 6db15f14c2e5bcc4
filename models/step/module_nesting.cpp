#include "models/step/module_nesting.h"

#include <algorithm>
#include <numeric>

namespace tandem {

namespace {

/// Rows of modules by thread and begin, outer ones first.
std::vector<std::uint32_t> in_order(const ModuleCalls& modules) {
  std::vector<std::uint32_t> rows(modules.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (modules.thread[a] != modules.thread[b]) {
      return modules.thread[a].index() < modules.thread[b].index();
    }
    if (modules.begin[a] != modules.begin[b]) return modules.begin[a] < modules.begin[b];
    return modules.duration[a] > modules.duration[b];
  });
  return rows;
}

/// The module that is open at `time`, from one that began before it outwards.
std::uint32_t open_at(const ModuleCalls& modules, const std::vector<std::uint32_t>& parent,
                      std::uint32_t row, TimePoint time) {
  while (row != no_row && end_of(modules, row) <= time) row = parent[row];
  return row;
}

}  // namespace

ModuleNesting nest_modules(const Trace& trace) {
  const ModuleCalls& modules = trace.modules;
  const HostOps& ops = trace.ops;
  ModuleNesting out;
  out.parent.assign(modules.size(), no_row);
  out.of_op.assign(ops.size(), no_row);
  std::vector<std::vector<std::uint32_t>> of_thread(trace.threads.size());
  for (const std::uint32_t row : in_order(modules)) {
    std::vector<std::uint32_t>& before = of_thread[modules.thread[row].index()];
    if (!before.empty()) {
      out.parent[row] = open_at(modules, out.parent, before.back(), modules.begin[row]);
    }
    before.push_back(row);
  }
  for (std::uint32_t op = 0; op < ops.size(); ++op) {
    const std::vector<std::uint32_t>& rows = of_thread[ops.thread[op].index()];
    const auto after = std::upper_bound(
        rows.begin(), rows.end(), ops.begin[op],
        [&](TimePoint time, std::uint32_t row) { return time < modules.begin[row]; });
    if (after != rows.begin()) {
      out.of_op[op] = open_at(modules, out.parent, *(after - 1), ops.begin[op]);
    }
    if (ops.sequence[op] < 0 || ops.forward_thread[op] != 0) continue;
    const auto [known, fresh] = out.forward_op.try_emplace(ops.sequence[op], op);
    if (!fresh && ops.begin[known->second] <= ops.begin[op]) known->second = op;
  }
  return out;
}

std::string module_path(const Trace& trace, const OpNesting& ops, const ModuleNesting& modules,
                        std::uint32_t op) {
  if (op == no_row) return {};
  std::uint32_t module = modules.of_op[op];
  for (std::uint32_t at = op; at != no_row && module == no_row; at = ops.parent[at]) {
    if (trace.ops.forward_thread[at] == 0) continue;  // not of the backward pass
    const auto forward = modules.forward_op.find(trace.ops.sequence[at]);
    if (forward != modules.forward_op.end()) module = modules.of_op[forward->second];
  }
  std::string path;
  for (; module != no_row; module = modules.parent[module]) {
    const std::string name(text_of(trace, trace.modules.name[module]));
    path = path.empty() ? name : name + "." + path;
  }
  return path;
}

}  // namespace tandem
