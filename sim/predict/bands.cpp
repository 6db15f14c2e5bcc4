#include "sim/predict/bands.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/whatif/transform.h"
#include "sim/core/field.h"

namespace tandem {

namespace {

constexpr std::string_view host_bases[] = {"trace",    "measured_step", "kept",
                                           "executor", "network",       "compiled"};

constexpr std::string_view launches[] = {"by_calls", "in_graphs", "recaptured"};

std::vector<Field<Factors>> factor_fields() {
  return {field<Factors>("low", "ratio", "5th percentile of measured over predicted", &Factors::low,
                         Range::non_negative),
          field<Factors>("high", "ratio", "95th percentile", &Factors::high)};
}

Factors read_factors(const Json& json, const Place& place) {
  const auto fields = factor_fields();
  Factors out;
  const auto seen =
      read_sourced_fields(json, place, std::span<const Field<Factors>>(fields), out, out.origins);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!seen[i]) place.fail("no key \"" + fields[i].name + "\"", "a value of it");
  }
  return out;
}

/// The pair of factors under `name` of the object `json`.
Factors read_named(const Json& json, std::string_view name, const Place& place) {
  require_object(json, place);
  const auto it = json.find(name);
  if (it == json.end()) place.fail("no key \"" + std::string(name) + "\"", "low and high of it");
  return read_factors(*it, place / name);
}

const Json& part(const Json& json, std::string_view name, const Place& place) {
  require_object(json, place);
  const auto it = json.find(name);
  if (it == json.end()) place.fail("no key \"" + std::string(name) + "\"", "an object");
  return *it;
}

}  // namespace

std::string_view to_string(HostBasis basis) { return host_bases[static_cast<std::size_t>(basis)]; }

std::string_view to_string(Launched launched) {
  return launches[static_cast<std::size_t>(launched)];
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
  const Json& host = part(json, "host", file);
  for (const std::string_view name : host_bases) {
    out.host.push_back(read_named(host, name, file / "host"));
  }
  const Json& gpu = part(json, "gpu", file);
  for (const std::string_view name : launches) {
    out.gpu.push_back(read_named(gpu, name, file / "gpu"));
  }
  out.network = read_named(json, "network", file);
  out.speed_up = read_named(json, "speed_up", file);
  out.collectives = read_named(json, "collectives", file).high;
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
    item.gap = scaled(item.gap);
    item.call = scaled(item.call);
    item.submit = scaled(item.submit);
    item.wake = scaled(item.wake);
  }
  return plan;
}

LogBand what_if_band(const BandConstants& constants, const std::vector<TransformReport>& what_ifs) {
  LogBand out;
  for (const TransformReport& report : what_ifs) {
    const Factors& times = constants.of(report.name);
    out.low = -std::hypot(out.low, times.low * report.expected_error);
    out.high = std::hypot(out.high, times.high * report.expected_error);
  }
  return out;
}

LogBand gpu_band(const BandConstants& constants, Launched launched, double generated_error,
                 const std::vector<TransformReport>& what_ifs) {
  const LogBand changed = what_if_band(constants, what_ifs);
  const bool generated = generated_error > 0;
  const double low =
      generated ? constants.network.low * generated_error : std::log(constants.of(launched).low);
  const double high =
      generated ? constants.network.high * generated_error : std::log(constants.of(launched).high);
  return {-std::hypot(low, changed.low), std::hypot(high, changed.high)};
}

Band step_band(double time_us, const HostRange& host, const LogBand& gpu, double gpu_share,
               double other_us) {
  const double on_gpu = time_us * gpu_share;
  const double below = std::hypot(time_us - host.fast_us, on_gpu * std::expm1(gpu.low), other_us);
  const double above = std::hypot(host.slow_us - time_us, on_gpu * std::expm1(gpu.high), other_us);
  return {std::max(0.0, time_us - below), time_us + above};
}

SpeedUp speed_up(double base_us, double time_us, const HostRange& range, const Factors& host,
                 const Factors& runs, const LogBand& what_ifs, double gpu_share, double other_us) {
  // Between the ends of the range the step follows the host evenly.
  const double fast = (time_us - range.fast_us) * std::log(runs.low) / std::log(host.low);
  const double slow = (range.slow_us - time_us) * std::log(runs.high) / std::log(host.high);
  const Band band =
      step_band(time_us, {time_us - fast, time_us + slow}, what_ifs, gpu_share, other_us);
  return {base_us, base_us / time_us, base_us / band.high_us,
          band.low_us > 0 ? base_us / band.low_us : base_us / time_us};
}

}  // namespace tandem
