// When each block of a launch starts and ends, and where: launch period, life of the first and the
// later blocks of an SM.
//
//   nvcc -O2 -arch=sm_90 block_life.cu -o block_life && ./block_life > block_life.csv
//   ./block_life raw > block_raw.csv         (every block of a few launches)
//
// Every block keeps its first and last stamp of the SM's clock; the clocks of the SMs are aligned
// with %globaltimer right after (they drift by a few clocks a millisecond). The stamps are one more
// store a block, to lines of its own. The launch stands behind 20 others of its kind.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels.cuh"

namespace {

struct Stamp {
  long long start, end;
  int sm, pad0;
  long long pad1;
};

enum class Body { none, load, store, square, own };

__device__ long long global_timer() {
  long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__device__ int sm_id() {
  int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

template <Body body>
__global__ void stamped(float* out, const float* in, Stamp* stamps) {
  const long long start = clock64();
  float f = 0;
  if (body == Body::load || body == Body::square || body == Body::own) {
    f = static_cast<const volatile float*>(in)[threadIdx.x];
  }
  const size_t own = static_cast<size_t>(blockIdx.x) * blockDim.x;
  if (body == Body::store || body == Body::square) {
    static_cast<volatile float*>(out)[threadIdx.x] = f * f;
  }
  if (body == Body::own) static_cast<volatile float*>(out)[own + threadIdx.x] = f * f;
  if (body == Body::load && f < -1e30F) out[0] = f;
  if (threadIdx.x != blockDim.x - 1) return;
  Stamp stamp{start, clock64(), sm_id(), 0, 0};
  stamps[blockIdx.x] = stamp;
}

// Pairs of SM clock and global timer, taken where the timer ticks; shared memory keeps one an SM.
__global__ void align_clocks(long long* pairs, int ticks) {
  extern __shared__ int one_block_an_sm[];
  one_block_an_sm[0] = 0;
  long long* mine = pairs + sm_id() * 2 * ticks;
  for (int i = 0; i < ticks; ++i) {
    const long long before = global_timer();
    long long now = before;
    while (now == before) now = global_timer();
    mine[2 * i] = clock64();
    mine[2 * i + 1] = now;
  }
}

struct Clocks {
  double ghz = 0;
  std::vector<double> offset;  // clock of an SM when that of SM 0 shows 0
};

Clocks measure_clocks(int sms) {
  constexpr int ticks = 48;
  long long* device = nullptr;
  check(cudaMalloc(&device, sizeof(long long) * 2 * ticks * sms), "clocks");
  constexpr int shared = 200 * 1024;
  check(cudaFuncSetAttribute(align_clocks, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
        "clocks");
  for (int i = 0; i < 3; ++i) align_clocks<<<sms, 1, shared>>>(device, ticks);
  std::vector<long long> pairs(static_cast<size_t>(2) * ticks * sms);
  check(cudaMemcpy(pairs.data(), device, pairs.size() * sizeof(long long), cudaMemcpyDefault),
        "clocks");
  Clocks clocks;
  const long long* first = pairs.data();
  clocks.ghz = static_cast<double>(first[2 * ticks - 2] - first[0]) /
               static_cast<double>(first[2 * ticks - 1] - first[1]);
  for (int sm = 0; sm < sms; ++sm) {
    std::vector<double> offsets;
    for (int i = 0; i < ticks; ++i) {
      const long long* pair = pairs.data() + static_cast<size_t>(sm) * 2 * ticks + 2 * i;
      offsets.push_back(static_cast<double>(pair[0] - first[0]) -
                        clocks.ghz * static_cast<double>(pair[1] - first[1]));
    }
    std::sort(offsets.begin(), offsets.end());
    clocks.offset.push_back(offsets[ticks / 4]);
  }
  cudaFree(device);
  return clocks;
}

struct Run {
  const char* name;
  void (*kernel)(float*, const float*, Stamp*);
};

constexpr Run runs[] = {{"empty", stamped<Body::none>},
                        {"load_only", stamped<Body::load>},
                        {"store_only", stamped<Body::store>},
                        {"same_lines", stamped<Body::square>},
                        {"own_lines", stamped<Body::own>}};

struct Life {
  double start, end;
  int sm, nth;  // nth block of its SM
};

std::vector<Life> lives_of(const std::vector<Stamp>& stamps, const Clocks& clocks) {
  std::vector<Life> lives;
  for (const Stamp& s : stamps) {
    const double offset = clocks.offset[s.sm];
    lives.push_back(
        {static_cast<double>(s.start) - offset, static_cast<double>(s.end) - offset, s.sm, 0});
  }
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return a.start < b.start; });
  std::vector<int> count(clocks.offset.size(), 0);
  const double origin = lives.front().start;
  for (Life& life : lives) {
    life.start -= origin;
    life.end -= origin;
    life.nth = count[life.sm]++;
  }
  return lives;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Clocks between block starts of the device, over the middle half of the launch.
double launch_period(const std::vector<Life>& lives) {
  const size_t from = lives.size() / 4, to = lives.size() * 3 / 4;
  if (to <= from + 1) return 0;
  return (lives[to].start - lives[from].start) / static_cast<double>(to - from);
}

// Clocks with a block resident, per SM that got one; `lives` in order of their start.
double active_clocks(const std::vector<Life>& lives, size_t sms) {
  constexpr double never = -1e30;
  std::vector<double> end(sms, never);
  double active = 0;
  for (const Life& life : lives) {
    active += std::max(0.0, life.end - std::max(life.start, end[life.sm]));
    end[life.sm] = std::max(end[life.sm], life.end);
  }
  const auto unused = std::count(end.begin(), end.end(), never);
  return active / static_cast<double>(static_cast<long>(sms) - unused);
}

// Clocks between the starts of two blocks of one SM while it fills (`filling`) and later.
std::vector<double> intervals(const std::vector<Life>& lives, size_t sms, int resident,
                              bool filling) {
  std::vector<double> last(sms, 0), found;
  for (const Life& life : lives) {
    if (life.nth > 0 && (life.nth < resident) == filling) {
      found.push_back(life.start - last[life.sm]);
    }
    last[life.sm] = life.start;
  }
  return found;
}

void print_summary(const Run& run, int threads, const std::vector<Life>& lives, int resident,
                   size_t sms) {
  std::vector<double> first, wave, later;
  double span = 0;
  for (const Life& life : lives) {
    (life.nth == 0 ? first : life.nth < resident ? wave : later).push_back(life.end - life.start);
    span = std::max(span, life.end);
  }
  std::printf("%s,%zu,%d,%zu,%.0f,%.0f,%.3f,%.0f,%.0f,%.0f,%.0f,%.0f\n", run.name, lives.size(),
              threads, first.size(), span, active_clocks(lives, sms), launch_period(lives),
              median(intervals(lives, sms, resident, true)),
              median(intervals(lives, sms, resident, false)), median(first), median(wave),
              median(later));
}

void print_raw(const Run& run, int threads, const std::vector<Life>& lives) {
  for (const Life& life : lives) {
    std::printf("%s,%zu,%d,%d,%d,%.0f,%.0f\n", run.name, lives.size(), threads, life.sm, life.nth,
                life.start, life.end);
  }
}

std::vector<Stamp> run_stamped(const Run& run, int blocks, int threads, const Buffers& buffers,
                               Stamp* device) {
  for (int i = 0; i < 21; ++i) run.kernel<<<blocks, threads>>>(buffers.out, buffers.in, device);
  std::vector<Stamp> stamps(blocks);
  check(cudaMemcpy(stamps.data(), device, sizeof(Stamp) * stamps.size(), cudaMemcpyDefault),
        run.name);
  return stamps;
}

struct Sweep {
  std::vector<int> blocks, threads;
};

const Sweep summary_sweep = {
    {1, 66, 132, 264, 528, 1056, 2112, 4224, 8448, 16384, 32768, 65536, 131072},
    {1, 32, 64, 128, 256, 512, 1024}};
const Sweep raw_sweep = {{132, 1024, 8192}, {1, 256, 1024}};

int resident_blocks(const cudaDeviceProp& device, int threads) {
  const int rounded = (threads + 31) / 32 * 32;
  return std::min(device.maxBlocksPerMultiProcessor, device.maxThreadsPerMultiProcessor / rounded);
}

void run_sweep(const Run& run, const Sweep& sweep, bool raw, const cudaDeviceProp& device,
               const Buffers& buffers, Stamp* stamps) {
  const int sms = device.multiProcessorCount;
  for (const int threads : sweep.threads) {
    for (const int blocks : sweep.blocks) {
      const std::vector<Stamp> seen = run_stamped(run, blocks, threads, buffers, stamps);
      const std::vector<Life> lives = lives_of(seen, measure_clocks(sms));
      if (raw) {
        print_raw(run, threads, lives);
      } else {
        print_summary(run, threads, lives, resident_blocks(device, threads), sms);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool raw = argc > 1 && std::strcmp(argv[1], "raw") == 0;
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "device");
  const Buffers buffers;
  Stamp* stamps = nullptr;
  check(cudaMalloc(&stamps, sizeof(Stamp) * 131072), "stamps");
  for (int i = 0; i < 2000; ++i) empty<<<4096, 128>>>(buffers.out, buffers.in, 0);  // clocks up
  std::printf(raw ? "kernel,blocks,threads,sm,nth,start_clk,end_clk\n"
                  : "kernel,blocks,threads,sms,span_clk,active_clk,period_clk,fill_interval_clk,"
                    "later_interval_clk,first_life_clk,wave_life_clk,later_life_clk\n");
  for (const Run& run : runs) {
    const bool shown =
        !raw || std::strcmp(run.name, "load_only") == 0 || std::strcmp(run.name, "same_lines") == 0;
    if (shown) run_sweep(run, raw ? raw_sweep : summary_sweep, raw, device, buffers, stamps);
  }
}
