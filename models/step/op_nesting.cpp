#include "models/step/op_nesting.h"

#include <algorithm>
#include <unordered_map>

namespace tandem {
namespace {

using Rows = std::vector<std::uint32_t>;

// Rows of each thread by begin, parents before their children.
template <class Table>
std::vector<Rows> rows_by_thread(const Trace& trace, const Table& table) {
  std::vector<Rows> rows(trace.threads.size());
  for (std::uint32_t i = 0; i < table.size(); ++i) rows[table.thread[i].index()].push_back(i);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    if (table.begin[a] != table.begin[b]) return table.begin[a] < table.begin[b];
    return table.duration[a] != table.duration[b] ? table.duration[a] > table.duration[b] : a < b;
  };
  for (Rows& list : rows) {
    if (!std::is_sorted(list.begin(), list.end(), earlier)) {
      std::sort(list.begin(), list.end(), earlier);
    }
  }
  return rows;
}

// The operations that are open at a time, while time only grows.
class OpenOps {
 public:
  explicit OpenOps(const HostOps& ops) : ops_(ops) {}
  std::uint32_t at(TimePoint now) {
    while (!open_.empty() && ops_.begin[open_.back()] + ops_.duration[open_.back()] <= now) {
      open_.pop_back();
    }
    return open_.empty() ? no_row : open_.back();
  }
  void push(std::uint32_t op) { open_.push_back(op); }

 private:
  const HostOps& ops_;
  Rows open_;
};

std::unordered_map<std::int64_t, std::uint32_t> added_ops(const HostOps& ops) {
  std::unordered_map<std::int64_t, std::uint32_t> by_id;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (is_added(ops.external_id[i])) by_id.emplace(ops.external_id[i], i);
  }
  return by_id;
}

void nest_thread(const Trace& trace, const Rows& ops, const Rows& calls, OpNesting& out) {
  OpenOps open(trace.ops);
  std::size_t next = 0;
  const auto open_until = [&](TimePoint now) {
    for (; next < ops.size() && trace.ops.begin[ops[next]] <= now; ++next) {
      out.parent[ops[next]] = open.at(trace.ops.begin[ops[next]]);
      if (!is_added(trace.ops.external_id[ops[next]])) open.push(ops[next]);
    }
  };
  for (const std::uint32_t call : calls) {
    open_until(trace.calls.begin[call]);
    out.of_call[call] = open.at(trace.calls.begin[call]);
  }
  open_until(TimePoint::max());
}

void place_added_calls(const Trace& trace, OpNesting& out) {
  const auto by_id = added_ops(trace.ops);
  if (by_id.empty()) return;
  for (std::uint32_t call = 0; call < trace.calls.size(); ++call) {
    const auto op = by_id.find(trace.calls.external_id[call]);
    if (op != by_id.end()) out.of_call[call] = op->second;
  }
}

// Calls that a node of an executor made belong to the operation that enqueued it.
void place_calls_of_nodes(const Trace& trace, const Links& links, OpNesting& out) {
  for (std::uint32_t call = 0; call < links.node_of_call.size(); ++call) {
    const std::uint32_t node = links.node_of_call[call];
    if (out.of_call[call] == no_row && node != no_row) out.of_call[call] = trace.nodes.op[node];
  }
}

void place_activities(const Trace& trace, const Links& links, OpNesting& out) {
  std::unordered_map<std::int64_t, std::uint32_t> by_id;  // only built where a call is missing
  const auto by_external_id = [&](std::int64_t id) {
    if (id < 0) return no_row;
    if (by_id.empty()) {
      for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
        by_id.emplace(trace.ops.external_id[i], i);
      }
    }
    const auto it = by_id.find(id);
    return it == by_id.end() ? no_row : it->second;
  };
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    out.of_activity.push_back(call != no_row ? out.of_call[call]
                                             : by_external_id(trace.activities.external_id[a]));
  }
}

}  // namespace

OpNesting nest_ops(const Trace& trace, const Links& links) {
  OpNesting out;
  out.parent.assign(trace.ops.size(), no_row);
  out.of_call.assign(trace.calls.size(), no_row);
  out.of_activity.reserve(trace.activities.size());
  const auto ops = rows_by_thread(trace, trace.ops);
  const auto calls = rows_by_thread(trace, trace.calls);
  for (std::size_t t = 0; t < trace.threads.size(); ++t) {
    nest_thread(trace, ops[t], calls[t], out);
  }
  place_added_calls(trace, out);
  place_calls_of_nodes(trace, links, out);
  place_activities(trace, links, out);
  return out;
}

std::vector<bool> ops_of_optimizer(const Trace& trace) {
  const Annotations& notes = trace.annotations;
  std::vector<bool> inside(trace.ops.size(), false);
  for (std::size_t n = 0; n < notes.size(); ++n) {
    if (!trace.strings.get(notes.name[n]).starts_with("Optimizer.")) continue;
    const TimePoint end = notes.begin[n] + notes.duration[n];
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
      const TimePoint begin = trace.ops.begin[i];
      if (trace.ops.thread[i] == notes.thread[n] && begin >= notes.begin[n] && begin < end) {
        inside[i] = true;
      }
    }
  }
  return inside;
}

}  // namespace tandem
