#include "models/step/memory/sharded_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "models/step/memory/trained_parameters.h"
#include "sim/core/collective.h"

namespace tandem {
namespace {

/// Units of one size.
struct Units {
  int gathers = 0, scatters = 0, ranks = 1;
  bool stay_whole() const { return gathers <= scatters; }
};

std::map<std::int64_t, Units> units_of(const Trace& trace, const Links& links) {
  std::map<std::int64_t, Units> out;  // by bytes of the whole
  const StepWindow& window = links.steps.back();
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const Collective* const c = collective_of(trace, a);
    const std::uint32_t call = links.call_of_activity[a];
    if (c == nullptr || call == no_row || c->in_bytes <= 0 || c->out_bytes <= 0) continue;
    // No GPU holds more, and no job has more ranks: a trace may say anything.
    constexpr std::int64_t most_bytes = std::int64_t{1} << 44, most_ranks = 1 << 16;
    if (std::max(c->in_bytes, c->out_bytes) > most_bytes) continue;
    if (c->out_bytes / c->in_bytes > most_ranks) continue;
    if (trace.calls.begin[call] < window.begin || trace.calls.begin[call] >= window.end) continue;
    if (c->kind == CollectiveKind::all_gather && c->out_bytes > c->in_bytes) {
      Units& units = out[c->out_bytes];
      ++units.gathers;
      units.ranks = static_cast<int>(std::lround(double(c->out_bytes) / double(c->in_bytes)));
    }
    if (c->kind == CollectiveKind::reduce_scatter) ++out[c->in_bytes].scatters;
  }
  return out;
}

/// Joins units that are gathered with those of twice their bytes that are scattered. The width of
/// what is scattered over what is gathered.
double join_widths(std::map<std::int64_t, Units>& units) {
  double width = 1;
  for (auto& [bytes, gathered] : units) {
    if (gathered.gathers == 0 || gathered.scatters > 0) continue;
    const auto wide = units.find(2 * bytes);
    if (wide == units.end() || wide->second.gathers > 0) continue;
    gathered.scatters = wide->second.scatters;
    width = 2;
  }
  return width;
}

double trained_bytes(const Trace& trace, const StepWindow& step) {
  double bytes = 0;
  for (const TensorShape& t : TrainedParameters(trace, step).shapes()) bytes += stored_bytes(t);
  return bytes;
}

}  // namespace

ShardedParameters sharded_parameters(const Trace& trace, const Links& links) {
  if (trace.collectives.empty()) return {};
  ShardedParameters out;
  double whole = 0, stays = 0, largest = 0;
  std::map<std::int64_t, Units> all_units = units_of(trace, links);
  out.width = join_widths(all_units);
  for (const auto& [bytes, units] : all_units) {
    if (units.gathers == 0 || units.scatters == 0) continue;
    const double all = double(bytes) * units.scatters;
    whole += all;
    if (units.stay_whole()) {
      stays += all;
    } else {
      largest = std::max(largest, double(bytes));
    }
    out.ranks = std::max(out.ranks, units.ranks);
    out.unit_bytes.insert({bytes, bytes / units.ranks});
    if (out.width > 1) out.unit_bytes.insert({2 * bytes, 2 * bytes / units.ranks});
  }
  // Units are padded to equal parts, and may be gathered in a type half as wide.
  constexpr double least = 0.45, most = 1.1;
  const double trained = whole > 0 ? trained_bytes(trace, links.steps.back()) : 0;
  if (whole <= 0 || whole < least * trained || whole > most * trained) return {};
  out.gathered_bytes = stays + 2 * largest;
  out.gradient_share = out.width * (stays + (whole - stays) / out.ranks) / whole;
  return out;
}

}  // namespace tandem
