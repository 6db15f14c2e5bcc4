// Writes the table that pins models/arch/occupancy: what NVIDIA's own calculator says about a few
// thousand launches. Needs the CUDA toolkit's header and no GPU:
//
//   g++ -I CUDA/include bench/device/occupancy_table.cpp -o occupancy_table
//   ./occupancy_table > tests/golden/occupancy/cuda_occupancy.csv
#include <cuda_occupancy.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

namespace {

constexpr int launches_per_chip = 2550;

// Device properties as the driver reports them; independent of configs/gpus on purpose.
struct Chip {
  int major;
  int sm_count;
  int shared_per_sm;
  int shared_optin;
  int reserved;
};
constexpr Chip chips[] = {
    {7, 80, 98304, 98304, 0}, {8, 108, 167936, 166912, 1024}, {9, 132, 233472, 232448, 1024}};

struct Launch {
  int threads = 128;
  int registers = 32;
  int static_shared = 0;
  int dynamic_shared = 0;
  int opt_in = 1;
  int carveout = -1;
  int barriers = 1;
};

// A fixed sequence, so that every run writes the same table.
class Random {
 public:
  int below(int n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  int pick(std::initializer_list<int> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

 private:
  std::uint64_t state_ = 2024;
};

// Half of the numbers sit at edges where rounding decides, the rest anywhere.
Launch random_launch(Random& random, const Chip& chip) {
  Launch l;
  l.threads = random.below(2) ? 32 * (1 + random.below(32)) : 1 + random.below(1030);
  l.registers = random.below(3)
                    ? random.below(257)
                    : random.pick({0, 16, 24, 32, 33, 40, 64, 65, 128, 168, 255, 256, 257});
  l.static_shared = random.below(2) ? 0 : random.below(49153);
  l.dynamic_shared = random.below(3) ? random.below(3) * random.below(chip.shared_per_sm / 2)
                                     : random.pick({0, 1, 127, 128, 255, 256, 1024, 16384, 48128,
                                                    49152, 65536, chip.shared_optin});
  l.opt_in = random.below(4) != 0;
  l.carveout = random.below(2) ? -1 : random.below(101);
  l.barriers = random.below(3) ? 1 : random.below(17);
  return l;
}

cudaOccDeviceProp properties(const Chip& chip) {
  cudaOccDeviceProp p;
  p.computeMajor = chip.major;
  p.computeMinor = 0;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiprocessor = 2048;
  p.regsPerBlock = 65536;
  p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.sharedMemPerBlock = 49152;
  p.sharedMemPerMultiprocessor = static_cast<size_t>(chip.shared_per_sm);
  p.numSms = chip.sm_count;
  p.sharedMemPerBlockOptin = static_cast<size_t>(chip.shared_optin);
  p.reservedSharedMemPerBlock = static_cast<size_t>(chip.reserved);
  return p;
}

cudaOccFuncAttributes attributes(const Launch& l) {
  cudaOccFuncAttributes a;
  a.maxThreadsPerBlock = 1024;
  a.numRegs = l.registers;
  a.sharedSizeBytes = static_cast<size_t>(l.static_shared);
  a.shmemLimitConfig = l.opt_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
  a.maxDynamicSharedSizeBytes = static_cast<size_t>(l.dynamic_shared);
  a.numBlockBarriers = l.barriers;
  return a;
}

int or_minus_one(int limit) { return limit == INT_MAX ? -1 : limit; }

bool calculate(const Chip& chip, const Launch& l, cudaOccResult& r) {
  const cudaOccDeviceProp device = properties(chip);
  const cudaOccFuncAttributes function = attributes(l);
  cudaOccDeviceState state;
  state.carveoutConfig = l.carveout;
  return cudaOccMaxActiveBlocksPerMultiprocessor(&r, &device, &function, &state, l.threads,
                                                 static_cast<size_t>(l.dynamic_shared)) ==
         CUDA_OCC_SUCCESS;
}

void write_row(const Chip& chip, const Launch& l, const cudaOccResult& r) {
  std::printf("%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%u\n", chip.major * 10, l.threads,
              l.registers, l.static_shared, l.dynamic_shared, l.opt_in, l.carveout, l.barriers,
              r.activeBlocksPerMultiprocessor, r.blockLimitWarps, or_minus_one(r.blockLimitRegs),
              or_minus_one(r.blockLimitSharedMem), or_minus_one(r.blockLimitBarriers),
              static_cast<int>(r.allocatedSharedMemPerBlock), r.limitingFactors);
}

}  // namespace

int main() {
  std::printf(
      "cc,threads,registers,static,dynamic,opt_in,carveout,barriers,blocks,limit_warps,"
      "limit_registers,limit_shared,limit_barriers,shared_allocated,factors\n");
  Random random;
  for (const Chip& chip : chips) {
    for (int rows = 0; rows < launches_per_chip;) {
      const Launch launch = random_launch(random, chip);
      cudaOccResult result;
      if (!calculate(chip, launch, result)) return 1;
      // Most random launches fit no SM; one in five of those is enough.
      if (result.activeBlocksPerMultiprocessor == 0 && random.below(5) != 0) continue;
      write_row(chip, launch, result);
      ++rows;
    }
  }
  return 0;
}
