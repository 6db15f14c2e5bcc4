// Kernels on a Quadro GV100 with measured power (AccelWattch, MICRO'21), and how well a linear
// power model does on kernels that its constants do not come from.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/energy/energy_model.h"

namespace tandem {

/// What the tables tell of a kernel; they hold no FLOP and no instructions by kind.
struct MeasuredKernel {
  std::string program;  // kernels of one program are alike: left out together
  std::string name;
  double power_w = 0;
  double seconds = 0;
  double sm_share = 0;  // SMs that hold a block
  double duty = 0;      // of the pipelines, mean over all SMs
  MemoryAccesses accesses;
};
/// hw_perf.csv joined with hw_power_validation_volta.csv. Errors: InputError, also if none joins.
std::vector<MeasuredKernel> read_accelwattch(const std::string& folder);

/// Power = sum of constant x rate. The first three have no prior.
enum class PowerTerm : std::uint8_t { constant, sms, duty, dram, l2, l1, shared };
inline constexpr std::array<std::string_view, 7> power_term_names{
    "constant W", "SMs W", "duty W", "DRAM pJ", "L2 pJ", "L1 pJ", "shared pJ"};
using PowerConstants = std::array<double, power_term_names.size()>;

double predicted_w(const PowerConstants& constants, const MeasuredKernel& kernel);

/// Least squares on relative errors, no constant negative. `priors`: energies per access of another
/// GPU that was calibrated, held with `prior_sd` against `kernel_sd`, the error of one kernel.
struct PowerFit {
  AccessEnergies priors;
  double prior_sd = 0.3;
  double kernel_sd = 0.12;
};
PowerConstants fit_power(std::span<const MeasuredKernel> kernels, const PowerFit& fit);

/// Predicted power of each kernel, from the constants of those that `together` does not put in a
/// group with it.
using SameGroup = std::function<bool(const MeasuredKernel&, const MeasuredKernel&)>;
std::vector<double> left_out_w(std::span<const MeasuredKernel> kernels, const PowerFit& fit,
                               const SameGroup& together);

struct PowerScore {
  double mean = 0;   // of the absolute relative error
  double worst = 0;  // signed
  std::string worst_kernel;
};
PowerScore power_score(std::span<const MeasuredKernel> kernels, std::span<const double> watt);

}  // namespace tandem
