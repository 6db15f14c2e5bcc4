// Time per back-to-back launch of each point of a list (stdin, see points.py), as CSV:
//
//   nvcc -O2 -arch=sm_90 launch_time.cu -o launch_time
//   python3 points.py | ./launch_time > times.csv
//   python3 points.py grid | ./launch_time --hold 0.7     (keeps each point running; for
//   activity.py) python3 points.py counters | ncu --replay-mode range ... ./launch_time --range
//
// stream_us: launches into one stream; host_us: the launch call alone, queue not full; graph_us:
// the same launches as nodes of a CUDA graph.
#include <cuda_profiler_api.h>

#include <algorithm>
#include <chrono>

#include "kernels.cuh"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Timer {
  cudaEvent_t from, to;
  Timer() {
    check(cudaEventCreate(&from), "event");
    check(cudaEventCreate(&to), "event");
  }
  double microseconds() const {
    float ms = 0;
    check(cudaEventSynchronize(to), "run");
    check(cudaEventElapsedTime(&ms, from, to), "event");
    return 1e3 * ms;
  }
};

// Time per launch of `count` launches.
double stream_time(const Point& p, const Buffers& buffers, const Timer& timer, int count) {
  check(cudaEventRecord(timer.from), "event");
  for (int i = 0; i < count; ++i) launch(p, buffers.out, buffers.in);
  check(cudaEventRecord(timer.to), "event");
  return timer.microseconds() / count;
}

double host_time(const Point& p, const Buffers& buffers) {
  constexpr int count = 500;  // fewer than the queue holds
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) launch(p, buffers.out, buffers.in);
  const double seconds = seconds_since(start);
  check(cudaDeviceSynchronize(), "run");
  return 1e6 * seconds / count;
}

double graph_time(const Point& p, const Buffers& buffers, const Timer& timer, int count) {
  constexpr int nodes = 100;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamCreate(&stream), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  for (int i = 0; i < nodes; ++i) launch(p, buffers.out, buffers.in, stream);
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&executable, graph, 0), "graph");
  const int launches = std::max(1, count / nodes);
  check(cudaGraphLaunch(executable, stream), "graph");
  check(cudaEventRecord(timer.from, stream), "event");
  for (int i = 0; i < launches; ++i) check(cudaGraphLaunch(executable, stream), "graph");
  check(cudaEventRecord(timer.to, stream), "event");
  const double result = timer.microseconds() / (launches * nodes);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return result;
}

void print_times(const Point& p, const Buffers& buffers, const Timer& timer) {
  const double rough = stream_time(p, buffers, timer, 20);
  const int count = std::clamp(static_cast<int>(15e3 / rough), 20, 6000);
  const double stream_us =
      std::min(stream_time(p, buffers, timer, count), stream_time(p, buffers, timer, count));
  const double host_us = rough < 50 ? host_time(p, buffers) : 0;
  const double graph_us = rough < 50 ? graph_time(p, buffers, timer, count) : 0;
  std::printf("%s,%d,%d,%d,%d,%.3f,%.3f,%.3f\n", p.name, p.blocks, p.threads, p.parameter,
              p.shared_bytes, stream_us, host_us, graph_us);
}

// Launches for `seconds` with at most two chunks queued, so that the run ends soon after.
void hold(const Point& p, const Buffers& buffers, const Timer& timer, double seconds) {
  const double rough = stream_time(p, buffers, timer, 20);
  const int chunk = std::clamp(static_cast<int>(5e3 / rough), 4, 500);
  cudaEvent_t ends[2];
  for (cudaEvent_t& end : ends) check(cudaEventCreate(&end), "event");
  std::printf("running\n");
  std::fflush(stdout);
  const auto start = Clock::now();
  check(cudaEventRecord(timer.from), "event");
  int chunks = 0;
  for (; seconds_since(start) < seconds; ++chunks) {
    if (chunks >= 2) check(cudaEventSynchronize(ends[chunks % 2]), "run");
    for (int i = 0; i < chunk; ++i) launch(p, buffers.out, buffers.in);
    check(cudaEventRecord(ends[chunks % 2]), "event");
  }
  check(cudaEventRecord(timer.to), "event");
  std::printf("%s,%d,%d,%d,%d,%.3f\n", p.name, p.blocks, p.threads, p.parameter, p.shared_bytes,
              timer.microseconds() / (static_cast<double>(chunks) * chunk));
  std::fflush(stdout);
}

// The profiler sees `range_launches` back-to-back launches as one.
void profiled_range(const Point& p, const Buffers& buffers) {
  constexpr int range_launches = 50;
  for (int i = 0; i < 20; ++i) launch(p, buffers.out, buffers.in);
  check(cudaDeviceSynchronize(), "run");
  check(cudaProfilerStart(), "profiler");
  for (int i = 0; i < range_launches; ++i) launch(p, buffers.out, buffers.in);
  check(cudaDeviceSynchronize(), "run");
  check(cudaProfilerStop(), "profiler");
}

}  // namespace

int main(int argc, char** argv) {
  const bool range = argc > 1 && std::strcmp(argv[1], "--range") == 0;
  const double seconds = argc > 2 && std::strcmp(argv[1], "--hold") == 0 ? std::atof(argv[2]) : 0;
  const Buffers buffers;
  const Timer timer;
  if (!range && seconds == 0) {
    std::printf("kernel,blocks,threads,parameter,shared_bytes,stream_us,host_us,graph_us\n");
  }
  for (Point p; read_point(p);) {
    if (p.shared_bytes > 48 * 1024) allow_shared(p);
    if (range) {
      profiled_range(p, buffers);
    } else if (seconds > 0) {
      hold(p, buffers, timer, seconds);
    } else {
      print_times(p, buffers, timer);
    }
    check(cudaGetLastError(), p.name);
  }
}
