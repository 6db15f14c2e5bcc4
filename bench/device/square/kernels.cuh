// The kernel of EuroMLSys'23 figure 1 (one load, one product, one store a thread) and variants that
// differ in what they touch, as one table of name and function.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

using SquareKernel = void (*)(float* out, const float* in, int parameter);

__global__ void empty(float*, const float*, int) {}

// Loads only: the condition never holds, which the compiler cannot know.
__global__ void load_only(float* out, const float* in, int) {
  const float f = in[threadIdx.x];
  if (f < -1e30F) out[threadIdx.x] = f;
}

__global__ void store_only(float* out, const float*, int parameter) {
  out[threadIdx.x] = static_cast<float>(parameter);
}

// As published: every block writes the same lines.
__global__ void same_lines(float* out, const float* in, int) {
  const float f = in[threadIdx.x];
  out[threadIdx.x] = f * f;
}

// Every block writes lines of its own.
__global__ void own_lines(float* out, const float* in, int) {
  const float f = in[threadIdx.x];
  out[static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x] = f * f;
}

// `parameter` groups of blocks, each with its own lines.
__global__ void group_lines(float* out, const float* in, int parameter) {
  const float f = in[threadIdx.x];
  out[static_cast<size_t>(blockIdx.x % parameter) * blockDim.x + threadIdx.x] = f * f;
}

// Every warp writes the same `parameter` lines in turn.
__global__ void few_lines(float* out, const float* in, int parameter) {
  const float f = in[threadIdx.x];
  out[threadIdx.x % (32 * parameter)] = f * f;
}

// The lines of a block lie `parameter` lines apart.
__global__ void spread_lines(float* out, const float* in, int parameter) {
  const float f = in[threadIdx.x];
  out[threadIdx.x / 32 * 32 * parameter + threadIdx.x % 32] = f * f;
}

__global__ void same_lines_cs(float* out, const float* in, int) {
  const float f = in[threadIdx.x];
  __stcs(out + threadIdx.x, f * f);
}

__global__ void same_lines_wt(float* out, const float* in, int) {
  const float f = in[threadIdx.x];
  __stwt(out + threadIdx.x, f * f);
}

// Holds its SM for `parameter` clocks: checks what the counters call active and occupied.
__global__ void spin(float*, const float*, int parameter) {
  const long long start = clock64();
  while (clock64() - start < parameter) {
  }
}

struct NamedKernel {
  const char* name;
  SquareKernel run;
};

constexpr NamedKernel square_kernels[] = {
    {"empty", empty},
    {"load_only", load_only},
    {"store_only", store_only},
    {"same_lines", same_lines},
    {"own_lines", own_lines},
    {"group_lines", group_lines},
    {"few_lines", few_lines},
    {"spread_lines", spread_lines},
    {"same_lines_cs", same_lines_cs},
    {"same_lines_wt", same_lines_wt},
    {"spin", spin},
};

inline SquareKernel kernel_named(const char* name) {
  for (const NamedKernel& kernel : square_kernels) {
    if (std::strcmp(kernel.name, name) == 0) return kernel.run;
  }
  std::fprintf(stderr, "no kernel %s\n", name);
  std::exit(2);
}

// One line of a point list: "kernel blocks threads parameter shared_bytes".
struct Point {
  char name[32];
  int blocks, threads, parameter, shared_bytes;
};

inline bool read_point(Point& p) {
  return std::scanf("%31s %d %d %d %d", p.name, &p.blocks, &p.threads, &p.parameter,
                    &p.shared_bytes) == 5;
}

inline void launch(const Point& p, float* out, const float* in, cudaStream_t stream = nullptr) {
  kernel_named(p.name)<<<p.blocks, p.threads, p.shared_bytes, stream>>>(out, in, p.parameter);
}

struct Buffers {
  float* in = nullptr;
  float* out = nullptr;
  Buffers() {
    check(cudaMalloc(&in, 1 << 20), "input");
    check(cudaMalloc(&out, size_t{1} << 30), "output");
    check(cudaMemset(in, 0, 1 << 20), "input");
  }
};

// Lets a kernel have more than 48 KiB of dynamic shared memory.
inline void allow_shared(const Point& p) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel_named(p.name)),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024),
        "shared memory");
}
