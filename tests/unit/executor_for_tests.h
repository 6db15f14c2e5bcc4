// One step of an eager runtime with an executor, as XProf writes it. In microseconds:
//
//   program   10-30 TFE_Py (15-25 Conv2D)   30-120 waits for a value      150-160 Relu      200 end
//   executor                 40-100 Conv2D                                     175-180 Relu
#pragma once

#include <string>

#include "models/runtime/executor_model.h"
#include "models/runtime/measured_plan.h"
#include "tests/import_files.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem::test {

inline std::string span(int tid, double begin, double us, const std::string& name,
                        const std::string& args = "{}") {
  return R"({"ph":"X","pid":1,"tid":)" + std::to_string(tid) + R"(,"ts":)" + std::to_string(begin) +
         R"(,"dur":)" + std::to_string(us) + R"(,"name":")" + name + R"(","args":)" + args + "}";
}

/// `events`: between the metadata and the end of the list; tid 1 is the program, 2 the executor.
inline std::string executor_file(const std::string& events) {
  return R"({"displayTimeUnit":"ns","traceEvents":[
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},
    {"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"python"}},
    {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"eager_async_executor"}},)" +
         events + "]}";
}

/// The step above; `compute_us`: of its first node.
inline std::string asynchronous_events(double compute_us = 60) {
  const double shift = compute_us - 60;
  return span(1, 0, 200 + shift, "step", R"({"step_num":"0","batch":"8"})") + "," +
         span(1, 10, 20, "TFE_Py_FastPathExecute_C") + "," +
         span(1, 15, 10, "EagerLocalExecute: Conv2D") + "," +
         span(1, 30, 90 + shift, "NumDims WaitReady") + "," +
         span(2, 40, compute_us, "EagerKernelExecute") + "," +
         span(1, 150 + shift, 10, "EagerLocalExecute: Relu") + "," +
         span(2, 175 + shift, 5, "EagerKernelExecute");
}

inline HostModel executor_host() {
  HostModel host = round_host();
  host.executor.wake_us = 15;
  host.executor.pop_us = 1;
  host.executor.value_return_us = 20;
  host.executor.dequeue_us = 2;
  host.executor.profiled_gap = 1;
  host.executor.read_back = {{"Conv2D", "Relu", 1.0}};
  return host;
}

inline MeasuredPlan executor_plan(const Trace& trace) {
  const Links links = link_trace(trace);
  const HostModel host = executor_host();
  return measured_plan(trace, links, host, DeviceTiming(trace, links, host));
}

}  // namespace tandem::test
