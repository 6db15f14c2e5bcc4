#include "models/step/op_groups.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace tandem {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::uint64_t mix(std::uint64_t h, std::string_view text) {
  return (h ^ std::hash<std::string_view>{}(text)) * 0x9e3779b97f4a7c15ULL;
}

// The number of an autograd node differs between runs; its name does not.
std::uint64_t chain_of(const Trace& trace, const OpNesting& nesting, std::uint32_t op) {
  std::uint64_t h = 0;
  for (; op != no_row; op = nesting.parent[op]) h = mix(h, trace.strings.get(trace.ops.name[op]));
  return h;
}

// The middle part that differs, by dynamic programming; both sides are short there.
void align_middle(const std::vector<OpGroup>& a, const std::vector<OpGroup>& b, std::size_t first,
                  std::size_t end_a, std::size_t end_b, Pairs& out) {
  const std::size_t rows = end_a - first, columns = end_b - first;
  std::vector<std::uint32_t> best((rows + 1) * (columns + 1), 0);
  const auto at = [&](std::size_t i, std::size_t j) -> std::uint32_t& {
    return best[i * (columns + 1) + j];
  };
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      at(i, j) = a[first + i].chain == b[first + j].chain ? at(i + 1, j + 1) + 1
                                                          : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
    if (a[first + i].chain == b[first + j].chain) {
      out.emplace_back(first + i++, first + j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
}

}  // namespace

std::optional<TimePoint> issue_time(const Trace& trace, const Links& links,
                                    std::uint32_t activity) {
  const std::uint32_t call = links.call_of_activity[activity];
  if (call != no_row) return trace.calls.begin[call];
  if (trace.calls.size() > 0) return std::nullopt;
  return trace.activities.begin[activity];
}

std::vector<OpGroup> groups_of_step(const Trace& trace, const Links& links,
                                    const OpNesting& nesting, const StepWindow& step) {
  std::vector<std::pair<TimePoint, std::uint32_t>> order;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const auto time = issue_time(trace, links, a);
    if (time && *time >= step.begin && *time < step.end) order.emplace_back(*time, a);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<OpGroup> out;
  for (const auto& [time, a] : order) {
    const std::uint32_t op = nesting.of_activity[a];
    if (op == no_row || out.empty() || out.back().op != op) {
      OpGroup group;
      group.op = op;
      group.chain = op != no_row ? chain_of(trace, nesting, op)
                                 : mix(1, trace.strings.get(trace.activities.name[a]));
      out.push_back(std::move(group));
    }
    out.back().activities.push_back(a);
    out.back().us += to_us(trace.activities.duration[a]);
  }
  return out;
}

Pairs align(const std::vector<OpGroup>& a, const std::vector<OpGroup>& b) {
  std::size_t first = 0, end_a = a.size(), end_b = b.size();
  Pairs out;
  for (; first < std::min(end_a, end_b) && a[first].chain == b[first].chain; ++first) {
    out.emplace_back(first, first);
  }
  Pairs tail;
  while (end_a > first && end_b > first && a[end_a - 1].chain == b[end_b - 1].chain) {
    tail.emplace_back(--end_a, --end_b);
  }
  align_middle(a, b, first, end_a, end_b, out);
  out.insert(out.end(), tail.rbegin(), tail.rend());
  return out;
}

}  // namespace tandem
