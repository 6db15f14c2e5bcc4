// Synchronous and asynchronous execution of an eager runtime with an executor (thesis section 3.2).
#pragma once

#include <string_view>
#include <vector>

#include "models/runtime/executor_model.h"
#include "sim/engine/plan.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Whether the program reads a value, pair of operations by pair as often as the model says: the
/// shares of a pair add up until they make one whole read.
class ReadBacks {
 public:
  explicit ReadBacks(const ExecutorModel& model)
      : model_(model), sums_(model.read_back.size(), 0.0) {}
  bool next(std::string_view op, std::string_view next);

 private:
  const ExecutorModel& model_;
  std::vector<double> sums_;
};

/// Whether an eager runtime's nodes are in the plan, and an executor of its own runs them.
bool has_nodes(const Plan& step);
bool has_executor(const Plan& step);

/// The program runs each node itself, within the call that would have enqueued it.
void run_nodes_inline(Plan& step);

/// Nodes go to a thread of their own. The program waits for a value where `model` says that it
/// reads one, and at the end of the step. Nothing changes where an executor is there already.
void run_nodes_on_executor(const Trace& trace, const ExecutorModel& model, Plan& step);

}  // namespace tandem
