#include "sim/advise/gain.h"

#include <algorithm>
#include <cmath>

namespace tandem {

namespace {

/// Logarithm of a step's time on the fastest and on the slowest host over its time.
LogBand host_band(const Result& r) {
  const HostRange& host = r.band_parts.host;
  return {std::log(host.fast_us / r.step.time_us), std::log(host.slow_us / r.step.time_us)};
}

/// The same of the base over the changed step, as a gain.
LogBand gain_by_host(const Result& base, const Result& changed) {
  const LogBand from = host_band(base);
  const LogBand to = host_band(changed);
  const bool one_host =
      base.band_parts.basis == HostBasis::network && changed.band_parts.basis == HostBasis::network;
  if (!one_host) return {-std::hypot(from.low, to.high), std::hypot(from.high, to.low)};
  const double fast = from.low - to.low;
  const double slow = from.high - to.high;
  return {std::min({0.0, fast, slow}), std::max({0.0, fast, slow})};
}

/// Kernel time of the changed step, as a part of all of it.
LogBand kernel_band(const BandConstants& constants, const Result& base, const Result& changed,
                    bool anew) {
  const BandParts& parts = changed.band_parts;
  const bool other_launch = parts.launched != base.band_parts.launched;
  const LogBand kernels =
      anew || other_launch
          ? gpu_band(constants, parts.launched, anew ? parts.generated_error : 0, changed.what_ifs)
          : what_if_band(constants, changed.what_ifs);
  return {std::log1p(parts.gpu_share * std::expm1(kernels.low)),
          std::log1p(parts.gpu_share * std::expm1(kernels.high))};
}

double samples(const Result& r) {
  return r.scenario.batch ? static_cast<double>(*r.scenario.batch) : 1.0;
}

}  // namespace

SpeedUp gain(const BandConstants& constants, const Result& base, const Result& changed, bool anew) {
  const double value = base.step.time_us / changed.step.time_us * samples(changed) / samples(base);
  const LogBand host = gain_by_host(base, changed);
  const LogBand kernels = kernel_band(constants, base, changed, anew);
  return {base.step.time_us, value, value * std::exp(-std::hypot(host.low, kernels.high)),
          value * std::exp(std::hypot(host.high, kernels.low))};
}

}  // namespace tandem
