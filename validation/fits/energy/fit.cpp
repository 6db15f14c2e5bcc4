#include "validation/fits/energy/fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/energy/regression.h"
#include "sim/core/fields/field.h"

namespace tandem {

namespace {

constexpr std::size_t constants = TraceEnergyModel::fitted;
/// Standard deviation of power x window time; see reference measurements in the README.
constexpr double measurement_sd = 0.03;
constexpr double robust_limit = 0.04;
/// A class needs this many kernels with shapes for a rate of its own.
constexpr int least_kernels = 20;

std::array<double TraceEnergyModel::*, constants> members() {
  const auto all = trace_energy_members();
  return {all[0], all[1], all[2], all[3], all[4], all[5]};
}

/// Energy of a capture is linear in the constants; the coefficients, by setting one constant to 1.
std::vector<double> linear_parts(const Capture& capture, const CostConstants& costs,
                                 const WorkRules& rules) {
  TraceEnergyModel ones;
  for (const auto member : members()) ones.*member = 1;
  const EnergyBreakdown p = predict(capture, ones, costs, rules).parts;
  return {p.static_j, p.other_j, p.dram_j, p.tensor_j, p.compute_j, p.instructions_j};
}

std::vector<Equation> equations_of(std::span<const Capture* const> captures,
                                   const CostConstants& costs, const WorkRules& rules,
                                   std::span<const Prior> priors) {
  std::vector<Equation> equations;
  for (const Capture* capture : captures) {
    Equation e{linear_parts(*capture, costs, rules), 1, 1};
    for (double& part : e.row) part /= capture->energy_j();
    equations.push_back(std::move(e));
  }
  for (std::size_t i = 0; i < priors.size(); ++i) {
    Equation e{std::vector<double>(constants, 0.0), 0, 1};
    e.row[i] = measurement_sd / priors[i].sd;
    e.target = priors[i].value * e.row[i];
    equations.push_back(std::move(e));
  }
  return equations;
}

struct RateSum {
  StatedWork stated, peak;
  int kernels = 0;
};

void add(RateSum& sum, const StatedWork& stated, const StatedWork& peak) {
  sum.stated.dram_bytes += stated.dram_bytes;
  sum.stated.flop += stated.flop;
  sum.peak.dram_bytes += peak.dram_bytes;
  sum.peak.flop += peak.flop;
  sum.kernels += 1;
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

/// Shares of the peaks; tiny kernels may state more than the peak of their few SMs.
TypicalRate rate_of(const RateClass& of, const RateSum& sum) {
  return {of, std::min(1.0, ratio(sum.stated.dram_bytes, sum.peak.dram_bytes)),
          std::min(1.0, ratio(sum.stated.flop, sum.peak.flop))};
}

std::string class_key(const RateClass& c) {
  return std::string(to_string(c.family)) +
         (c.tensor   ? "/tensor"
          : c.helper ? "/helper"
                     : "/pipes") +
         (c.bits == 16 ? "/16" : "/32");
}

}  // namespace

std::vector<Prior> load_priors(const std::string& path) {
  TraceEnergyModel model;
  const Json json = read_json_file(path);
  const auto all = trace_energy_fields();
  const std::span<const Field<TraceEnergyModel>> fields(all.data(), constants);
  const Place place{path, ""};
  const auto seen = read_sourced_fields(json, place, fields, model, model.origins);
  std::vector<Prior> priors;
  for (std::size_t i = 0; i < constants; ++i) {
    if (!seen[i] || !(model.origins[i].uncertainty > 0)) {
      place.fail("no \"" + fields[i].name + "\" with an uncertainty",
                 "all of: " + known_names(fields));
    }
    const double value = model.*members()[i];
    priors.push_back({value, value * model.origins[i].uncertainty});
  }
  return priors;
}

void fit_rates(std::span<const Capture* const> captures, WorkRules& rules) {
  std::vector<std::pair<RateClass, RateSum>> sums;
  RateSum all;
  for (const Capture* c : captures) {
    for (const auto& step : c->steps) {
      for (const std::uint32_t a : step) {
        const KernelLaunch launch = c->launches->launch(a);
        if (!launch.work.exact || launch.family == KernelFamily::transfer) continue;
        const RateClass of = rate_class(launch);
        auto it = std::find_if(sums.begin(), sums.end(), [&](auto& s) { return s.first == of; });
        if (it == sums.end()) it = sums.insert(sums.end(), {of, {}});
        const double us = launch.duration_us;
        const StatedWork stated = stated_work(launch, *c->gpu, rules, us);
        const StatedWork peak = peak_work(launch, *c->gpu, rules, us);
        add(it->second, stated, peak);
        add(all, stated, peak);
      }
    }
  }
  rules.rates.clear();
  for (const auto& [of, sum] : sums) {
    if (sum.kernels >= least_kernels) rules.rates.push_back(rate_of(of, sum));
  }
  std::sort(rules.rates.begin(), rules.rates.end(),
            [](auto& a, auto& b) { return class_key(a.of) < class_key(b.of); });
  const TypicalRate other = rate_of({}, all);
  rules.other_dram_share = other.dram_share;
  rules.other_flop_share = other.flop_share;
}

TraceEnergyModel fit_trace_energy(std::span<const Capture* const> captures,
                                  const CostConstants& costs, const WorkRules& rules,
                                  std::span<const Prior> priors) {
  const Coefficients fit =
      solve_robust(equations_of(captures, costs, rules, priors), robust_limit, priors.size());
  TraceEnergyModel model;
  model.origins.resize(trace_energy_fields().size());
  for (std::size_t i = 0; i < constants; ++i) {
    model.*members()[i] = fit.value[i];
    model.origins[i].uncertainty = ratio(fit.sd[i], fit.value[i]);
    for (std::size_t j = 0; j < constants; ++j) {
      const double scale = fit.sd[i] * fit.sd[j];
      model.correlation[i][j] =
          i == j ? 1 : std::clamp(ratio(fit.covariance[i][j], scale), -1.0, 1.0);
    }
  }
  return model;
}

std::vector<double> leave_one_model_out(const std::vector<Capture>& captures,
                                        const CostConstants& costs, WorkRules rules,
                                        std::span<const Prior> priors) {
  std::set<std::string> models;
  for (const Capture& c : captures) models.insert(c.model);
  std::vector<double> errors(captures.size(), 0.0);
  for (const std::string& left_out : models) {
    std::vector<const Capture*> others;
    for (const Capture& c : captures) {
      if (c.model != left_out) others.push_back(&c);
    }
    fit_rates(others, rules);
    const TraceEnergyModel model = fit_trace_energy(others, costs, rules, priors);
    for (std::size_t i = 0; i < captures.size(); ++i) {
      if (captures[i].model != left_out) continue;
      errors[i] = predict(captures[i], model, costs, rules).energy_j / captures[i].energy_j() - 1;
    }
  }
  return errors;
}

}  // namespace tandem
