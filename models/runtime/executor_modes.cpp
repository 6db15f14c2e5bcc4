#include "models/runtime/executor_modes.h"

#include <algorithm>
#include <string_view>

namespace tandem {

namespace {

/// The thread that enqueues a node, per item; items of the node follow its enqueue.
bool of_node(const HostItem& item) {
  return item.executed != no_index && item.kind != ItemKind::enqueue &&
         item.kind != ItemKind::value_wait;
}

std::string_view op_of(const Trace& trace, std::uint32_t node) {
  return trace.strings.get(trace.ops.name[trace.nodes.op[node]]);
}

}  // namespace

bool ReadBacks::next(std::string_view op, std::string_view next) {
  const ReadBack* const row = find_read_back(model_, op, next);
  if (row == nullptr) return false;
  constexpr double whole = 1 - 1e-9;
  double& sum = sums_[static_cast<std::size_t>(row - model_.read_back.data())];
  sum += row->share;
  if (sum < whole) return false;
  sum -= 1;
  return true;
}

bool has_nodes(const Plan& step) {
  return std::any_of(step.items.begin(), step.items.end(),
                     [](const HostItem& item) { return item.kind == ItemKind::node; });
}

bool has_executor(const Plan& step) {
  std::uint16_t program = 0;
  for (const HostItem& item : step.items) {
    if (item.kind == ItemKind::enqueue) program = item.thread;
    if (item.kind == ItemKind::node) return item.thread != program;
  }
  return false;
}

void run_nodes_inline(Plan& step) {
  std::uint16_t program = step.items.front().thread;
  for (HostItem& item : step.items) {
    if (item.kind == ItemKind::enqueue) program = item.thread;
    if (of_node(item)) {
      if (item.kind == ItemKind::node) item.gap = Duration::zero();
      item.thread = program;
    }
    if (!item.own_gap) continue;
    item.after = no_index;  // what it waited for was done by its own thread
    item.own_gap = false;
    if (item.kind != ItemKind::node && item.kind != ItemKind::value_wait) {
      item.gap = std::max(item.gap, item.wake);  // the program's own time after the last value
    }
    item.wake = Duration::zero();
  }
}

void run_nodes_on_executor(const Trace& trace, const ExecutorModel& model, Plan& step) {
  if (has_executor(step)) return;
  const auto executor = static_cast<std::uint16_t>(step.threads.size());
  step.threads.push_back({"executor", step.threads.front().begin});
  ReadBacks reads(model);
  std::uint32_t enqueue = no_index;
  std::uint32_t done = no_index;  // the last item of the node before
  for (std::uint32_t i = 0; i < step.items.size(); ++i) {
    HostItem& item = step.items[i];
    if (item.kind == ItemKind::enqueue) {
      item.call += from_us(model.push_us);
      item.submit = item.call;
      enqueue = i;
    } else if (of_node(item)) {
      item.thread = executor;
      done = i;
      if (item.kind != ItemKind::node) continue;
      item.after = enqueue;
      item.own_gap = true;
      item.gap = from_us(model.pop_us);
      item.wake = from_us(model.wake_us);
    } else if (item.kind == ItemKind::value_wait && done != no_index &&
               reads.next(op_of(trace, step.items[done].executed), op_of(trace, item.executed))) {
      item.after = done;
      item.own_gap = true;
      item.wake = from_us(model.value_return_us);
    } else if (item.kind == ItemKind::step_end && done != no_index) {
      item.after = done;
      item.own_gap = true;
      item.wake = from_us(model.value_return_us) + item.gap;
    }
  }
}

}  // namespace tandem
