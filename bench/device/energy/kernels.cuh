// Kernels of the energy calibration. Each repeats a body for a given time and counts what it did,
// so that a point is (work, time, power) whatever the clocks do.
#pragma once

#include <cstdint>

constexpr int unroll = 32;  // accesses of one thread between two looks at the clock

__device__ inline std::uint64_t now_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

/// Keeps the schedulers busy with dependent adds: an active SM that moves no data.
__device__ inline void spin(long long cycles) {
  const long long end = clock64() + cycles;
  std::uint32_t x = threadIdx.x;
  do {
#pragma unroll
    for (int i = 0; i < 32; ++i) asm volatile("add.u32 %0, %0, 3;" : "+r"(x));
  } while (clock64() < end);
}

struct Run {
  std::uint64_t nanoseconds;    // of one launch
  unsigned long long* batches;  // adds 1 per warp and batch
  unsigned long long* sink;     // never written; keeps results alive
};

/// Repeats body() until the time is over.
template <class Body>
__device__ inline void repeat(const Run& run, Body body) {
  const std::uint64_t end = now_ns() + run.nanoseconds;
  unsigned long long batches = 0;
  do {
#pragma unroll 1
    for (int i = 0; i < 8; ++i) body();
    batches += 8;
  } while (now_ns() < end);
  if (threadIdx.x % 32 == 0) atomicAdd(run.batches, batches);
}

/// Element i points to element i + step, around in rings of `ring` elements: consecutive threads
/// read consecutive words, and a warp's next access is a block's width further on.
__global__ void make_chase(std::uint64_t* array, std::uint64_t elements, std::uint64_t ring,
                           std::uint64_t step) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < elements;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t begin = i / ring * ring;
    const std::uint64_t next = begin + (i - begin + step) % ring;
    array[i] = next < elements ? reinterpret_cast<std::uint64_t>(array + next)
                               : reinterpret_cast<std::uint64_t>(array + begin);
  }
}

/// Random words: what is written or read decides how many wires toggle, and so the energy.
__global__ void fill_random(std::uint32_t* words, std::uint64_t count) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    words[i] = static_cast<std::uint32_t>(x >> 32);
  }
}

enum class Path { l1, l2 };  // ld.ca keeps lines in L1; ld.cg goes to L2 and, if it must, to DRAM

template <Path path>
__device__ inline std::uint64_t chase(std::uint64_t address) {
  if (path == Path::l1) {
    asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(address)::"memory");
  } else {
    asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(address)::"memory");
  }
  return address;
}

/// The thesis' LOAD benchmark (listing 5.1). `ring`: elements between the arrays of two blocks; 0:
/// all blocks read the same array.
template <Path path, bool divide>
__global__ void load(std::uint64_t* array, std::uint64_t ring, std::uint32_t divisor, Run run) {
  auto p = reinterpret_cast<std::uint64_t>(array + blockIdx.x * ring + threadIdx.x);
  std::uint32_t quotients = 0;
  repeat(run, [&] {
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      p = chase<path>(p);
      if (divide) quotients += (static_cast<std::uint32_t>(p) | 0x80000000u) / divisor;
    }
  });
  if (p == 1 || quotients == 1) *run.sink = p + quotients;
}

/// STORE: the addresses are computed, which costs two more instructions than a pointer chase.
__global__ void store(std::uint64_t* array, std::uint64_t ring, std::uint64_t bytes, Run run) {
  char* base = reinterpret_cast<char*>(array + blockIdx.x * ring + threadIdx.x);
  std::uint64_t offset = 0;
  repeat(run, [&] {
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      asm volatile("st.global.cg.u64 [%0], %1;" ::"l"(base + offset), "l"(offset) : "memory");
      offset += blockDim.x * sizeof(std::uint64_t);
      offset = offset < bytes ? offset : 0;
    }
  });
}

/// Independent 16-byte loads: as many bytes in flight as the memory takes.
__global__ void stream(const uint4* array, std::uint64_t elements, Run run) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  std::uint32_t sum = 0;
  repeat(run, [&] {
#pragma unroll
    for (int k = 0; k < unroll; ++k) {
      uint4 v;
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                   : "l"(array + i));
      sum ^= v.x ^ v.y ^ v.z ^ v.w;
      i += threads;
      i = i < elements ? i : i - elements;
    }
  });
  if (sum == 1) *run.sink = sum;
}

/// Chase in shared memory, conflict-free: 8 bytes a lane are 2 wavefronts a warp.
__global__ void shared_load(std::uint32_t bytes, Run run) {
  extern __shared__ std::uint64_t words[];
  const std::uint32_t count = bytes / 8;
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    words[i] = base + (i + blockDim.x) % count * 8;
  }
  __syncthreads();
  std::uint64_t p = base + threadIdx.x % count * 8;
  repeat(run, [&] {
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(p) : "r"(static_cast<std::uint32_t>(p)));
    }
  });
  if (p == 1) *run.sink = p;
}

__global__ void shared_store(std::uint32_t bytes, Run run) {
  extern __shared__ std::uint64_t words[];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  std::uint32_t offset = threadIdx.x * 8 % bytes;
  repeat(run, [&] {
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      asm volatile("st.shared.u64 [%0], %1;" ::"r"(base + offset),
                   "l"(0x9e3779b97f4a7c15ull * offset)
                   : "memory");
      offset += blockDim.x * 8;
      offset = offset < bytes ? offset : offset - bytes;
    }
  });
}

constexpr int chains = 8;

/// Dependent chains of FP32 multiply-adds. Each alternates between two values for ever, so that
/// most bits toggle; `seed` 0 gives zeros everywhere.
__global__ void ffma(float seed, Run run) {
  float x[chains], b[chains];
  const float a = seed == 0 ? 0 : -1.f;
  for (int c = 0; c < chains; ++c) {
    const std::uint32_t r = (threadIdx.x * 8 + c + blockIdx.x * 8192 + 1) * 2654435761u;
    x[c] = seed * static_cast<float>(r);
    b[c] = seed * static_cast<float>(r * 747796405u);
  }
  repeat(run, [&] {
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
#pragma unroll
      for (int c = 0; c < chains; ++c) {
        asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[c]) : "f"(a), "f"(b[c]));
      }
    }
  });
  float sum = 0;
  for (int c = 0; c < chains; ++c) sum += x[c];
  if (sum == 1.2345f) *run.sink = 1;
}

/// Warp-wide tensor instructions with operands in registers: m16n8k16 (fp16) or m16n8k8 (tf32),
/// which have as many operand registers.
template <bool tf32>
__global__ void mma(std::uint32_t seed, Run run) {
#if __CUDA_ARCH__ >= 800
  std::uint32_t a[4], b[2];
  float d[chains][4] = {};
  for (int i = 0; i < 6; ++i) {
    // Random mantissas with exponents near 1: halves 0x3800..0x3bff, floats 0.5..1.
    const std::uint32_t r = seed * (threadIdx.x * 747796405u + i * 2891336453u + 1);
    const std::uint32_t value =
        tf32 ? 0x3f000000u | (r >> 9 & 0x7fe000u) : (r & 0x03ff03ffu) | 0x38003800u;
    (i < 4 ? a[i] : b[i - 4]) = seed == 0 ? 0 : value;
  }
  repeat(run, [&] {
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
      float* c = d[i % chains];
      if (tf32) {
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
            "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
            "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
      }
    }
  });
  float sum = 0;
  for (int c = 0; c < chains; ++c) sum += d[c][0] + d[c][1] + d[c][2] + d[c][3];
  if (sum == 1.2345f) *run.sink = 1;
#endif
}

/// An SM that is active and does nothing but count.
__global__ void busy(Run run) {
  repeat(run, [&] { spin(1000); });
}

/// Warps that are resident and sleep.
__global__ void asleep(Run run) {
#if __CUDA_ARCH__ >= 700
  repeat(run, [&] { __nanosleep(100'000); });
#endif
}
