#include "sim/counters/correlation.h"

#include <cmath>
#include <map>
#include <tuple>

namespace tandem {

namespace {

constexpr double base_weight = 3;
constexpr double token_weight = 1.5;
constexpr double grid_weight = 1;
constexpr double block_weight = 0.5;
constexpr double registers_weight = 0.5;
constexpr double threshold = 3.5;
/// Nsight Compute may print 49152 bytes as 49.15 Kbyte; static and dynamic bytes are rounded each.
constexpr double shared_tolerance_bytes = 10;

/// Gives equal names and equal launches one number.
class Builder {
 public:
  void add(std::string_view name, const Dimensions& grid, const Dimensions& block, double registers,
           double shared_bytes, double duration_us) {
    const auto [n, new_name] =
        name_ids_.try_emplace(name, static_cast<std::uint32_t>(out_.names.size()));
    if (new_name) out_.names.push_back(parse_kernel_name(name));
    const auto known = [](double v) { return std::isnan(v) ? -1.0 : v; };
    const Key key{n->second, grid.size, block.size, known(registers), known(shared_bytes)};
    const auto [c, new_class] =
        class_ids_.try_emplace(key, static_cast<std::uint32_t>(out_.classes.size()));
    if (new_class) out_.classes.push_back({n->second, grid, block, registers, shared_bytes});
    out_.class_of.push_back(c->second);
    out_.duration_us.push_back(static_cast<float>(duration_us));
  }
  Launches take() { return std::move(out_); }

 private:
  using Size = std::array<std::uint32_t, 3>;
  using Key = std::tuple<std::uint32_t, Size, Size, double, double>;
  Launches out_;
  std::map<std::string_view, std::uint32_t> name_ids_;
  std::map<Key, std::uint32_t> class_ids_;
};

/// Old traces state neither; no kernel uses no register.
double known_or_absent(std::uint32_t value) { return value == 0 ? absent : value; }

/// 1: equal, 0: not, 0.5: unknown on one side.
double agree(double a, double b, double tolerance = 0) {
  if (std::isnan(a) || std::isnan(b)) return 0.5;
  return std::abs(a - b) <= tolerance ? 1 : 0;
}

double agree(const Dimensions& a, const Dimensions& b) {
  if (!a.known() || !b.known()) return 0.5;
  if (a.only_total() || b.only_total()) return a.total() == b.total() ? 1 : 0;
  return a == b ? 1 : 0;
}

struct NamePair {
  bool base = false;  // the same base name
  bool same = false;  // and the same template arguments
  double similarity = 0;
};

std::vector<NamePair> compare_names(const std::vector<KernelName>& report,
                                    const std::vector<KernelName>& trace) {
  std::vector<NamePair> pairs;
  pairs.reserve(report.size() * trace.size());
  for (const KernelName& a : report) {
    for (const KernelName& b : trace) {
      pairs.push_back({a.base == b.base, same_kernel(a, b), similarity(a, b)});
    }
  }
  return pairs;
}

}  // namespace

Launches launches_of(const Trace& trace, std::span<const std::uint32_t> activities) {
  Builder builder;
  const Activities& acts = trace.activities;
  for (const std::uint32_t a : activities) {
    Dimensions grid;
    Dimensions block;
    double registers = absent;
    double shared_bytes = absent;
    if (acts.geometry[a].valid()) {
      const LaunchGeometry& g = trace.geometries[acts.geometry[a].index()];
      grid.size = g.grid;
      block.size = g.block;
      registers = known_or_absent(g.registers_per_thread);
      if (!std::isnan(registers)) shared_bytes = g.shared_bytes;
    }
    builder.add(trace.strings.get(acts.name[a]), grid, block, registers, shared_bytes,
                to_us(acts.duration[a]));
  }
  return builder.take();
}

Launches launches_of(const CounterReport& report, std::span<const std::uint32_t> rows) {
  Builder builder;
  for (const std::uint32_t r : rows) {
    builder.add(report.strings.get(report.kernel[r]), report.grid[r], report.block[r],
                report.value(Counter::registers_per_thread, r),
                report.value(Counter::shared_static_bytes, r) +
                    report.value(Counter::shared_dynamic_bytes, r),
                report.value(Counter::duration_ns, r) * 1e-3);
  }
  return builder.take();
}

std::string_view to_string(MatchQuality quality) {
  switch (quality) {
    case MatchQuality::none: return "none";
    case MatchQuality::substitute: return "substitute";
    case MatchQuality::similar: return "similar";
    case MatchQuality::exact: return "exact";
  }
  return "unknown";
}

Correlation::Correlation(const Launches& report, const Launches& trace)
    : report_(report), trace_(trace) {
  const std::vector<NamePair> names = compare_names(report.names, trace.names);
  cells_.reserve(report.classes.size() * trace.classes.size());
  for (const Launch& a : report.classes) {
    for (const Launch& b : trace.classes) {
      const NamePair& name = names[a.name * trace.names.size() + b.name];
      const double grid = agree(a.grid, b.grid);
      const double block = agree(a.block, b.block);
      const double registers = agree(a.registers, b.registers);
      const double shared = agree(a.shared_bytes, b.shared_bytes, shared_tolerance_bytes);
      const bool all = name.same && grid > 0 && block > 0 && registers > 0 && shared > 0;
      const double score = (name.base ? base_weight : 0) + token_weight * name.similarity +
                           grid_weight * grid + block_weight * block +
                           registers_weight * registers - threshold;
      cells_.push_back({static_cast<float>(score), all         ? MatchQuality::exact
                                                   : name.base ? MatchQuality::similar
                                                               : MatchQuality::substitute});
    }
  }
}

}  // namespace tandem
