#include "validation/fits/energy/accelwattch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/energy/regression.h"
#include "sim/core/error.h"
#include "sim/core/text/csv_rows.h"

namespace tandem {

namespace {

constexpr double clock_hz = 1132e6;  // locked for these measurements
constexpr double sms = 80;

/// Part of a name in hw_perf.csv (kernel, or program for cutlass), its program and the power's row.
struct Join {
  const char* part;
  const char* program;
  const char* power;
};
constexpr std::array<Join, 25> joins{
    {{"findRangeK", "btree", "btree_k1"},
     {"findK", "btree", "btree_k2"},
     {"layerforward", "backprop", "backprop_k1"},
     {"adjust_weights", "backprop", "backprop_k2"},
     {"calculate_temp", "hotspot", "hotspot_k1"},
     {"kmeansPoint", "kmeans", "kmeans_k1"},
     {"Z4srad", "srad", "srad_v1_k1"},
     {"mb_sad", "sad", "parboil_sad_k1"},
     {"mysgemm", "sgemm", "parboil_sgemm_k1"},
     {"ComputeQ", "mriq", "parboil_mriq_k1"},
     {"CUDAkernel1DCT", "dct8x8", "dct8x8_k1"},
     {"CUDAkernel2DCT", "dct8x8", "dct8x8_k2"},
     {"binomialOptionsKernel", "binomialOptions", "binomialOptions_k1"},
     {"fwtBatch2", "fastWalshTransform", "fastWalshTransform_k1"},
     {"fwtBatch1", "fastWalshTransform", "fastWalshTransform_k2"},
     {"histogram64", "histogram", "histogram_k1"},
     {"mergeSortShared", "mergeSort", "mergeSort_k1"},
     {"mergeElementary", "mergeSort", "mergeSort_k2"},
     {"quasirandomGeneratorKernel", "quasirandomGenerator", "quasirandomGenerator_k1"},
     {"inverseCND", "quasirandomGenerator", "quasirandomGenerator_k2"},
     {"sobolGPU", "sobolQRNG", "sobolQRNG_k1"},
     {"cutlass_perf_test_k1", "cutlass", "cutlass_k1"},
     {"cutlass_perf_test_k2", "cutlass", "cutlass_k2"},
     {"cutlass_perf_test_k3", "cutlass", "cutlass_k3"},
     {"compute_gemm", "cudaTensorCoreGemm", "cudaTensorCoreGemm_k1"}}};

MeasuredKernel read_kernel(const CsvRow& row) {
  MeasuredKernel k;
  k.seconds = row.number("Elapsed_Cycles") / clock_hz;
  k.sm_share = 1 - row.number("Num_Idle_SMs") / sms;
  k.duty = row.number("Pipeline_Duty");
  k.accesses = {row.number("SHRD_ACC"), row.number("L1_RH") + row.number("L1_WH"),
                row.number("L2_RH") + row.number("L2_WH"),
                row.number("DRAM_Rd") + row.number("DRAM_Wr")};
  return k;
}

/// In units that give W, for PowerConstants.
std::vector<double> rates(const MeasuredKernel& k) {
  const double pj = 1e-12 / k.seconds;
  return {1,
          k.sm_share,
          k.duty,
          k.accesses.dram * pj,
          k.accesses.l2 * pj,
          k.accesses.l1 * pj,
          k.accesses.shared * pj};
}

Equation prior(PowerTerm term, double value, const PowerFit& fit) {
  Equation e{std::vector<double>(power_term_names.size(), 0.0), 1, 0};
  e.row[static_cast<std::size_t>(term)] = 1 / value;
  e.weight = std::pow(fit.kernel_sd / fit.prior_sd, 2);
  return e;
}

}  // namespace

std::vector<MeasuredKernel> read_accelwattch(const std::string& folder) {
  const std::vector<CsvRow> powers = read_csv(folder + "/hw_power_validation_volta.csv");
  std::vector<MeasuredKernel> kernels;
  for (const CsvRow& row : read_csv(folder + "/hw_perf.csv")) {
    const std::string name = fmt::format("{} {}", row.text("Benchmark"), row.text("Kernel"));
    for (const Join& join : joins) {
      if (name.find(join.part) == std::string::npos) continue;
      for (const CsvRow& power : powers) {
        if (power.text("") != join.power) continue;
        MeasuredKernel k = read_kernel(row);
        k.program = join.program;
        k.name = join.power;
        k.power_w = power.number("mean HW_power");
        if (k.seconds > 0 && k.power_w > 0) kernels.push_back(std::move(k));
      }
      break;
    }
  }
  if (kernels.empty()) {
    throw InputError(folder, "", "no kernel with power", "AccelWattch's two tables");
  }
  return kernels;
}

double predicted_w(const PowerConstants& constants, const MeasuredKernel& kernel) {
  const std::vector<double> r = rates(kernel);
  double watt = 0;
  for (std::size_t i = 0; i < r.size(); ++i) watt += constants[i] * r[i];
  return watt;
}

PowerConstants fit_power(std::span<const MeasuredKernel> kernels, const PowerFit& fit) {
  std::vector<Equation> equations;
  for (const MeasuredKernel& k : kernels) {
    Equation e{rates(k), 1, 1};
    for (double& r : e.row) r /= k.power_w;
    equations.push_back(std::move(e));
  }
  equations.push_back(prior(PowerTerm::dram, fit.priors.dram_pj_per_sector, fit));
  equations.push_back(prior(PowerTerm::l2, fit.priors.l2_pj_per_sector, fit));
  equations.push_back(prior(PowerTerm::l1, fit.priors.l1_pj_per_sector, fit));
  equations.push_back(prior(PowerTerm::shared, fit.priors.shared_pj_per_sector, fit));
  const Coefficients c = solve_nonnegative(equations);
  PowerConstants out{};
  std::copy(c.value.begin(), c.value.end(), out.begin());
  return out;
}

std::vector<double> left_out_w(std::span<const MeasuredKernel> kernels, const PowerFit& fit,
                               const SameGroup& together) {
  std::vector<double> watt;
  for (const MeasuredKernel& left : kernels) {
    std::vector<MeasuredKernel> others;
    for (const MeasuredKernel& k : kernels) {
      if (!together(k, left)) others.push_back(k);
    }
    watt.push_back(predicted_w(fit_power(others, fit), left));
  }
  return watt;
}

PowerScore power_score(std::span<const MeasuredKernel> kernels, std::span<const double> watt) {
  PowerScore score;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double error = watt[i] / kernels[i].power_w - 1;
    score.mean += std::abs(error) / static_cast<double>(kernels.size());
    if (std::abs(error) <= std::abs(score.worst)) continue;
    score.worst = error;
    score.worst_kernel = kernels[i].name;
  }
  return score;
}

}  // namespace tandem
