#include "workloads/trace_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/core/device.h"

namespace tandem {

namespace {
constexpr std::int64_t process = 1, stream_number = 7;
}  // namespace

TraceRows::TraceRows(const GenerateInput& input)
    : host_(input.host), builder_(trace, [] { return std::string("the generated step"); }) {
  const GpuArch& gpu = input.lowering.gpu;
  trace.path = input.network.network->path;
  trace.format = "network";
  trace.framework = input.network.network->framework;
  trace.devices.push_back({0, gpu.aliases.empty() ? gpu.display_name : gpu.aliases.front(),
                           gpu.memory_bytes, gpu.compute_major, gpu.compute_minor, gpu.sm_count});
  stream_ = builder_.stream({0, 1, stream_number});
}

ThreadId TraceRows::thread(std::int64_t tid, std::string_view name) {
  if (!name.empty()) builder_.name_thread(process, tid, name);
  return builder_.thread(process, tid);
}

std::uint32_t TraceRows::open_op(std::string_view name, ThreadId thread, TimePoint begin,
                                 OperandsId operands) {
  HostOps& ops = trace.ops;
  ops.begin.push_back(begin);
  ops.duration.push_back(Duration::zero());
  ops.thread.push_back(thread);
  ops.name.push_back(builder_.text(name));
  ops.external_id.push_back(static_cast<std::int64_t>(ops.begin.size()));
  ops.sequence.push_back(-1);
  ops.forward_thread.push_back(0);
  ops.operands.push_back(operands);
  return static_cast<std::uint32_t>(ops.begin.size() - 1);
}

void TraceRows::close_op(std::uint32_t row, TimePoint end) {
  trace.ops.duration[row] = end - trace.ops.begin[row];
}

void TraceRows::add_call(std::string_view name, ApiKind api, ThreadId thread, TimePoint begin,
                         double us) {
  RuntimeCalls& calls = trace.calls;
  calls.begin.push_back(begin);
  calls.duration.push_back(from_us(us));
  calls.thread.push_back(thread);
  calls.name.push_back(builder_.text(name));
  calls.api.push_back(api);
  calls.correlation.push_back(++correlation_);
  calls.external_id.push_back(static_cast<std::int64_t>(trace.ops.size()));
}

TimePoint TraceRows::launch(const LoweredKernel& kernel, ThreadId thread, TimePoint begin,
                            double launch_call_us, double copy_call_us) {
  const bool is_kernel = kernel.kind == ActivityKind::kernel;
  const double us = is_kernel ? launch_call_us : copy_call_us;
  if (is_kernel) {
    add_call("cudaLaunchKernel", ApiKind::launch_kernel, thread, begin, us);
  } else {
    const bool set = kernel.kind == ActivityKind::memset;
    add_call(set ? "cudaMemsetAsync" : "cudaMemcpyAsync",
             set ? ApiKind::memset : ApiKind::memcpy_async, thread, begin, us);
  }
  const TimePoint end = begin + from_us(us);
  add_activity(kernel, end);
  return end;
}

TimePoint TraceRows::wait_for_device(ThreadId thread, TimePoint begin) {
  const TimePoint end = std::max(begin, device_ + from_us(host_.sync_return_us));
  add_call("cudaStreamSynchronize", ApiKind::stream_synchronize, thread, begin, to_us(end - begin));
  return end;
}

void TraceRows::add_activity(const LoweredKernel& kernel, TimePoint submitted) {
  const bool is_kernel = kernel.kind == ActivityKind::kernel;
  const bool far = device_ - submitted > far_lead;
  const double gap = copied_ || !is_kernel ? host_.memset_gap_us
                     : far                 ? host_.kernel_gap_far_us
                                           : host_.kernel_gap_near_us;
  const TimePoint begin =
      std::max(submitted + from_us(host_.launch_latency_us), device_ + from_us(gap));
  Activities& a = trace.activities;
  a.begin.push_back(begin);
  a.duration.push_back(from_us(kernel.duration_us));
  a.kind.push_back(kernel.kind);
  a.stream.push_back(stream_);
  a.name.push_back(builder_.text(kernel.name));
  a.correlation.push_back(correlation_);
  a.external_id.push_back(static_cast<std::int64_t>(trace.ops.size()));
  a.geometry.push_back(is_kernel ? builder_.geometry(kernel.geometry) : GeometryId{});
  a.bytes.push_back(kernel.bytes);
  a.collective.push_back({});
  device_ = begin + from_us(kernel.duration_us);
  copied_ = !is_kernel;
}

void TraceRows::add_note(std::string_view name, ThreadId thread, TimePoint begin, TimePoint end,
                         std::int64_t step) {
  Annotations& notes = trace.annotations;
  notes.begin.push_back(begin);
  notes.duration.push_back(end - begin);
  notes.thread.push_back(thread);
  notes.name.push_back(builder_.text(name));
  notes.step.push_back(step);
  notes.mark.push_back(AnnotationMark::none);
}

Trace TraceRows::finish() {
  builder_.finish();
  return std::move(trace);
}

}  // namespace tandem
