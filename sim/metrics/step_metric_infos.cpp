#include <array>

#include "sim/metrics/step_metrics.h"

namespace tandem {

namespace {
constexpr std::array<MetricInfo, 19> step_infos{{
    {"time_us", "us", "duration of one steady-state step",
     [](const StepMetrics& m) { return m.time_us; }},
    {"throughput_per_s", "1/s",
     "items of a step (batch x passes) / time; steps / time where the batch is unknown",
     [](const StepMetrics& m) { return m.throughput_per_s; }},
    {"gpu_kernel_us", "us", "sum of device activity durations",
     [](const StepMetrics& m) { return m.gpu_kernel_us; }},
    {"gpu_busy_us", "us", "length of the union of device activities over streams",
     [](const StepMetrics& m) { return m.gpu_busy_us; }},
    {"gpu_utilization", "ratio", "gpu_busy_us / time_us",
     [](const StepMetrics& m) { return m.gpu_utilization; }},
    {"gract", "ratio",
     "DCGM graphics engine active (EuroMLSys'23 section 3.2.1): share of time "
     "with work on the device",
     [](const StepMetrics& m) { return m.gract; }},
    {"launches", "count", "host calls that enqueue device work",
     [](const StepMetrics& m) { return static_cast<double>(m.launches); }},
    {"kernels", "count", "kernels, copies and memsets run",
     [](const StepMetrics& m) { return static_cast<double>(m.kernels); }},
    {"enqueue_us", "us",
     "host time outside launch calls and waits: operations and Python; one "
     "isolated step",
     [](const StepMetrics& m) { return m.enqueue_us; }},
    {"dequeue_us", "us", "host time in launch calls; one isolated step",
     [](const StepMetrics& m) { return m.dequeue_us; }},
    {"host_wait_us", "us", "host time spent waiting for the device; one isolated step",
     [](const StepMetrics& m) { return m.host_wait_us; }},
    {"isolated_time_us", "us",
     "duration of one step that starts with an empty queue and ends with "
     "a synchronisation (thesis chapter 3)",
     [](const StepMetrics& m) { return m.isolated_time_us; }},
    {"phase_gpu_kernel_us", "us", "isolated step: time with a kernel on the device",
     [](const StepMetrics& m) { return m.phase_gpu_kernel_us; }},
    {"phase_dequeue_us", "us", "isolated step: launch calls while no kernel runs",
     [](const StepMetrics& m) { return m.phase_dequeue_us; }},
    {"phase_copy_us", "us", "isolated step: copies while no kernel runs and nothing is launched",
     [](const StepMetrics& m) { return m.phase_copy_us; }},
    {"wait_us", "us", "isolated step: the rest, in which the tandem waits for the host program",
     [](const StepMetrics& m) { return m.wait_us; }},
    {"queue_mean_depth", "launches",
     "isolated step: launches that wait for the device, mean over "
     "time",
     [](const StepMetrics& m) { return m.queue_mean_depth; }},
    {"queue_max_depth", "launches", "isolated step: most launches that wait at one time",
     [](const StepMetrics& m) { return m.queue_max_depth; }},
    {"queue_empty_share", "ratio", "isolated step: share of time in which no launch waits",
     [](const StepMetrics& m) { return m.queue_empty_share; }},
}};
}  // namespace

std::span<const MetricInfo> step_metric_infos() { return step_infos; }

}  // namespace tandem
