#include "models/energy/energy_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/units.h"

namespace tandem {

namespace {

constexpr double sectors_per_wavefront = 4;

using Fitted = std::array<double, TraceEnergyModel::fitted>;

/// Parts by the constant they are proportional to, in the order of TraceEnergyModel.
Fitted by_constant(const EnergyBreakdown& p) {
  return {p.static_j, p.other_j, p.dram_j, p.tensor_j, p.compute_j, p.instructions_j};
}

/// Variance from the errors of the constants. Each part is linear in one constant, so its standard
/// deviation is the part times the constant's relative one.
double constants_variance(const TraceEnergyModel& model, const EnergyBreakdown& parts) {
  Fitted sd = by_constant(parts);
  for (std::size_t i = 0; i < sd.size(); ++i) {
    sd[i] *= i < model.origins.size() ? model.origins[i].uncertainty : 0.0;
  }
  double variance = 0;
  for (std::size_t i = 0; i < sd.size(); ++i) {
    for (std::size_t j = 0; j < sd.size(); ++j) variance += sd[i] * sd[j] * model.correlation[i][j];
  }
  return std::max(variance, 0.0);
}

EnergyBreakdown scaled(const EnergyBreakdown& p, double factor) {
  return {p.static_j * factor, p.dram_j * factor,         p.l2_j * factor,
          p.l1_j * factor,     p.shared_j * factor,       p.compute_j * factor,
          p.tensor_j * factor, p.instructions_j * factor, p.other_j * factor};
}

/// Factor on the dynamic energy that keeps the average at the limit. The traced durations hold the
/// slowdown already; what is too high is the energy at full clock.
double limit_factor(const TraceEnergyModel& model, double dynamic_j, double step_us) {
  if (model.power_limit_w <= 0 || dynamic_j <= 0) return 1;
  const double most = (model.power_limit_w - model.static_w) * step_us * micro;
  return std::clamp(most / dynamic_j, 0.0, 1.0);
}

double dynamic_j(const TraceEnergyModel& model, std::span<const EnergyWork> works) {
  double sum = 0;
  for (const EnergyWork& work : works) sum += total_j(work_energy(model, work));
  return sum;
}

double uncertainty(const std::vector<Provenance>& origins, std::size_t i) {
  return i < origins.size() ? origins[i].uncertainty : 0.0;
}

}  // namespace

EnergyBreakdown& EnergyBreakdown::operator+=(const EnergyBreakdown& other) {
  static_j += other.static_j;
  dram_j += other.dram_j;
  l2_j += other.l2_j;
  l1_j += other.l1_j;
  shared_j += other.shared_j;
  compute_j += other.compute_j;
  tensor_j += other.tensor_j;
  instructions_j += other.instructions_j;
  other_j += other.other_j;
  return *this;
}

double total_j(const EnergyBreakdown& p) {
  return p.static_j + p.dram_j + p.l2_j + p.l1_j + p.shared_j + p.compute_j + p.tensor_j +
         p.instructions_j + p.other_j;
}

EnergyBreakdown work_energy(const TraceEnergyModel& model, const EnergyWork& work) {
  EnergyBreakdown parts;
  parts.other_j = model.sm_active_w * work.sm_active_us * micro;
  parts.dram_j = model.dram_pj_per_byte * work.dram_bytes * pico;
  parts.tensor_j = model.tensor_pj_per_flop * work.tensor_flop * pico;
  parts.compute_j = model.fp32_pj_per_flop * work.fp32_flop * pico;
  parts.instructions_j = model.instruction_pj * work.instructions * pico;
  return parts;
}

StepEnergy trace_energy(const TraceEnergyModel& model, std::span<const EnergyWork> works,
                        double step_us) {
  StepEnergy step;
  double dynamic = 0, estimated = 0;
  for (const EnergyWork& work : works) {
    const EnergyBreakdown parts = work_energy(model, work);
    step.parts += parts;
    dynamic += total_j(parts);
    if (work.estimated) estimated += total_j(parts);
  }
  const double kept = limit_factor(model, dynamic, step_us);
  step.cut_share = 1 - kept;
  step.parts = scaled(step.parts, kept);
  step.parts.static_j = model.static_w * step_us * micro;
  step.energy_j = total_j(step.parts);
  step.average_power_w = step_us > 0 ? step.energy_j / (step_us * micro) : 0;
  step.estimated_share = dynamic > 0 ? estimated / dynamic : 0;
  const double relative =
      std::lerp(model.model_error, model.estimate_error, step.estimated_share) * step.energy_j;
  step.error_j = std::sqrt(constants_variance(model, step.parts) + relative * relative);
  return step;
}

MemoryAccesses& MemoryAccesses::operator+=(const MemoryAccesses& other) {
  shared += other.shared;
  l1 += other.l1;
  l2 += other.l2;
  dram += other.dram;
  return *this;
}

MemoryAccesses accesses_served(double l1_sectors, double l2_sectors, double dram_sectors,
                               double shared_wavefronts) {
  return {shared_wavefronts * sectors_per_wavefront, std::max(l1_sectors - l2_sectors, 0.0),
          std::max(l2_sectors - dram_sectors, 0.0), dram_sectors};
}

DataMovement data_movement_lower_bound(const AccessEnergies& e, const MemoryAccesses& a) {
  DataMovement m;
  m.shared_j = e.shared_pj_per_sector * a.shared * pico;
  m.l1_j = e.l1_pj_per_sector * a.l1 * pico;
  m.l2_j = e.l2_pj_per_sector * a.l2 * pico;
  m.dram_j = e.dram_pj_per_sector * a.dram * pico;
  m.total_j = m.shared_j + m.l1_j + m.l2_j + m.dram_j;
  const double sd[] = {m.shared_j * uncertainty(e.origins, 0), m.l1_j * uncertainty(e.origins, 1),
                       m.l2_j * uncertainty(e.origins, 2), m.dram_j * uncertainty(e.origins, 3)};
  double variance = 0;
  for (const double s : sd) variance += s * s;
  m.error_j = std::sqrt(variance);
  return m;
}

namespace {

/// Takes up to `energy_j` from what SMs do and returns it: what was fitted knows no shared memory
/// and no L1, so that their energy lies in the power of active SMs, then in that of instructions.
double taken_from_sms(EnergyBreakdown& parts, double energy_j) {
  const double other = std::clamp(energy_j, 0.0, std::max(parts.other_j, 0.0));
  parts.other_j -= other;
  const double rest = parts.tensor_j + parts.compute_j + parts.instructions_j;
  const double more = std::clamp(energy_j - other, 0.0, std::max(rest, 0.0));
  const double kept = rest > 0 ? 1 - more / rest : 1;
  parts.tensor_j *= kept;
  parts.compute_j *= kept;
  parts.instructions_j *= kept;
  return other + more;
}

}  // namespace

void split_levels(EnergyBreakdown& parts, const DataMovement& movement) {
  const double far = movement.l2_j + movement.dram_j;
  if (far > 0) {
    const double l2 = parts.dram_j * movement.l2_j / far;
    parts.l2_j += l2;
    parts.dram_j -= l2;
  }
  // Traffic that the bytes of the operands do not tell.
  for (const auto& [level, bound] : {std::pair{&EnergyBreakdown::l2_j, movement.l2_j},
                                     std::pair{&EnergyBreakdown::dram_j, movement.dram_j}}) {
    parts.*level += taken_from_sms(parts, bound - parts.*level);
  }
  const double near = movement.l1_j + movement.shared_j;
  if (near > 0) {
    const double share = taken_from_sms(parts, near) / near;
    parts.l1_j += movement.l1_j * share;
    parts.shared_j += movement.shared_j * share;
  }
}

std::vector<PowerPoint> power_over_time(const TraceEnergyModel& model,
                                        std::span<const EnergyWork> works, double step_us) {
  std::vector<PowerPoint> changes{{0, model.static_w}};
  const double factor = limit_factor(model, dynamic_j(model, works), step_us);
  for (const EnergyWork& work : works) {
    const double begin = std::max(work.begin_us, 0.0);
    const double end = std::min(work.begin_us + work.duration_us, step_us);
    if (end <= begin) continue;
    const double energy = factor * total_j(work_energy(model, work));
    const double power = energy / (work.duration_us * micro);
    changes.push_back({begin, power});
    changes.push_back({end, -power});
  }
  std::sort(changes.begin(), changes.end(),
            [](const PowerPoint& a, const PowerPoint& b) { return a.time_us < b.time_us; });
  std::vector<PowerPoint> points;
  double power = 0;
  for (const PowerPoint& change : changes) {
    power += change.power_w;
    if (!points.empty() && points.back().time_us == change.time_us) {
      points.back().power_w = power;
    } else {
      points.push_back({change.time_us, power});
    }
  }
  return points;
}

}  // namespace tandem
