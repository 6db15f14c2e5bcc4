// Constants of an eager runtime that queues operations for an executor thread (TensorFlow; thesis
// section 3.2), measured on traces of the runtime itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/fields/provenance.h"

namespace tandem {

/// How often the program reads the value or the shape of the result of `op` before it enqueues
/// `next`, and so waits for it where it is not there yet: 0..1.
struct ReadBack {
  std::string op;
  std::string next;
  double share = 0;
};

/// Read from configs/hosts/executor/*.json, where every number carries unit, source and kind.
struct ExecutorModel {
  std::string name;
  double wake_us = 0;          // an idle executor: end of the enqueue -> begin of the node
  double pop_us = 0;           // a busy one: end of a node -> begin of the next
  double value_return_us = 0;  // end of a node -> the program that waits for its value goes on
  double push_us = 0;          // what an enqueue takes longer than the same call that runs its node
  double dequeue_us = 0;       // of a node: allocation of outputs, before a CPU kernel runs
  double profiled_gap = 0;     // host time with the profiler / without it
  // Of a step that was never traced.
  double step_begin_us = 0;  // before the first operation
  double op_gap_us = 0;      // of the program between operations of a layer
  double layer_gap_us = 0;   // ... and before the first operation of the next layer
  double update_gap_us = 0;  // ... and before the optimizer updates a variable
  double enqueue_us = 0;     // of an operation
  double launch_us = 0;      // of a node: outputs allocated, kernel chosen, before the launch call
  double cpu_kernel_us = 0;  // a kernel of the CPU: variables, sizes, views
  double copy_gb_per_s = 0;  // pageable memory to the device
  std::vector<ReadBack> read_back;  // by op and next
  std::vector<Provenance> origins;
};

/// The row of a pair; null where the program never reads.
const ReadBack* find_read_back(const ExecutorModel& model, std::string_view op,
                               std::string_view next);

/// Errors: InputError for a missing or malformed file.
ExecutorModel load_executor_model(const std::string& path);

}  // namespace tandem
