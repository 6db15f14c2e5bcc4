// Kernels on a Quadro GV100 with measured power (AccelWattch, MICRO'21) against the two energy
// forms, as far as their counts allow: no instructions and no FLOP are known, so only what the
// trace model takes from static power, active SMs and DRAM traffic is compared.
//   energy_accelwattch --data DIR [--configs DIR]
// DIR holds hw_perf.csv and hw_power_validation_volta.csv. The static and SM constants of the V100
// come from these kernels: a table of what the model lacks, no score.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "models/energy/csv_rows.h"
#include "models/energy/energy_config.h"
#include "sim/core/error.h"

namespace tandem {
namespace {

constexpr double clock_hz = 1132e6;  // locked for these measurements
constexpr double sms = 80;
constexpr double sector_bytes = 32;

/// Part of a name in hw_perf.csv (kernel, or program for cutlass) and the power's row.
struct Join {
  const char* part;
  const char* power;
};
constexpr std::array<Join, 25> joins{{{"findRangeK", "btree_k1"},
                                      {"findK", "btree_k2"},
                                      {"layerforward", "backprop_k1"},
                                      {"adjust_weights", "backprop_k2"},
                                      {"calculate_temp", "hotspot_k1"},
                                      {"kmeansPoint", "kmeans_k1"},
                                      {"Z4srad", "srad_v1_k1"},
                                      {"mb_sad", "parboil_sad_k1"},
                                      {"mysgemm", "parboil_sgemm_k1"},
                                      {"ComputeQ", "parboil_mriq_k1"},
                                      {"CUDAkernel1DCT", "dct8x8_k1"},
                                      {"CUDAkernel2DCT", "dct8x8_k2"},
                                      {"binomialOptionsKernel", "binomialOptions_k1"},
                                      {"fwtBatch2", "fastWalshTransform_k1"},
                                      {"fwtBatch1", "fastWalshTransform_k2"},
                                      {"histogram64", "histogram_k1"},
                                      {"mergeSortShared", "mergeSort_k1"},
                                      {"mergeElementary", "mergeSort_k2"},
                                      {"quasirandomGeneratorKernel", "quasirandomGenerator_k1"},
                                      {"inverseCND", "quasirandomGenerator_k2"},
                                      {"sobolGPU", "sobolQRNG_k1"},
                                      {"cutlass_perf_test_k1", "cutlass_k1"},
                                      {"cutlass_perf_test_k2", "cutlass_k2"},
                                      {"cutlass_perf_test_k3", "cutlass_k3"},
                                      {"compute_gemm", "cudaTensorCoreGemm_k1"}}};

/// Measured power by the row's name; 0: not measured.
double measured_w(const std::vector<CsvRow>& powers, const std::string& kernel) {
  for (const Join& join : joins) {
    if (kernel.find(join.part) == std::string::npos) continue;
    for (const CsvRow& row : powers) {
      if (row.text("") == join.power) return row.number("mean HW_power");
    }
  }
  return 0;
}

void run(const std::string& data, const std::string& configs) {
  const EnergyConfig config = *load_energy(configs + "/gpus/v100_sxm2_16gb.json");
  const std::vector<CsvRow> powers = read_csv(data + "/hw_power_validation_volta.csv");
  double sum = 0, worst = 0;
  int kernels = 0, contradictions = 0;
  fmt::print("{:>8} {:>8} {:>7} {:>8} {:>8}  kernel\n", "measured", "model", "error", "dynamic",
             "bound");
  for (const CsvRow& row : read_csv(data + "/hw_perf.csv")) {
    const std::string name = row.text("Benchmark") + " " + row.text("Kernel");
    const double watt = measured_w(powers, name);
    if (!(watt > 0)) continue;
    const double seconds = row.number("Elapsed_Cycles") / clock_hz;
    EnergyWork work;
    work.duration_us = seconds * 1e6;
    work.sm_active_us = work.duration_us * (sms - row.number("Num_Idle_SMs"));
    const double dram = row.number("DRAM_Rd") + row.number("DRAM_Wr");
    work.dram_bytes = dram * sector_bytes;
    const double model = config.trace.static_w + total_j(work_energy(config.trace, work)) / seconds;
    const MemoryAccesses accesses{row.number("SHRD_ACC"), row.number("L1_RH") + row.number("L1_WH"),
                                  row.number("L2_RH") + row.number("L2_WH"), dram};
    const double bound = data_movement_lower_bound(config.access, accesses).total_j / seconds;
    const double dynamic = watt - config.trace.static_w;
    fmt::print("{:8.0f} {:8.0f} {:+6.0f}% {:8.0f} {:8.0f}  {:.50}\n", watt, model,
               100 * (model / watt - 1), dynamic, bound, name);
    sum += std::abs(model / watt - 1);
    worst = std::max(worst, std::abs(model / watt - 1));
    contradictions += bound > dynamic;
    ++kernels;
  }
  if (kernels == 0) throw InputError(data, "", "no kernel with power", "AccelWattch's two tables");
  fmt::print(
      "\n{} kernels: mean error {:.1f} %, worst {:.0f} %; the bound of data movement exceeds "
      "the dynamic power of {}\n",
      kernels, 100 * sum / kernels, 100 * worst, contradictions);
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  std::string data, configs = "configs";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--data") data = argv[i + 1];
    if (std::string(argv[i]) == "--configs") configs = argv[i + 1];
  }
  if (data.empty()) {
    throw tandem::InputError("command line", "--data", "nothing", "--data DIR [--configs DIR]");
  }
  tandem::run(data, configs);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "energy_accelwattch: %s\n", e.what());
  return 2;
}
