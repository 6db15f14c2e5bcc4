// Cache sizes by a pointer chase over arrays of growing size (thesis figure 5.4).
//   sweep --out DIR [--device 0]
// DIR/cache.csv: one row per (level, array size): cycles per access of a warp after a warm-up
// round. Under Nsight Compute the same kernels run in the same order, so that its hits belong to
// the rows. Clocks and limits stay as they are.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "sweep: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

constexpr std::uint64_t access_bytes = 256;  // 32 lanes of 8 bytes: two lines of 128 bytes
constexpr std::uint64_t words = access_bytes / 8;

/// Word i holds the address that its lane reads next: one access on, around in rings.
__global__ void link_rings(std::uint64_t* array, std::uint64_t count, std::uint64_t ring) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t begin = i / ring * ring;
    array[i] = reinterpret_cast<std::uint64_t>(array + begin + (i - begin + words) % ring);
  }
}

template <bool through_l1>
__device__ inline std::uint64_t load(std::uint64_t address) {
  if (through_l1) {
    asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(address)::"memory");
  } else {
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(address)::"memory");
  }
  return address;
}

/// Every warp goes round its own ring of `steps` accesses: once to warm up, then `rounds` times
/// against the clock. cycles: sum over warps; sink: never written.
template <bool through_l1>
__global__ void chase(std::uint64_t* array, std::uint64_t steps, int rounds,
                      unsigned long long* cycles, std::uint64_t* sink) {
  const std::uint64_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  auto at = reinterpret_cast<std::uint64_t>(array + warp * steps * words + threadIdx.x % 32);
  for (std::uint64_t i = 0; i < steps; ++i) at = load<through_l1>(at);
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    for (std::uint64_t i = 0; i < steps; ++i) at = load<through_l1>(at);
  }
  const long long end = clock64();
  if (at == 0) *sink = at;
  if (threadIdx.x % 32 == 0) atomicAdd(cycles, static_cast<unsigned long long>(end - begin));
}

struct Level {
  const char* name;
  bool through_l1;
  int blocks;  // 0: one an SM
  int warps;   // a block
  std::uint64_t first, step, last;
};

constexpr std::uint64_t kib = 1 << 10, mib = 1 << 20;
constexpr Level levels[] = {
    {"l1", true, 1, 4, 16 * kib, 8 * kib, 384 * kib},
    {"l2_one_sm", false, 1, 32, 2 * mib, 2 * mib, 128 * mib},
    {"l2_all_sms", false, 0, 16, 2 * mib, 2 * mib, 128 * mib},
};

}  // namespace

int main(int argc, char** argv) {
  std::string out;
  int device = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--out") out = argv[i + 1];
    if (key == "--device") device = std::atoi(argv[i + 1]);
  }
  if (out.empty()) {
    std::fprintf(stderr, "usage: sweep --out DIR [--device N]\n");
    return 2;
  }
  check(cudaSetDevice(device), "cudaSetDevice");
  int sms = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "attribute");
  std::uint64_t* array = nullptr;
  unsigned long long* cycles = nullptr;
  check(cudaMalloc(&array, 160 * mib), "cudaMalloc");
  check(cudaMalloc(&cycles, 16), "cudaMalloc");
  check(cudaFuncSetAttribute(chase<true>, cudaFuncAttributePreferredSharedMemoryCarveout, 0),
        "carve-out");
  std::ofstream rows(out + "/cache.csv");
  rows.precision(10);
  rows << "level,bytes,warps,accesses,warm_accesses,sectors_per_access,cycles\n";
  for (const Level& l : levels) {
    const int blocks = l.blocks == 0 ? sms : l.blocks;
    const std::uint64_t warps = std::uint64_t(blocks) * l.warps;
    for (std::uint64_t size = l.first; size <= l.last; size += l.step) {
      const std::uint64_t steps = size / access_bytes / warps;
      if (steps == 0) continue;
      const std::uint64_t bytes = steps * access_bytes * warps;
      const int rounds = 4;
      link_rings<<<sms * 8, 256>>>(array, bytes / 8, steps * words);
      check(cudaMemset(cycles, 0, 16), "memset");
      auto* sink = reinterpret_cast<std::uint64_t*>(cycles + 1);
      if (l.through_l1) {
        chase<true><<<blocks, l.warps * 32>>>(array, steps, rounds, cycles, sink);
      } else {
        chase<false><<<blocks, l.warps * 32>>>(array, steps, rounds, cycles, sink);
      }
      check(cudaGetLastError(), l.name);
      unsigned long long sum = 0;
      check(cudaMemcpy(&sum, cycles, sizeof sum, cudaMemcpyDeviceToHost), l.name);
      const double accesses = static_cast<double>(steps * warps);
      rows << l.name << ',' << bytes << ',' << warps << ',' << accesses * rounds << ',' << accesses
           << ',' << access_bytes / 32 << ',' << static_cast<double>(sum) << '\n';
    }
  }
  rows.flush();
  cudaFree(array);
  cudaFree(cycles);
  return rows ? 0 : 1;
}
