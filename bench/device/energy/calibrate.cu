// Energy calibration: runs every point of points.h, writes what was done and what the board drew.
//   calibrate --out DIR [--seconds 1.6] [--device 0] [--once] [--only KERNEL]
// DIR/samples.csv: power and energy readings. DIR/points.csv: work of every point between its begin
// and end. DIR/phases.csv: t0..t5 of one run with delays around it (thesis figure 5.6).
// --once launches every point for 2 ms without sampling, to be run under Nsight Compute.
// Clocks and power limits are left as they are.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels.cuh"
#include "points.h"
#include "sampler.h"

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "calibrate: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

struct Options {
  std::string out = ".", only;
  double seconds = 1.6;
  int device = 0;
  bool once = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    const bool value = i + 1 < argc;
    if (key == "--once")
      o.once = true;
    else if (key == "--out" && value)
      o.out = argv[++i];
    else if (key == "--only" && value)
      o.only = argv[++i];
    else if (key == "--seconds" && value)
      o.seconds = std::atof(argv[++i]);
    else if (key == "--device" && value)
      o.device = std::atoi(argv[++i]);
    else {
      std::fprintf(stderr, "calibrate: unknown option %s\n", argv[i]);
      std::exit(2);
    }
  }
  return o;
}

// Bytes that one block chases through; all powers of two times 5, so that every step divides them.
constexpr std::uint64_t l1_bytes = 160 << 10, l2_block_bytes = 64 << 10, near_bytes = 256 << 10;
constexpr std::uint64_t l2_stream_bytes = 12 << 20;
constexpr std::uint64_t full_dram_bytes = std::uint64_t{4} << 30;
constexpr std::uint64_t once_dram_bytes = std::uint64_t{256} << 20;  // the profiler saves it
constexpr std::uint32_t shared_bytes = 48 << 10;

class Device {
 public:
  Device(int index, std::uint64_t bytes) : dram_bytes(bytes) {
    check(cudaSetDevice(index), "cudaSetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), "properties");
    sms = properties.multiProcessorCount;
    check(cudaMalloc(&array, dram_bytes), "cudaMalloc");
    check(cudaMalloc(&counters, 2 * sizeof(unsigned long long)), "cudaMalloc");
    for (auto& event : done) check(cudaEventCreate(&event), "cudaEventCreate");
    check(cudaFuncSetAttribute(load<Path::l1, false>,
                               cudaFuncAttributePreferredSharedMemoryCarveout, 0),
          "carve-out");
    check(cudaFuncSetAttribute(load<Path::l1, true>, cudaFuncAttributePreferredSharedMemoryCarveout,
                               0),
          "carve-out");
  }
  void release() {
    cudaFree(array);
    cudaFree(counters);
  }
  std::uint64_t dram_bytes;
  int sms = 0;
  std::uint64_t* array = nullptr;
  unsigned long long* counters = nullptr;  // batches, sink
  cudaEvent_t done[2]{};
};

/// Elements of a block's own array; 0: all blocks share one of `bytes`.
struct Footprint {
  std::uint64_t bytes = 0, ring = 0;
};

Footprint footprint(const Device& d, const Point& p, int blocks) {
  switch (p.kernel) {
    case Kernel::l1_load:
    case Kernel::l1_divide: return {l1_bytes, 0};
    case Kernel::l2_near_load: return {near_bytes, 0};
    case Kernel::l2_load:
    case Kernel::l2_store:
    case Kernel::l2_divide: return {l2_block_bytes, l2_block_bytes / 8};
    default: break;
  }
  std::uint64_t block = std::uint64_t{1} << 13;
  while (block * 2 * blocks <= d.dram_bytes) block *= 2;
  return {block, block / 8};
}

void prepare(const Device& d, const Point& p, int blocks) {
  if (p.kernel == Kernel::l2_stream || p.kernel == Kernel::dram_stream) {
    fill_random<<<d.sms * 8, 256>>>(reinterpret_cast<std::uint32_t*>(d.array), d.dram_bytes / 4);
    check(cudaGetLastError(), "fill_random");
    return;
  }
  const Footprint f = footprint(d, p, blocks);
  const std::uint64_t step = std::max(p.threads, 4);  // at least one sector of 32 bytes
  const std::uint64_t elements = f.ring == 0 ? f.bytes / 8 : f.ring * blocks;
  make_chase<<<d.sms * 8, 256>>>(d.array, elements, f.bytes / 8, step);
  check(cudaGetLastError(), "make_chase");
}

void launch(const Device& d, const Point& p, int blocks, const Run& run) {
  const Footprint f = footprint(d, p, blocks);
  std::uint64_t* a = d.array;
  switch (p.kernel) {
    case Kernel::idle: break;
    case Kernel::asleep: asleep<<<blocks, p.threads>>>(run); break;
    case Kernel::busy: busy<<<blocks, p.threads>>>(run); break;
    case Kernel::l1_load: load<Path::l1, false><<<blocks, p.threads>>>(a, f.ring, 7, run); break;
    case Kernel::l1_divide: load<Path::l1, true><<<blocks, p.threads>>>(a, f.ring, 7, run); break;
    case Kernel::l2_divide: load<Path::l2, true><<<blocks, p.threads>>>(a, f.ring, 7, run); break;
    case Kernel::l2_load:
    case Kernel::l2_near_load:
    case Kernel::dram_load: load<Path::l2, false><<<blocks, p.threads>>>(a, f.ring, 7, run); break;
    case Kernel::l2_stream:
    case Kernel::dram_stream: {
      const std::uint64_t bytes = p.kernel == Kernel::l2_stream ? l2_stream_bytes : d.dram_bytes;
      stream<<<blocks, p.threads>>>(reinterpret_cast<const uint4*>(a), bytes / 16, run);
      break;
    }
    case Kernel::l2_store:
    case Kernel::dram_store: store<<<blocks, p.threads>>>(a, f.ring, f.bytes, run); break;
    case Kernel::shared_load:
      shared_load<<<blocks, p.threads, shared_bytes>>>(shared_bytes, run);
      break;
    case Kernel::shared_store:
      shared_store<<<blocks, p.threads, shared_bytes>>>(shared_bytes, run);
      break;
    case Kernel::ffma: ffma<<<blocks, p.threads>>>(1.f, run); break;
    case Kernel::ffma_zero: ffma<<<blocks, p.threads>>>(0.f, run); break;
    case Kernel::mma_fp16: mma<false><<<blocks, p.threads>>>(0x9e3779b9u, run); break;
    case Kernel::mma_fp16_zero: mma<false><<<blocks, p.threads>>>(0, run); break;
    case Kernel::mma_tf32: mma<true><<<blocks, p.threads>>>(0x9e3779b9u, run); break;
  }
  check(cudaGetLastError(), name_of(p.kernel));
}

/// What one batch of a warp does.
struct BatchWork {
  double sectors = 0, flop = 0, divides = 0;
};

BatchWork batch_work(const Point& p) {
  const int lanes = std::min(p.threads, 32);
  const double sectors = unroll * ((lanes * 8 + 31) / 32);
  switch (p.kernel) {
    case Kernel::idle:
    case Kernel::asleep:
    case Kernel::busy: return {};
    case Kernel::l2_stream:
    case Kernel::dram_stream: return {unroll * 16.0, 0, 0};
    case Kernel::ffma:
    case Kernel::ffma_zero: return {0, 32.0 * unroll * chains * 2, 0};
    case Kernel::mma_fp16:
    case Kernel::mma_fp16_zero: return {0, unroll * 4096.0, 0};
    case Kernel::mma_tf32: return {0, unroll * 2048.0, 0};
    case Kernel::l1_divide:
    case Kernel::l2_divide: return {sectors, 0, double(unroll) * lanes};
    default: return {sectors, 0, 0};
  }
}

struct Done {
  double begin_s = 0, end_s = 0;
  unsigned long long batches = 0;
  int launches = 0;
};

/// Launches back to back, two in flight, until the time is over.
Done run_point(const Device& d, const Point& p, double duration_s, std::uint64_t launch_ns) {
  const int blocks = std::max(1, static_cast<int>(p.sm_share * d.sms + 0.5)) * p.blocks_per_sm;
  if (p.kernel != Kernel::idle) prepare(d, p, blocks);
  check(cudaMemset(d.counters, 0, 2 * sizeof(unsigned long long)), "cudaMemset");
  check(cudaDeviceSynchronize(), "prepare");
  Done result;
  result.begin_s = seconds();
  const Run run{launch_ns, d.counters, d.counters + 1};
  while (seconds() - result.begin_s < duration_s) {
    if (p.kernel == Kernel::idle) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    launch(d, p, blocks, run);
    check(cudaEventRecord(d.done[result.launches % 2]), "cudaEventRecord");
    if (++result.launches > 1)
      check(cudaEventSynchronize(d.done[result.launches % 2]), name_of(p.kernel));
  }
  check(cudaDeviceSynchronize(), name_of(p.kernel));
  result.end_s = seconds();
  check(cudaMemcpy(&result.batches, d.counters, sizeof result.batches, cudaMemcpyDeviceToHost),
        "copy");
  return result;
}

void write_row(std::ofstream& out, const Device& d, const Point& p, const Done& r) {
  const BatchWork w = batch_work(p);
  const double n = static_cast<double>(r.batches);
  const int blocks = std::max(1, static_cast<int>(p.sm_share * d.sms + 0.5)) * p.blocks_per_sm;
  out << name_of(p.kernel) << ',' << p.threads << ',' << blocks << ',' << p.sm_share << ','
      << r.begin_s << ',' << r.end_s << ',' << r.launches << ',' << n * w.sectors << ','
      << n * w.flop << ',' << n * w.divides << std::endl;
}

/// Points whose work the profiler checks: full, no two alike.
bool counted(const Point& p) { return p.kernel > Kernel::busy && p.threads >= 512; }

void pause(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

/// Thesis figure 5.6: sleep, memory allocated, a run, idle again, memory freed.
void phases(const Options& o) {
  std::ofstream out(o.out + "/phases.csv");
  out.precision(12);
  out << "mark,time_s\nt0," << seconds() << '\n';
  pause(3);
  out << "t1," << seconds() << '\n';
  Device d(o.device, full_dram_bytes);
  check(cudaDeviceSynchronize(), "context");
  pause(4);
  out << "t2," << seconds() << '\n';
  run_point(d, {Kernel::ffma}, 6, 50'000'000);
  out << "t3," << seconds() << '\n';
  pause(4);
  out << "t4," << seconds() << '\n';
  d.release();
  check(cudaDeviceReset(), "cudaDeviceReset");
  pause(4);
  out << "t5," << seconds() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  std::unique_ptr<Board> board;
  std::unique_ptr<Sampler> sampler;
  seconds();
  if (!o.once) {
    board = std::make_unique<Board>(o.device);
    sampler = std::make_unique<Sampler>(*board, o.out + "/samples.csv");
    if (o.only.empty()) phases(o);
  }
  Device device(o.device, o.once ? once_dram_bytes : full_dram_bytes);
  std::vector<Point> points = all_points();
  if (!o.once) std::shuffle(points.begin(), points.end(), std::mt19937(1));
  std::ofstream out(o.out + "/points.csv");
  out.precision(12);
  out << "kernel,threads,blocks,sm_share,begin_s,end_s,launches,sectors,flop,divides\n";
  for (const Point& p : points) {
    if (!o.only.empty() && o.only != name_of(p.kernel)) continue;
    if (o.once && !counted(p)) continue;
    const Done r =
        run_point(device, p, o.once ? 0.0005 : o.seconds, o.once ? 2'000'000 : 50'000'000);
    write_row(out, device, p, r);
  }
  device.release();
  return 0;
}
