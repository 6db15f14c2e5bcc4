#include "sim/predict/bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "models/whatif/transform.h"
#include "sim/core/fields/constants.h"
#include "sim/core/named.h"

namespace tandem {

namespace {

constexpr std::string_view host_bases[] = {"trace",    "measured_step", "kept",
                                           "executor", "network",       "compiled"};
static_assert(std::size(host_bases) == values_up_to(HostBasis::compiled));

constexpr std::string_view launch_ways[] = {"by_calls", "in_graphs", "recaptured"};
static_assert(std::size(launch_ways) == values_up_to(Launched::recaptured));

constexpr std::string_view memory_bases[] = {"recorded", "training", "inference",
                                             "compiled", "network",  "compiled_network"};
static_assert(std::size(memory_bases) == values_up_to(MemoryBasis::compiled_network));
/// What-ifs whose peaks are off by more than those of their bases, by factors of their own.
/// Gradient accumulation and checkpoints (passes, checkpoint) change peaks, too, but all that were
/// measured lie within the band of the base.
constexpr std::string_view memory_what_ifs[] = {"precision", "batch", "compile", "ranks"};

constexpr std::string_view limit_names[] = {"gpu", "host", "balance"};
static_assert(std::size(limit_names) == values_up_to(StepLimit::balance));

constexpr std::string_view unverified = "unverified";

std::vector<Field<Factors>> factor_fields() {
  return {field<Factors>("low", "ratio", "5th percentile of measured over predicted", &Factors::low,
                         Range::non_negative),
          field<Factors>("high", "ratio", "95th percentile", &Factors::high)};
}

const Json& part(const Json& json, std::string_view name, const Place& place) {
  require_object(json, place);
  const auto it = json.find(name);
  if (it == json.end()) place.fail("no key \"" + std::string(name) + "\"", "an object");
  return *it;
}

/// The pair of factors under `name` of the object `json`.
Factors read_named(const Json& json, std::string_view name, const Place& place) {
  const auto fields = factor_fields();
  Factors out;
  read_all_sourced(part(json, name, place), place / name, fields, out, out.origins);
  out.verified = std::none_of(out.origins.begin(), out.origins.end(), [](const Provenance& origin) {
    return origin.source.starts_with(unverified);
  });
  return out;
}

/// Errors: InputError for shares by which both would limit a step.
LimitShares read_limits(const Json& json, const Place& place) {
  const std::vector<Field<LimitShares>> fields = {
      field<LimitShares>("host_below", "ratio", "share of a step that the host limits",
                         &LimitShares::host_below, Range::non_negative),
      field<LimitShares>("gpu_above", "ratio", "share of a step that the GPU limits",
                         &LimitShares::gpu_above, Range::non_negative)};
  LimitShares out;
  read_all_sourced(json, place, fields, out, out.origins);
  if (out.host_below > out.gpu_above) {
    (place / "host_below").fail(fmt::format("{}", out.host_below), "at most gpu_above");
  }
  return out;
}

/// Those of all `names` under the key `name`.
std::vector<Factors> read_list(const Json& json, std::string_view name,
                               std::span<const std::string_view> names, const Place& place) {
  const Json& list = part(json, name, place);
  std::vector<Factors> out;
  for (const std::string_view one : names) out.push_back(read_named(list, one, place / name));
  return out;
}

/// Logarithm of a step's time on the fastest and on the slowest host over its time.
LogBand host_band(const ComparedStep& step) {
  return {std::log(step.parts.host.fast_us / step.time_us),
          std::log(step.parts.host.slow_us / step.time_us)};
}

/// Part of what a generated step's host may be off by that two runs on one host differ by.
LogBand between_runs(const BandConstants& constants, const LogBand& host) {
  const Factors &runs = constants.of(HostBasis::trace), &all = constants.of(HostBasis::network);
  const auto part = [](double of, double whole) { return whole == 0 ? 0 : of / whole; };
  return {host.low * part(std::log(runs.low), std::log(all.low)),
          host.high * part(std::log(runs.high), std::log(all.high))};
}

/// The same of the base over the changed step, as a speed-up.
LogBand speed_up_by_host(const BandConstants& constants, const ComparedStep& base,
                         const ComparedStep& changed) {
  LogBand from = host_band(base), to = host_band(changed);
  double fast = 0, slow = 0;
  if (base.parts.basis == HostBasis::network && changed.parts.basis == HostBasis::network) {
    fast = from.low - to.low, slow = from.high - to.high;
    from = between_runs(constants, from), to = between_runs(constants, to);
  }
  return {-std::hypot(std::min({0.0, fast, slow}), from.low, to.high),
          std::hypot(std::max({0.0, fast, slow}), from.high, to.low)};
}

/// Of kernels before any what-if.
LogBand base_kernels(const BandConstants& constants, Launched launched, double generated_error) {
  if (generated_error > 0) {
    return {-constants.network.low * generated_error, constants.network.high * generated_error};
  }
  return {std::log(constants.of(launched).low), std::log(constants.of(launched).high)};
}

/// Kernel time of the changed step, as a part of all of it.
LogBand changed_kernels(const BandConstants& constants, const ComparedStep& base,
                        const ComparedStep& changed, const std::vector<TransformReport>& what_ifs,
                        bool anew) {
  const BandParts& parts = changed.parts;
  const bool other_launch = parts.launched != base.parts.launched;
  LogBand kernels = anew || other_launch ? gpu_band(constants, parts.launched,
                                                    anew ? parts.generated_error : 0, what_ifs)
                                         : what_if_band(constants, what_ifs);
  kernels = with_untold(kernels, parts.untold);
  return {std::log1p(parts.gpu_share * std::expm1(kernels.low)),
          std::log1p(parts.gpu_share * std::expm1(kernels.high))};
}

}  // namespace

std::string_view to_string(HostBasis basis) { return host_bases[static_cast<std::size_t>(basis)]; }

std::string_view to_string(Launched launched) {
  return launch_ways[static_cast<std::size_t>(launched)];
}

std::string_view to_string(MemoryBasis basis) {
  return memory_bases[static_cast<std::size_t>(basis)];
}

std::string_view to_string(StepLimit limit) { return limit_names[static_cast<std::size_t>(limit)]; }

StepLimit BandConstants::limit(double gpu_share) const {
  if (gpu_share > limits.gpu_above) return StepLimit::gpu;
  return gpu_share < limits.host_below ? StepLimit::host : StepLimit::balance;
}

const Factors& BandConstants::of(std::string_view name) const {
  for (const Multiple& row : what_ifs) {
    if (row.what_if == name) return row.times;
  }
  throw std::logic_error("no band for what-if " + std::string(name));
}

BandConstants load_bands(const std::string& path) {
  const Json json = read_json_file(path);
  const Place file{path, ""};
  BandConstants out;
  out.host = read_list(json, "host", host_bases, file);
  out.gpu = read_list(json, "gpu", launch_ways, file);
  out.memory = read_list(json, "memory", memory_bases, file);
  const auto changes = read_list(json, "memory_what_ifs", memory_what_ifs, file);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    out.memory_what_ifs.push_back({std::string(memory_what_ifs[i]), changes[i]});
  }
  out.whole_trace = read_named(json, "whole_trace", file);
  out.network = read_named(json, "network", file);
  out.collectives = read_named(json, "collectives", file).high;
  out.limits = read_limits(part(json, "limits", file), file / "limits");
  const Json& what_ifs = part(json, "what_ifs", file);
  for (const Transform& transform : transforms()) {
    out.what_ifs.push_back(
        {std::string(transform.name), read_named(what_ifs, transform.name, file / "what_ifs")});
  }
  return out;
}

Plan with_host(Plan plan, double factor) {
  const auto scaled = [factor](Duration d) { return scale(d, factor); };
  for (HostItem& item : plan.items) {
    item.gap = item.input + scaled(item.gap - item.input);  // a loader is not this host
    item.call = scaled(item.call);
    item.submit = scaled(item.submit);
    item.wake = scaled(item.wake);
  }
  return plan;
}

LogBand with_untold(LogBand band, const UntoldShare& untold) {
  return {band.low + std::log1p(-untold.less), band.high + std::log1p(untold.more)};
}

LogBand what_if_band(const BandConstants& constants, const std::vector<TransformReport>& what_ifs) {
  LogBand out;
  for (const TransformReport& report : what_ifs) {
    const Factors& times = constants.of(report.name);
    out.low = -std::hypot(out.low, times.low * report.expected_error);
    out.high = std::hypot(out.high, times.high * report.expected_error);
    out = with_untold(out, report.untold);
  }
  return out;
}

LogBand gpu_band(const BandConstants& constants, Launched launched, double generated_error,
                 const std::vector<TransformReport>& what_ifs) {
  const LogBand own = base_kernels(constants, launched, generated_error);
  const LogBand changed = what_if_band(constants, what_ifs);
  return {-std::hypot(own.low, changed.low), std::hypot(own.high, changed.high)};
}

LogBand kernel_time_band(const BandConstants& constants, Launched launched, double generated_error,
                         const std::vector<TransformReport>& what_ifs) {
  if (generated_error > 0) return gpu_band(constants, launched, generated_error, what_ifs);
  const LogBand own = base_kernels(constants, launched, 0);
  const LogBand changed = what_if_band(constants, what_ifs);
  return {std::min(own.low, changed.low), std::max(own.high, changed.high)};
}

LogBand memory_band(const BandConstants& constants, MemoryBasis basis,
                    const std::vector<TransformReport>& what_ifs) {
  const Factors& own = constants.of(basis);
  LogBand out{std::log(own.low), std::log(own.high)};
  // Residuals of networks are those of networks in any precision.
  if (basis == MemoryBasis::network || basis == MemoryBasis::compiled_network) return out;
  for (const auto& [name, factors] : constants.memory_what_ifs) {
    if (find_report(what_ifs, name) == nullptr) continue;
    out.low = -std::hypot(out.low, std::log(factors.low));
    out.high = std::hypot(out.high, std::log(factors.high));
  }
  return out;
}

std::vector<std::string> unverified_factors(const BandConstants& constants,
                                            const BandParts& parts) {
  std::vector<std::string> out;
  if (!constants.of(parts.basis).verified) {
    out.push_back("host of a " + std::string(to_string(parts.basis)));
  }
  for (const auto& [name, error] : parts.what_ifs) {
    if (error > 0 && !constants.of(name).verified) out.push_back(name);
  }
  return out;
}

Band step_band(double time_us, const HostRange& host, const LogBand& gpu, double gpu_share,
               double other_us) {
  const double on_gpu = time_us * gpu_share;
  const double below = std::hypot(time_us - host.fast_us, on_gpu * std::expm1(gpu.low), other_us);
  const double above = std::hypot(host.slow_us - time_us, on_gpu * std::expm1(gpu.high), other_us);
  return {std::max(0.0, time_us - below), time_us + above};
}

SpeedUp speed_up(const BandConstants& constants, const ComparedStep& base,
                 const ComparedStep& changed, const std::vector<TransformReport>& what_ifs,
                 bool anew) {
  const LogBand host = speed_up_by_host(constants, base, changed);
  const LogBand kernels = changed_kernels(constants, base, changed, what_ifs, anew);
  const double other = std::log1p(changed.other_us / changed.time_us);
  const double value = base.time_us / changed.time_us * changed.samples / base.samples;
  return {base.time_us, value, value * std::exp(-std::hypot(host.low, kernels.high, other)),
          value * std::exp(std::hypot(host.high, kernels.low, other))};
}

}  // namespace tandem
