// Measures the device numbers that configs/gpus/h200_sxm.json calls "measured": bandwidths,
// latencies, launch gaps. nvcc -O3 -arch=sm_90 probe.cu -o probe && ./probe
#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#define CK(x)                                                              \
  do {                                                                     \
    cudaError_t e = (x);                                                   \
    if (e) {                                                               \
      printf("ERR %s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e)); \
    }                                                                      \
  } while (0)
extern __shared__ int dyn[];
__global__ void kdyn(int* p) {
  dyn[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (p) p[0] = dyn[0];
}
__global__ void kempty() {}
__global__ void readk(const float4* p, size_t n, float* out) {
  float s = 0;
  size_t i = (size_t)blockIdx.x * blockDim.x * 8 + threadIdx.x;
  size_t st = (size_t)gridDim.x * blockDim.x * 8;
  for (; i + blockDim.x * 7 < n; i += st) {
    float4 v[8];
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = __ldcs(p + i + j * blockDim.x);
#pragma unroll
    for (int j = 0; j < 8; j++) s += v[j].x + v[j].y + v[j].z + v[j].w;
  }
  if (s == 12345.678f) *out = s;
}
__global__ void readl2(const float4* p, size_t n, float* out, int it) {
  float s = 0;
  size_t chunk = n / gridDim.x;
  for (int k = 0; k < it; k++) {
    const float4* q = p + chunk * ((blockIdx.x + k * 37) % gridDim.x);
#pragma unroll 8
    for (size_t i = threadIdx.x; i < chunk; i += blockDim.x) {
      float4 v = __ldcg(q + i);
      s += v.x + v.y + v.z + v.w;
    }
  }
  if (s == 12345.678f) *out = s;
}
// all SMs read the same buffer, each block starts elsewhere
__global__ void copyk(const float4* p, float4* q, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x * 4 + threadIdx.x;
  size_t st = (size_t)gridDim.x * blockDim.x * 4;
  for (; i + blockDim.x * 3 < n; i += st) {
    float4 v[4];
#pragma unroll
    for (int j = 0; j < 4; j++) v[j] = __ldcs(p + i + j * blockDim.x);
#pragma unroll
    for (int j = 0; j < 4; j++) __stcs(q + i + j * blockDim.x, v[j]);
  }
}
__global__ void fillk(float4* q, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  size_t st = (size_t)gridDim.x * blockDim.x;
  for (; i < n; i += st) q[i] = make_float4(1, 2, 3, 4);
}
template <int M>
__global__ void chase(size_t* p, int steps, long long* out) {
  size_t* q = p;
  long long t0 = clock64();
  for (int i = 0; i < steps; i++) {
    size_t v;
    if (M == 0)
      asm volatile("ld.global.ca.u64 %0,[%1];" : "=l"(v) : "l"(q));
    else
      asm volatile("ld.global.cg.u64 %0,[%1];" : "=l"(v) : "l"(q));
    q = (size_t*)v;
  }
  long long t1 = clock64();
  out[0] = t1 - t0;
  out[1] = (long long)q;
}
__global__ void smemchase(int steps, long long* out) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = ((i + 33) % 256) * 4;
  __syncthreads();
  unsigned base = (unsigned)__cvta_generic_to_shared(s);
  unsigned q = 0;
  long long t0 = clock64();
  for (int i = 0; i < steps; i++) {
    unsigned v;
    asm volatile("ld.shared.u32 %0,[%1];" : "=r"(v) : "r"(base + q));
    q = v;
  }
  long long t1 = clock64();
  out[0] = t1 - t0;
  out[1] = q;
}
__global__ void alu(float a, double d, long long* out) {
  float x = a;
  long long t0 = clock64();
#pragma unroll 128
  for (int i = 0; i < 4096; i++) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(x) : "f"(a));
  long long t1 = clock64();
  double y = d;
#pragma unroll 128
  for (int i = 0; i < 4096; i++) asm volatile("fma.rn.f64 %0,%0,%1,%1;" : "+d"(y) : "d"(d));
  long long t2 = clock64();
  float z = a;
#pragma unroll 128
  for (int i = 0; i < 4096; i++) asm volatile("ex2.approx.ftz.f32 %0,%0;" : "+f"(z));
  long long t3 = clock64();
  int u = (int)a;
#pragma unroll 128
  for (int i = 0; i < 4096; i++) asm volatile("mad.lo.s32 %0,%0,%1,%1;" : "+r"(u) : "r"((int)a));
  long long t4 = clock64();
  unsigned h0 = 1, h1 = 2, h2 = 3, h3 = 4;
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
#pragma unroll 64
  for (int i = 0; i < 1024; i++)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(h0), "r"(h1), "r"(h2), "r"(h3), "r"(h0), "r"(h1));
  long long t5 = clock64();
  if (threadIdx.x == 0) {
    out[0] = t1 - t0;
    out[1] = t2 - t1;
    out[2] = t3 - t2;
    out[3] = t4 - t3;
    out[4] = t5 - t4;
  }
  if (x + y + z + u + c0 + c1 + c2 + c3 == 1.2345) out[5] = 1;
}
static float ms(cudaEvent_t a, cudaEvent_t b) {
  float m;
  cudaEventElapsedTime(&m, a, b);
  return m;
}
template <class F>
double best(F f, int rep = 7) {
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  f();
  double m = 1e30;
  for (int i = 0; i < rep; i++) {
    cudaEventRecord(a);
    f();
    cudaEventRecord(b);
    cudaEventSynchronize(b);
    m = std::min(m, (double)ms(a, b));
  }
  CK(cudaGetLastError());
  return m;
}
int main() {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  printf(
      "%s cc %d.%d sms %d mem %zu l2 %d smemSM %zu optin %zu reserved %zu blocks %d persistL2 %d\n",
      p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem, p.l2CacheSize,
      p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin, p.reservedSharedMemPerBlock,
      p.maxBlocksPerMultiProcessor, p.persistingL2CacheMaxSize);
  cudaFree(0);
  fflush(stdout);
  for (int i = 0; i < 4; i++) {
    sleep(2);
    fflush(stdout);
    int r = system(
        "nvidia-smi --query-gpu=power.draw,clocks.sm,clocks.mem,temperature.gpu "
        "--format=csv,noheader");
    (void)r;
  }
  // clusters
  CK(cudaFuncSetAttribute(kdyn, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CK(cudaFuncSetAttribute(kdyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
  for (int smem : {225000, 110000, 75000, 56000, 27000}) {
    printf("clusters smem %d:", smem);
    int B;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&B, kdyn, 128, smem);
    printf(" B=%d |", B);
    for (int c = 1; c <= 16; c++) {
      cudaLaunchConfig_t cfg = {};
      cfg.gridDim = dim3(c * 1024);
      cfg.blockDim = dim3(128);
      cfg.dynamicSmemBytes = smem;
      cudaLaunchAttribute at[1];
      at[0].id = cudaLaunchAttributeClusterDimension;
      at[0].val.clusterDim.x = c;
      at[0].val.clusterDim.y = 1;
      at[0].val.clusterDim.z = 1;
      cfg.attrs = at;
      cfg.numAttrs = 1;
      int n = -1;
      cudaError_t e = cudaOccupancyMaxActiveClusters(&n, kdyn, &cfg);
      printf(" %d:%d%s", c, n, e ? "!" : "");
      cudaGetLastError();
    }
    printf("\n");
  }
  // occupancy API against rules: printed as CSV
  cudaFuncAttributes fa;
  cudaFuncGetAttributes(&fa, kdyn);
  printf("kdyn regs %d static %zu\n", fa.numRegs, fa.sharedSizeBytes);
  FILE* f = fopen((std::string(getenv("OUT") ? getenv("OUT") : ".") + "/occ.csv").c_str(), "w");
  fprintf(f, "regs,threads,dynamic,carveout,blocks\n");
  for (int carve : {-1, 0, 5, 15, 28, 44, 50, 60, 75, 90, 100}) {
    CK(cudaFuncSetAttribute(kdyn, cudaFuncAttributePreferredSharedMemoryCarveout, carve));
    for (int t = 32; t <= 1024; t += 96)
      for (int d = 0; d <= 232448; d += 1777) {
        int B = -1;
        cudaError_t e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&B, kdyn, t, d);
        fprintf(f, "%d,%d,%d,%d,%d\n", fa.numRegs, t, d, carve, e ? -1 : B);
        cudaGetLastError();
      }
  }
  fclose(f);
  size_t N = 16ull << 30;
  char *a, *b;
  CK(cudaMalloc(&a, N));
  CK(cudaMalloc(&b, N));
  float* o;
  CK(cudaMalloc(&o, 64));
  CK(cudaMemset(a, 0, N));
  CK(cudaMemset(b, 0, N));
  int S = p.multiProcessorCount;
  for (int bl : {1, 2, 4, 8})
    for (int th : {256, 512, 1024})
      if (bl * th <= 2048) {
        double m = best([&] { readk<<<S * bl, th>>>((float4*)a, N / 16, o); }, 5);
        double c = best([&] { copyk<<<S * bl, th>>>((float4*)a, (float4*)b, N / 16); }, 5);
        printf("bl %d th %d read %.0f copy %.0f GB/s\n", bl, th, N / m / 1e6, 2.0 * N / c / 1e6);
      }
  {
    double m = best([&] { readk<<<N / 16 / 8 / 512, 512>>>((float4*)a, N / 16, o); }, 5);
    double c = best([&] { copyk<<<N / 16 / 4 / 512, 512>>>((float4*)a, (float4*)b, N / 16); }, 5);
    double w = best([&] { fillk<<<N / 16 / 512, 512>>>((float4*)a, N / 16); }, 5);
    double k = best([&] { cudaMemcpyAsync(b, a, N, cudaMemcpyDeviceToDevice); }, 5);
    printf("big grid read %.0f copy %.0f fill %.0f memcpyD2D %.0f GB/s\n", N / m / 1e6,
           2.0 * N / c / 1e6, N / w / 1e6, 2.0 * N / k / 1e6);
  }
  for (int mb : {4, 8, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96}) {
    size_t n = (size_t)mb << 20;
    int it = std::max(4, 2048 / mb);
    double m = best([&] { readl2<<<S * 2, 1024>>>((float4*)a, n / 16, o, it); }, 5);
    size_t per = (size_t)S * 2 * 1024 * 8;
    size_t got = n / 16 / per * per;
    (void)got;
    printf("L2 read %d MiB %.0f GB/s\n", mb, (double)n * it / m / 1e6);
  }
  // latency
  long long* lo;
  CK(cudaMallocManaged(&lo, 256));
  auto lat = [&](size_t bytes, int mode, const char* name) {
    size_t stride = 128, n = bytes / stride;
    std::vector<size_t> perm(n);
    for (size_t i = 0; i < n; i++) perm[i] = i;
    unsigned long long s = 1;
    for (size_t i = n - 1; i > 0; i--) {
      s = s * 6364136223846793005ull + 1442695040888963407ull;
      size_t j = (s >> 33) % i;
      std::swap(perm[i], perm[j]);
    }
    std::vector<size_t> h(bytes / 8, 0);
    for (size_t i = 0; i < n; i++) h[i * stride / 8] = (size_t)a + perm[i] * stride;
    CK(cudaMemcpy(a, h.data(), bytes, cudaMemcpyHostToDevice));
    int steps = (int)std::min<size_t>(n * 2, 400000);
    steps = std::max(steps, 20000);
    for (int r = 0; r < 2; r++) {
      if (mode == 0)
        chase<0><<<1, 1>>>((size_t*)a, steps, lo);
      else
        chase<1><<<1, 1>>>((size_t*)a, steps, lo);
      CK(cudaDeviceSynchronize());
    }
    printf("latency %s %zu KiB: %.1f cycles\n", name, bytes >> 10, (double)lo[0] / steps);
  };
  lat(16 << 10, 0, "L1");
  lat(64 << 10, 0, "L1");
  lat(128 << 10, 0, "L1");
  lat(2 << 20, 1, "L2");
  lat(8 << 20, 1, "L2");
  lat(16 << 20, 1, "L2");
  lat(24 << 20, 1, "L2");
  lat(29 << 20, 1, "L2");
  lat(40 << 20, 1, "L2");
  lat(48 << 20, 1, "L2");
  lat(75 << 20, 1, "mix");
  lat(256 << 20, 1, "DRAM");
  lat(1024ull << 20, 1, "DRAM");
  smemchase<<<1, 32>>>(100000, lo);
  cudaDeviceSynchronize();
  printf("latency shared %.1f\n", lo[0] / 1e5);
  alu<<<1, 32>>>(1.0f, 1.0, lo);
  CK(cudaDeviceSynchronize());
  alu<<<1, 32>>>(1.0f, 1.0, lo);
  CK(cudaDeviceSynchronize());
  printf("latency ffma %.2f dfma %.2f ex2 %.2f imad %.2f hmma16816 %.2f\n", lo[0] / 4096.0,
         lo[1] / 4096.0, lo[2] / 4096.0, lo[3] / 4096.0, lo[4] / 1024.0);
  // pcie
  void* h;
  size_t H = 2ull << 30;
  CK(cudaMallocHost(&h, H));
  double u = best([&] { cudaMemcpyAsync(a, h, H, cudaMemcpyHostToDevice); }, 4),
         d = best([&] { cudaMemcpyAsync(h, a, H, cudaMemcpyDeviceToHost); }, 4);
  printf("pcie h2d %.1f d2h %.1f GB/s\n", H / u / 1e6, H / d / 1e6);
  // periods
  cudaStream_t st;
  cudaStreamCreate(&st);
  int K = 2000;
  kempty<<<1, 32, 0, st>>>();
  cudaStreamSynchronize(st);
  cudaEvent_t e0, e1;
  cudaEventCreate(&e0);
  cudaEventCreate(&e1);
  double bs = 1e9;
  for (int r = 0; r < 5; r++) {
    cudaEventRecord(e0, st);
    for (int i = 0; i < K; i++) kempty<<<1, 32, 0, st>>>();
    cudaEventRecord(e1, st);
    cudaStreamSynchronize(st);
    bs = std::min(bs, (double)ms(e0, e1));
  }
  printf("stream period %.3f us\n", bs * 1e3 / K);
  cudaGraph_t g;
  cudaGraphExec_t ge;
  cudaStreamBeginCapture(st, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < K; i++) kempty<<<1, 32, 0, st>>>();
  cudaStreamEndCapture(st, &g);
  CK(cudaGraphInstantiate(&ge, g, 0));
  cudaGraphLaunch(ge, st);
  cudaStreamSynchronize(st);
  bs = 1e9;
  for (int r = 0; r < 5; r++) {
    cudaEventRecord(e0, st);
    cudaGraphLaunch(ge, st);
    cudaEventRecord(e1, st);
    cudaStreamSynchronize(st);
    bs = std::min(bs, (double)ms(e0, e1));
  }
  printf("graph period %.3f us\n", bs * 1e3 / K);
  fflush(stdout);
  for (int i = 0; i < 5; i++) {
    sleep(2);
    int r = system(
        "nvidia-smi --query-gpu=power.draw,clocks.sm,clocks.mem,temperature.gpu "
        "--format=csv,noheader");
    (void)r;
  }
  return 0;
}
