#include "models/energy/recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/text/csv_rows.h"
#include "sim/core/units.h"

namespace tandem {

namespace {

using P = CalibrationPoint;

struct Row {
  const char* kernel;
  double P::*work;
  const char* unit;
};

constexpr Row rows[] = {
    {"shared_load", &P::sectors, "sector"},
    {"l1_load", &P::sectors, "sector"},
    {"l2_load", &P::sectors, "sector"},
    {"dram_load", &P::sectors, "sector"},
    {"l2_near_load", &P::sectors, "sector"},
    {"l2_stream", &P::sectors, "sector"},
    {"dram_stream", &P::sectors, "sector"},
    {"shared_store", &P::sectors, "sector"},
    {"l2_store", &P::sectors, "sector"},
    {"dram_store", &P::sectors, "sector"},
    {"ffma", &P::flop, "FLOP"},
    {"ffma_zero", &P::flop, "FLOP"},
    {"mma_fp16", &P::flop, "FLOP"},
    {"mma_fp16_zero", &P::flop, "FLOP"},
    {"mma_tf32", &P::flop, "FLOP"},
};

/// The kernels behind the constants, in the order of access_energy_fields().
constexpr std::array<const char*, 4> bound_kernels{"shared_load", "l1_load", "l2_load",
                                                   "dram_load"};

constexpr double agreement = 0.02;  // between counted and stated work
constexpr double unknown_board_sd = 0.12;
constexpr double identified = 0.5;  // widest interval, relative
constexpr double normal975 = 1.96;
constexpr double idle_sd = 0.02;  // between boards

std::optional<PowerPhases> phases_of(const std::vector<PowerSample>& samples,
                                     const std::string& folder) {
  const std::string path = folder + "/phases.csv";
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::vector<CsvRow> marks = read_csv(path);
  if (marks.empty()) return std::nullopt;
  const double end = marks.back().number("time_s");
  std::vector<PowerSample> part;
  for (const PowerSample& s : samples) {
    if (s.time_s <= end) part.push_back(s);
  }
  return find_phases(part);
}

void add_accesses(const std::vector<P>& points, const Disagreements& counted, EnergyRecording& r) {
  for (const Row& row : rows) {
    const auto access = calibrate_access(points, row.kernel, r.idle, row.work);
    if (!access) continue;
    MeasuredAccess m{*access, row.unit, std::nullopt};
    if (const auto it = counted.find(row.kernel); it != counted.end()) m.counted_off = it->second;
    if (m.counted_off.value_or(0) > agreement) {
      r.dropped.push_back({row.kernel, 0, "the profiler counted another number of accesses"});
      continue;
    }
    r.accesses.push_back(std::move(m));
  }
}

const Estimate& bound_of(const EnergyRecording& r, const char* kernel) {
  constexpr std::size_t least_points = 3;
  const MeasuredAccess* m = find_access(r, kernel);
  const std::size_t points = m == nullptr ? 0 : m->access.line.points;
  if (points < least_points) {
    throw InputError(r.folder + "/points.csv", kernel,
                     std::to_string(points) + " usable points of 32 threads or more", "at least 3");
  }
  const Estimate& bound = m->access.bound_pj;
  if (!(bound.value > 0) || bound.ci95 > identified * bound.value) {
    throw InputError(r.folder + "/points.csv", kernel,
                     std::to_string(bound.value) + " +- " + std::to_string(bound.ci95) + " pJ",
                     "a 95 % interval of at most half the value: the constant is not identified");
  }
  return bound;
}

double three_digits(double v) {
  if (v == 0) return 0;
  const double scale = std::pow(10, 2 - std::floor(std::log10(std::abs(v))));
  return std::round(v * scale) / scale;
}

}  // namespace

const MeasuredAccess* find_access(const EnergyRecording& recording, std::string_view kernel) {
  for (const MeasuredAccess& m : recording.accesses) {
    if (m.access.kernel == kernel) return &m;
  }
  return nullptr;
}

EnergyRecording evaluate_recording(const std::string& folder, double sm_count,
                                   const Disagreements& counted) {
  EnergyRecording r;
  r.folder = folder;
  const std::vector<PowerSample> samples = read_power_log(folder + "/samples.csv");
  const std::vector<P> points = read_points(folder + "/points.csv", samples, r.dropped);
  r.idle = mean_power(points, "idle");
  if (!(r.idle.value > 0)) {
    throw InputError(folder + "/points.csv", "idle", "no point with measured power",
                     "at least one, which dynamic energy stands on");
  }
  r.asleep = mean_power(points, "asleep");
  r.active_sm = active_sm_power(points, sm_count);
  add_accesses(points, counted, r);
  r.l1_divide = divide_energy(points, "l1_load", "l1_divide", r.idle);
  r.l2_divide = divide_energy(points, "l2_load", "l2_divide", r.idle);
  r.phases = phases_of(samples, folder);
  return r;
}

AccessEnergies access_energies(std::span<const EnergyRecording> recordings,
                               const std::string& source) {
  if (recordings.empty()) throw InputError(source, "", "no recording", "at least one");
  double AccessEnergies::*const members[] = {
      &AccessEnergies::shared_pj_per_sector, &AccessEnergies::l1_pj_per_sector,
      &AccessEnergies::l2_pj_per_sector, &AccessEnergies::dram_pj_per_sector};
  AccessEnergies out;
  const auto n = static_cast<double>(recordings.size());
  for (std::size_t level = 0; level < bound_kernels.size(); ++level) {
    double mean = 0, variance = 0, interval = 0;
    for (const EnergyRecording& r : recordings) {
      const Estimate& bound = bound_of(r, bound_kernels[level]);
      mean += bound.value / n;
      interval = std::max(interval, bound.ci95 / normal975);
    }
    for (const EnergyRecording& r : recordings) {
      variance +=
          std::pow(bound_of(r, bound_kernels[level]).value - mean, 2) / std::max(1.0, n - 1);
    }
    const double boards = n > 1 ? std::sqrt(variance) : unknown_board_sd * mean;
    out.*members[level] = three_digits(mean);
    out.origins.push_back(
        {ValueKind::measured, source, "", three_digits(std::hypot(interval, boards) / mean)});
  }
  double idle = 0;
  for (const EnergyRecording& r : recordings) idle += r.idle.value / n;
  out.static_w = three_digits(idle);
  out.origins.push_back({ValueKind::measured, source, "", idle_sd});
  return out;
}

std::vector<PowerCheck> power_checks(const EnergyRecording& recording, const std::string& path,
                                     const std::string& gpu) {
  const MeasuredAccess* stream = find_access(recording, "dram_stream");
  const MeasuredAccess* ffma = find_access(recording, "ffma");
  std::vector<PowerCheck> checks;
  if (stream == nullptr || ffma == nullptr) return checks;
  for (const CsvRow& row : read_csv(path)) {
    if (row.text("gpu") != gpu) continue;
    const double sectors_per_s = row.number("dram_gbps") * 1e9 / sector_bytes;
    const double flop_per_s = row.number("tflops") * 1e12;
    checks.push_back({std::string(row.text("point")), row.number("power_w"),
                      recording.idle.value + sectors_per_s * stream->access.bound_pj.value * pico +
                          flop_per_s * ffma->access.bound_pj.value * pico});
  }
  return checks;
}

}  // namespace tandem
