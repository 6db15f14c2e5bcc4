// What the configs of GPUs come to, beside what their data sheets state.
#include <gtest/gtest.h>

#include "models/arch/gpu_arch.h"
#include "models/arch/gpu_config.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// Dense peaks in TFLOP/s with FP32 sums, and DRAM in GB/s. `tensor_mhz`: the clock that the data
/// sheet takes for its tensor peaks, the boost clock unless it says otherwise.
struct DataSheet {
  const char* gpu;
  double fp32, tf32, fp16, gbps, tensor_mhz, watts;
};
constexpr DataSheet sheets[] = {
    {"v100_sxm2_16gb", 15.7, 0, 125, 900, 1530, 300},
    {"a100_sxm4_40gb", 19.5, 156, 312, 1555, 1410, 400},
    {"a100_sxm4_80gb", 19.5, 156, 312, 2039, 1410, 400},
    {"h100_sxm5", 67, 494.7, 989.4, 3350, 1830, 700},
    {"h100_pcie", 51.2, 378, 756, 2000, 1620, 350},
    {"h100_nvl", 60, 417.5, 835.5, 3900, 1545, 400},
    {"h200_sxm", 67, 494.7, 989.4, 4800, 1830, 700},
    {"a10", 31.2, 62.5, 125, 600, 1695, 150},
    {"rtx_a6000", 38.7, 77.4, 154.8, 768, 1800, 300},
    {"l4", 30.3, 60, 121, 300, 2040, 72},
    {"l40s", 91.6, 183, 362.05, 864, 2520, 350},
    {"rtx_4090", 82.6, 82.6, 165.2, 1008, 2520, 450},
    {"b200_sxm", 75, 1125, 2250, 8000, 1856, 1000},
};

TEST(DataSheets, PeaksComeOutWithinTwoPercent) {
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  int compared = 0;
  for (const DataSheet& sheet : sheets) {
    SCOPED_TRACE(sheet.gpu);
    const GpuArch& gpu = find_gpu(gpus, sheet.gpu);
    const auto near = [&](double found, double stated) {
      EXPECT_NEAR(found, stated, 0.02 * stated);
      ++compared;
    };
    near(fp32_peak_tflops(gpu, gpu.boost_clock_mhz), sheet.fp32);
    near(tensor_peak_tflops(gpu, MathType::tf32, sheet.tensor_mhz), sheet.tf32);
    near(tensor_peak_tflops(gpu, MathType::fp16, sheet.tensor_mhz), sheet.fp16);
    near(gpu.dram_peak_gbps, sheet.gbps);
    EXPECT_EQ(gpu.tdp_w, sheet.watts);
    EXPECT_LE(sheet.tensor_mhz, gpu.boost_clock_mhz);
  }
  EXPECT_EQ(compared, 4 * 13);
}

TEST(DataSheets, EveryGpuHasAShortName) {
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  for (const auto& [text, name] :
       std::vector<std::pair<const char*, const char*>>{{"v100", "v100_sxm2_16gb"},
                                                        {"a100", "a100_sxm4_80gb"},
                                                        {"h100", "h100_sxm5"},
                                                        {"H200", "h200_sxm"},
                                                        {"b200", "b200_sxm"},
                                                        {"A10", "a10"},
                                                        {"L4", "l4"},
                                                        {"L40S", "l40s"},
                                                        {"rtx4090", "rtx_4090"},
                                                        {"a6000", "rtx_a6000"},
                                                        {"H100 PCIe", "h100_pcie"},
                                                        {"H100 NVL", "h100_nvl"}}) {
    EXPECT_EQ(find_gpu(gpus, text).name, name);
  }
}

}  // namespace
}  // namespace tandem
