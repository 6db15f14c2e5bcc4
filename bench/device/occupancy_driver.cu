// Writes what the CUDA driver of this machine says about occupancy, for models/arch/occupancy:
//
//   nvcc -arch=native bench/device/occupancy_driver.cu -o occupancy_driver
//   ./occupancy_driver > tests/golden/occupancy/driver_h200.csv
//
// Rows with cluster 0: blocks an SM holds. Rows with cluster > 0: clusters the GPU holds, which
// depends on the board's SM layout (cluster_group_sms of its config).
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

extern __shared__ int dynamic_shared[];

__global__ void kernel(int* out) {
  dynamic_shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (out != nullptr) *out = dynamic_shared[0];
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

void write_blocks(int registers, int largest_shared) {
  for (const int carveout : {-1, 0, 5, 15, 28, 44, 50, 60, 75, 90, 100}) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout),
          "carve-out");
    for (int threads = 32; threads <= 1024; threads += 96) {
      for (int shared = 0; shared <= largest_shared; shared += 12007) {
        int blocks = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared),
              "occupancy");
        std::printf("%d,%d,%d,%d,0,%d\n", threads, registers, shared, carveout, blocks);
      }
    }
  }
}

void write_clusters(int registers) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, -1),
        "carve-out");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cluster");
  for (const int shared : {225000, 110000, 75000, 56000, 27000}) {
    for (unsigned size = 1; size <= 16; ++size) {
      cudaLaunchAttribute attribute = {};
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {size, 1, 1};
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3(size * 1024);
      config.blockDim = dim3(128);
      config.dynamicSmemBytes = shared;
      config.attrs = &attribute;
      config.numAttrs = 1;
      int clusters = 0;
      check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), "clusters");
      std::printf("128,%d,%d,-1,%u,%d\n", registers, shared, size, clusters);
    }
  }
}

}  // namespace

int main() {
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "device");
  const int largest_shared = static_cast<int>(device.sharedMemPerBlockOptin);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, largest_shared),
        "opt-in");
  cudaFuncAttributes function;
  check(cudaFuncGetAttributes(&function, kernel), "function");
  std::printf("threads,registers,dynamic,carveout,cluster,count\n");
  write_blocks(function.numRegs, largest_shared);
  if (device.major >= 9) write_clusters(function.numRegs);
  return 0;
}
