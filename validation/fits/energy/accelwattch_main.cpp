// Power of AccelWattch's kernels on a Quadro GV100, each predicted from the others.
//   energy_accelwattch --data DIR [--configs DIR]
// DIR holds hw_perf.csv and hw_power_validation_volta.csv. `shipped` is what the V100's config says
// of static power, SMs and DRAM; its constants come from these kernels and are no score.
#include <fmt/format.h>

#include <cstdio>

#include "models/energy/energy_config.h"
#include "sim/core/error.h"
#include "validation/fits/energy/accelwattch.h"

namespace tandem {
namespace {

EnergyConfig energy_of(const std::string& configs, const std::string& gpu) {
  return load_energy(configs + "/gpus/" + gpu + ".json").value();
}

bool same_kernel(const MeasuredKernel& a, const MeasuredKernel& b) { return a.name == b.name; }
bool same_program(const MeasuredKernel& a, const MeasuredKernel& b) {
  return a.program == b.program;
}

constexpr double sms_of_board = 80;

double shipped_w(const TraceEnergyModel& model, const MeasuredKernel& k) {
  EnergyWork work;
  work.duration_us = k.seconds * 1e6;
  work.sm_active_us = work.duration_us * k.sm_share * sms_of_board;
  work.dram_bytes = k.accesses.dram * 32;
  return model.static_w + total_j(work_energy(model, work)) / k.seconds;
}

void print_score(const char* what, std::span<const MeasuredKernel> kernels,
                 std::span<const double> watt) {
  const PowerScore s = power_score(kernels, watt);
  fmt::print("{:42} mean {:4.1f} %, worst {:+.0f} % ({})\n", what, 100 * s.mean, 100 * s.worst,
             s.worst_kernel);
}

void print_table(std::span<const MeasuredKernel> kernels, const EnergyConfig& volta,
                 std::span<const std::vector<double>> columns) {
  fmt::print("{:>8} {:>8} {:>11} {:>12} {:>8}  kernel\n", "measured", "shipped", "kernel out",
             "program out", "bound");
  int contradictions = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const MeasuredKernel& k = kernels[i];
    const double bound = data_movement_lower_bound(volta.access, k.accesses).total_j / k.seconds;
    contradictions += bound > k.power_w - volta.trace.static_w;
    fmt::print("{:8.0f} {:8.0f} {:11.0f} {:12.0f} {:8.0f}  {}\n", k.power_w, columns[0][i],
               columns[1][i], columns[2][i], bound, k.name);
  }
  fmt::print("the bound of data movement exceeds the dynamic power of {} kernels\n\n",
             contradictions);
}

void run(const std::string& data, const std::string& configs) {
  const std::vector<MeasuredKernel> kernels = read_accelwattch(data);
  const EnergyConfig volta = energy_of(configs, "v100_sxm2_16gb");
  const PowerFit fit{energy_of(configs, "a100_sxm4_80gb").access};
  std::vector<double> shipped;
  for (const MeasuredKernel& k : kernels) shipped.push_back(shipped_w(volta.trace, k));
  const std::vector<double> kernel_out = left_out_w(kernels, fit, same_kernel);
  const std::vector<double> program_out = left_out_w(kernels, fit, same_program);
  const std::vector<double> columns[] = {shipped, kernel_out, program_out};
  print_table(kernels, volta, columns);

  fmt::print("{} kernels, of all:", kernels.size());
  const PowerConstants all = fit_power(kernels, fit);
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print("{} {} {:.0f}", i == 0 ? "" : ",", power_term_names[i], all[i]);
  }
  fmt::print("\n");
  std::vector<MeasuredKernel> still = kernels, blank = kernels;
  for (MeasuredKernel& k : still) k.accesses = {};
  for (MeasuredKernel& k : blank) k.accesses = {}, k.sm_share = 0, k.duty = 0;
  print_score("shipped constants (of these kernels)", kernels, shipped);
  print_score("each kernel from the others", kernels, kernel_out);
  print_score("each program from the others", kernels, program_out);
  print_score("  the same without data movement", kernels, left_out_w(still, fit, same_program));
  print_score("  the same, one power for all", kernels, left_out_w(blank, fit, same_program));
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
