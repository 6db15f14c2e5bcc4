#include "sim/predict/result.h"

#include <array>

#include "sim/core/bounds/limits.h"

namespace tandem {

Result::Result() = default;
Result::Result(const Result&) = default;
Result::Result(Result&&) noexcept = default;
Result& Result::operator=(const Result&) = default;
Result& Result::operator=(Result&&) noexcept = default;
Result::~Result() = default;

std::string_view mode_text(Mode mode, bool compiled) {
  return mode == Mode::as_traced && compiled ? jit_alias : to_string(mode);
}

std::string_view ScenarioSummary::mode_name() const { return mode_text(mode, compiled); }

std::optional<std::int64_t> ScenarioSummary::items() const {
  return batch ? std::optional(limits::product(*batch, passes)) : std::nullopt;
}

std::string batch_text(const std::optional<std::int64_t>& batch, std::int64_t passes) {
  std::string text = batch ? std::to_string(*batch) : "unknown";
  if (passes > 1) text.append(", ").append(std::to_string(passes)).append(" passes a step");
  return text;
}

namespace {
constexpr double us_per_hour = 3.6e9;
constexpr double joules_per_kwh = 3.6e6;

using E = EnergySummary;
constexpr std::array<EnergyInfo, 14> energies{{
    {"static_j", "J", "board power with nothing running x time of the step", &E::static_j},
    {"dram_j", "J", "DRAM", &E::dram_j},
    {"l2_j", "J", "L2", &E::l2_j},
    {"l1_j", "J", "L1", &E::l1_j},
    {"shared_j", "J", "shared memory", &E::shared_j},
    {"compute_j", "J", "FP32 pipes", &E::compute_j},
    {"tensor_j", "J", "tensor cores", &E::tensor_j},
    {"instructions_j", "J", "warp instructions that are no multiplications", &E::instructions_j},
    {"other_j", "J", "SMs that hold blocks: clocks, schedulers", &E::other_j},
    {"error_j", "J", "standard deviation of the sum", &E::error_j},
    {"estimated_share", "ratio", "of the dynamic energy, from kernels without shapes",
     &E::estimated_share},
    {"power_limited_share", "ratio", "of the step, lost to the clock that the power limit allows",
     &E::power_limited_share},
    {"lower_bound_data_movement_j", "J",
     "least energy of the data movement (thesis equation 5.3); no part of the sum",
     &E::lower_bound_data_movement_j},
    {"lower_bound_error_j", "J", "standard deviation of that", &E::lower_bound_error_j},
}};
}  // namespace

std::span<const EnergyInfo> energy_infos() { return energies; }

JobCost job_cost(const JobRequest& job, double step_us, double batch, int gpus,
                 std::optional<double> energy_j) {
  const double steps = job.samples / (batch * gpus);
  JobCost cost{job, gpus, steps * step_us / us_per_hour, {}, {}};
  if (energy_j) cost.kwh = steps * gpus * *energy_j / joules_per_kwh;
  if (job.price_per_gpu_hour > 0) cost.price = cost.hours * gpus * job.price_per_gpu_hour;
  return cost;
}

}  // namespace tandem
