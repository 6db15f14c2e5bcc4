#include "models/energy/energy_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/kernel/classify/classify.h"
#include "sim/core/fields/constants.h"
#include "sim/core/fields/field.h"

namespace tandem {

namespace {

constexpr std::string_view rules_schema = "tandem.energy-work/1";
constexpr std::size_t fitted = TraceEnergyModel::fitted;

template <class T>
Json write_all(const T& object, const std::vector<Field<T>>& fields,
               const std::vector<Provenance>& origins) {
  Json json = Json::object();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    json[fields[i].name] = write_sourced(fields[i].write(object), fields[i].unit, origins.at(i));
  }
  return json;
}

/// Errors: InputError unless `json` is an object with exactly these keys.
void check_keys(const Json& json, const Place& place, const std::vector<std::string>& keys) {
  require_object(json, place);
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      place.fail("unknown key \"" + key + "\"", "one of: " + join(keys));
    }
  }
  for (const std::string& key : keys) {
    if (!json.contains(key)) place.fail("no key \"" + key + "\"", "all of: " + join(keys));
  }
}

/// Whether the symmetric matrix is one of correlations of anything: Cholesky's decomposition finds
/// no negative rest on its diagonal.
bool is_positive(const TraceEnergyModel& model) {
  constexpr double rounding = 1e-6;  // of the numbers as files state them
  std::array<std::array<double, fitted>, fitted> root{};
  for (std::size_t i = 0; i < fitted; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = model.correlation[i][j];
      for (std::size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
      if (i == j && rest < -rounding) return false;
      if (i == j) {
        root[i][i] = std::sqrt(std::max(rest, 0.0));
      } else {
        root[i][j] = root[j][j] > rounding ? rest / root[j][j] : 0;
      }
    }
  }
  return true;
}

/// Errors: InputError for numbers that are no correlations.
void check_correlation(const Place& place, const TraceEnergyModel& model) {
  const auto at = [](std::size_t i, std::size_t j, double value) {
    return fmt::format("{} in row {}, column {}", value, i + 1, j + 1);
  };
  for (std::size_t i = 0; i < fitted; ++i) {
    const double own = model.correlation[i][i];
    if (own != 1) place.fail(at(i, i, own), "1 on the diagonal");
    for (std::size_t j = 0; j < i; ++j) {
      const double one = model.correlation[i][j], other = model.correlation[j][i];
      if (one != other)
        place.fail(at(i, j, one), fmt::format("{}, as the other way around", other));
    }
  }
  if (!is_positive(model)) {
    place.fail("correlations that contradict each other", "a positive semi-definite matrix");
  }
}

void read_correlation(const Json& json, const Place& place, TraceEnergyModel& model) {
  const std::string expected = std::to_string(fitted) + " rows of as many numbers from -1 to 1";
  if (!json.is_array() || json.size() != fitted) place.fail(describe_json(json), expected);
  for (std::size_t i = 0; i < fitted; ++i) {
    if (!json[i].is_array() || json[i].size() != fitted) {
      place.fail(describe_json(json[i]), expected);
    }
    for (std::size_t j = 0; j < fitted; ++j) {
      const Json& value = json[i][j];
      const double r = value.is_number() ? value.get<double>() : 2.0;
      if (!(r >= -1 && r <= 1)) place.fail(describe_json(value), expected);
      model.correlation[i][j] = r;
    }
  }
  check_correlation(place, model);
}

KernelFamily read_family(const Json& json, const Place& place) {
  std::vector<std::string_view> names;
  for (int f = 0; f <= static_cast<int>(KernelFamily::generic); ++f) {
    names.push_back(to_string(static_cast<KernelFamily>(f)));
  }
  return static_cast<KernelFamily>(read_choice(json, place, names));
}

std::vector<Field<TypicalRate>> rate_fields() {
  using R = TypicalRate;
  constexpr auto least = Range::non_negative;
  return {{"family", "", "kernel family",
           [](R& r, const Json& json, const Place& p) { r.of.family = read_family(json, p); },
           [](const R& r) { return Json(to_string(r.of.family)); }},
          {"unit", "", "what multiplies, or helper",
           [](R& r, const Json& json, const Place& p) {
             constexpr std::string_view units[] = {"pipes", "tensor", "helper"};
             const std::size_t unit = read_choice(json, p, units);
             r.of.tensor = unit == 1;
             r.of.helper = unit == 2;
           },
           [](const R& r) {
             return Json(r.of.helper ? "helper" : r.of.tensor ? "tensor" : "pipes");
           }},
          {"bits", "bit", "of the arithmetic",
           [](R& r, const Json& json, const Place& p) {
             read_json(json, p, Range::positive, r.of.bits);
           },
           [](const R& r) { return Json(r.of.bits); }},
          field<R>("dram_share", "ratio", "of the read bandwidth", &R::dram_share, least),
          field<R>("flop_share", "ratio", "of the peak", &R::flop_share, least)};
}

/// Reads {"source", "kind", "fitted_on", "rows"} of the typical rates.
void read_rates(const Json& json, const Place& place, WorkRules& rules) {
  require_object(json, place);
  if (!json.contains("rows") || !json["rows"].is_array()) {
    place.fail("no list \"rows\"", "source, kind, fitted_on and rows");
  }
  Json origin = json;
  origin.erase("rows");
  origin["value"] = nullptr;
  origin["unit"] = "ratio";
  read_provenance(origin, place, "ratio");
  const auto fields = rate_fields();
  for (std::size_t i = 0; i < json["rows"].size(); ++i) {
    TypicalRate rate;
    const std::span<const Field<TypicalRate>> view(fields);
    read_fields(json["rows"][i], place / ("rows[" + std::to_string(i) + "]"), view, rate);
    rules.rates.push_back(rate);
  }
}

}  // namespace

std::vector<double TraceEnergyModel::*> trace_energy_members() {
  using M = TraceEnergyModel;
  return {&M::static_w,         &M::sm_active_w,    &M::dram_pj_per_byte, &M::tensor_pj_per_flop,
          &M::fp32_pj_per_flop, &M::instruction_pj, &M::model_error,      &M::estimate_error};
}

std::vector<Field<TraceEnergyModel>> trace_energy_fields() {
  using M = TraceEnergyModel;
  return {
      field<M>("static_w", "W", "board power with a context and nothing running", &M::static_w),
      field<M>("sm_active_w", "W/SM", "an SM that holds blocks, before what they do",
               &M::sm_active_w),
      field<M>("dram_pj_per_byte", "pJ/B", "DRAM traffic with its way through L2",
               &M::dram_pj_per_byte),
      field<M>("tensor_pj_per_flop", "pJ/FLOP", "tensor cores, 16-bit operands",
               &M::tensor_pj_per_flop),
      field<M>("fp32_pj_per_flop", "pJ/FLOP", "FP32 pipes, operand delivery included",
               &M::fp32_pj_per_flop),
      field<M>("instruction_pj", "pJ", "a warp instruction that is no multiplication",
               &M::instruction_pj, Range::non_negative),
      field<M>("model_error", "ratio", "standard deviation of a prediction from shapes",
               &M::model_error),
      field<M>("estimate_error", "ratio", "the same where shapes are missing", &M::estimate_error),
  };
}

std::vector<Field<AccessEnergies>> access_energy_fields() {
  using A = AccessEnergies;
  const auto sector = [](std::string_view name, double A::*member) {
    return field<A>(name, "pJ/sector", "least energy of an access of 32 bytes", member);
  };
  return {
      sector("shared_pj_per_sector", &A::shared_pj_per_sector),
      sector("l1_pj_per_sector", &A::l1_pj_per_sector),
      sector("l2_pj_per_sector", &A::l2_pj_per_sector),
      sector("dram_pj_per_sector", &A::dram_pj_per_sector),
      field<A>("static_w", "W", "board power, memory allocated and nothing running", &A::static_w)};
}

std::vector<Field<WorkRules>> work_rule_fields() {
  using W = WorkRules;
  constexpr auto least = Range::non_negative;
  std::vector<Field<W>> fields = {
      field<W>("launch_ramp_us", "us", "start of a kernel in which its blocks draw no power",
               &W::launch_ramp_us, least),
      field<W>("awake_cycles", "cycles", "an SM draws power for so long behind an instruction",
               &W::awake_cycles, least),
      field<W>("half_rate_us", "us", "length of a kernel that runs at half the typical rates",
               &W::half_rate_us, least),
      field<W>("simt_convolution_share", "ratio",
               "least share of the FP32 peak of a convolution outside the tensor cores",
               &W::simt_convolution_share, least),
      field<W>("cached_share", "ratio",
               "operands of this share of L2 come from L2 half of the time", &W::cached_share,
               least),
      field<W>("other_dram_share", "ratio", "of the read bandwidth, classes without a rate",
               &W::other_dram_share, least),
      field<W>("other_flop_share", "ratio", "of the peak, classes without a rate",
               &W::other_flop_share, least),
  };
  using C = ClockEnergy;
  add_fields(fields, &W::clock,
             {field<C>("clock_exponent", "", "SM energy grows with this power of the clock",
                       &C::exponent, least),
              field<C>("clock_floor_share", "ratio",
                       "of the boost clock: below it voltage and SM energy stay", &C::floor_share,
                       least)});
  return fields;
}

namespace {

EnergyConfig read_energy(const Json& json, const Place& place) {
  check_keys(json, place, {"trace", "correlation", "access"});
  EnergyConfig config;
  read_all_sourced(json["trace"], place / "trace", trace_energy_fields(), config.trace,
                   config.trace.origins);
  read_correlation(json["correlation"], place / "correlation", config.trace);
  read_all_sourced(json["access"], place / "access", access_energy_fields(), config.access,
                   config.access.origins);
  return config;
}

std::optional<EnergyConfig> stated_energy(const std::string& gpu_path, GpuFiles& files) {
  const Json& json = files.read(gpu_path);
  if (!json.contains("energy")) return std::nullopt;
  return read_energy(json["energy"], Place{gpu_path, "energy"});
}

/// Its clock only where the constants are the base's.
std::optional<EnergyConfig> load_energy(const std::string& gpu_path, GpuFiles& files) {
  auto energy = stated_energy(gpu_path, files);
  const std::string base = energy ? "" : files.base_of(gpu_path);
  if (!base.empty()) energy = stated_energy(base, files);
  if (!energy) return energy;
  energy->of_base = !base.empty();
  if (energy->of_base) energy->clock_mhz = load_gpu(base, files).boost_clock_mhz;
  return energy;
}

}  // namespace

std::optional<EnergyConfig> load_energy(const std::string& gpu_path) {
  GpuFiles files;
  auto config = load_energy(gpu_path, files);
  if (config && !config->of_base) config->clock_mhz = load_gpu(gpu_path, files).boost_clock_mhz;
  return config;
}

void add_energy_of(EnergyCatalogue& catalogue, const GpuArch& gpu, const std::string& gpu_path,
                   GpuFiles& files) {
  auto config = load_energy(gpu_path, files);
  if (!config) return;
  if (!config->of_base) config->clock_mhz = gpu.boost_clock_mhz;
  for (const auto& [part, watts] :
       {std::pair{"trace", config->trace.static_w}, std::pair{"access", config->access.static_w}}) {
    if (watts <= gpu.tdp_w) continue;
    const Place place{gpu_path, fmt::format("energy.{}.static_w", part)};
    place.fail(fmt::format("{} W", watts), fmt::format("at most the {} W of tdp_w", gpu.tdp_w));
  }
  catalogue.gpus.emplace_back(gpu.name, std::move(*config));
}

EnergyCatalogue load_energies(const GpuCatalogue& gpus, GpuFiles& files) {
  EnergyCatalogue catalogue{gpus.folder, {}};
  for (const GpuArch& gpu : gpus.gpus) {
    add_energy_of(catalogue, gpu, gpus.folder + "/" + gpu.name + ".json", files);
  }
  return catalogue;
}

EnergyCatalogue load_energies(const GpuCatalogue& gpus) {
  GpuFiles files;
  return load_energies(gpus, files);
}

void widen(EnergyConfig& config, double least) {
  const auto members = trace_energy_members();
  config.trace.origins.resize(std::max(config.trace.origins.size(), members.size()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    double& uncertainty = config.trace.origins[i].uncertainty;
    uncertainty = std::max(uncertainty, least);
  }
  // Errors of a fit balance each other on the chip that was measured; differences of chips do not.
  auto& correlation = config.trace.correlation;
  for (std::size_t i = 0; i < correlation.size(); ++i) {
    for (std::size_t j = 0; j < correlation[i].size(); ++j) correlation[i][j] = i == j ? 1 : 0;
  }
}

EnergyConfig find_energy(const EnergyCatalogue& catalogue, const GpuArch& gpu) {
  for (const auto& [name, config] : catalogue.gpus) {
    if (name != gpu.name) continue;
    EnergyConfig found = config;
    found.trace.power_limit_w = gpu.tdp_w;
    return found;
  }
  const Place place{catalogue.folder + "/" + gpu.name + ".json", "energy"};
  place.fail("no energy constants", "trace, correlation and access, here or in its \"base\"");
}

Json energy_json(const EnergyConfig& config) {
  Json json;
  json["trace"] = write_all(config.trace, trace_energy_fields(), config.trace.origins);
  json["correlation"] = config.trace.correlation;
  json["access"] = write_all(config.access, access_energy_fields(), config.access.origins);
  return json;
}

std::string with_energy(const std::string& gpu_path, const EnergyConfig& config) {
  Json json = read_json_file(gpu_path);
  json["energy"] = energy_json(config);
  return gpu_file_text(json);
}

WorkRules load_work_rules(const std::string& path) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  check_keys(json, place, {"schema", "constants", "rates"});
  const std::string_view schemas[] = {rules_schema};
  read_choice(json["schema"], place / "schema", schemas);
  WorkRules rules;
  std::vector<Provenance> origins;
  read_all_sourced(json["constants"], place / "constants", work_rule_fields(), rules, origins);
  read_rates(json["rates"], place / "rates", rules);
  return rules;
}

std::string to_json(const WorkRules& rules, const std::vector<Provenance>& origins,
                    const Provenance& rates_origin) {
  Json json;
  json["schema"] = rules_schema;
  json["constants"] = write_all(rules, work_rule_fields(), origins);
  Json rates = write_sourced(nullptr, "ratio", rates_origin);
  rates.erase("value");
  rates.erase("unit");
  const auto fields = rate_fields();
  Json rows = Json::array();
  for (const TypicalRate& rate : rules.rates) {
    rows.push_back(write_fields(rate, std::span<const Field<TypicalRate>>(fields)));
  }
  rates["rows"] = rows;
  json["rates"] = rates;
  return json.dump(2) + "\n";
}

}  // namespace tandem
