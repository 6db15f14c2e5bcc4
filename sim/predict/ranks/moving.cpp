#include "sim/predict/ranks/moving.h"

#include <algorithm>
#include <map>
#include <string>

#include "models/collective/collective_time.h"

namespace tandem {

namespace {

/// A collective that lasts no longer than this times what it should waited for nobody: repeated
/// ones differ by 15 %.
constexpr double unwaited = 1.3;
/// A trace whose shortest collectives take this many times what the law says, or less than its
/// inverse, waited in all of them, or runs over links that the law knows nothing of.
constexpr double plausible = 1.7;

/// Measured over modelled time of collectives that nobody waited in; 1 where the trace shows none.
double traced_residual(std::vector<double> ratios) {
  if (ratios.empty()) return 1;
  std::sort(ratios.begin(), ratios.end());
  // A tenth up: single kernels are cut short where the trace begins.
  const double least = ratios[ratios.size() / 10];
  if (least > plausible || least < 1 / plausible) return 1;
  const auto end = std::upper_bound(ratios.begin(), ratios.end(), unwaited * least);
  return ratios[static_cast<std::size_t>(end - ratios.begin()) / 2];
}

}  // namespace

std::vector<std::uint32_t> collectives_of(const Plan& plan, const PlanStep& step) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = step.first_item; i < step.end_item; ++i) {
    const HostItem& item = plan.items[i];
    for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
      if (plan.works[w].engine == DeviceEngine::collective) out.push_back(w);
    }
  }
  return out;
}

void remove_waits(const Trace& trace, const GpuArch* gpu, const CollectiveLaw& law,
                  MeasuredPlan& run, LossList& losses) {
  std::vector<double> model_us(run.plan.works.size(), 0);
  std::vector<double> ratios;
  std::int64_t unknown = 0;
  std::int64_t known = 0;
  for (std::size_t w = 0; w < run.plan.works.size(); ++w) {
    const DeviceWork& work = run.plan.works[w];
    if (work.engine != DeviceEngine::collective) continue;
    const Collective& c = *collective_of(trace, work.source);
    const int ranks = c.ranks > 0 ? c.ranks : trace.distributed.world_size;
    const CollectiveTime time =
        gpu == nullptr ? CollectiveTime{} : collective_time(*gpu, law, c, ranks);
    unknown += !time.known;
    if (!time.known) continue;
    ++known;
    model_us[w] = time.us;
    ratios.push_back(to_us(work.duration) / time.us);
  }
  const double residual = traced_residual(std::move(ratios));
  for (std::size_t w = 0; w < run.plan.works.size(); ++w) {
    Duration& duration = run.plan.works[w].duration;
    const double moving_us = residual * model_us[w];
    if (moving_us > 0 && to_us(duration) > unwaited * moving_us) duration = from_us(moving_us);
  }
  losses.add("other_ranks_not_traced", Severity::info,
             "collectives: the other ranks are taken to come to them when this one does; their "
             "traces beside this one tell (tandem replay RANK0 RANK1)",
             known);
  losses.add("collective_waits_unknown", Severity::warning,
             "collectives without a model (size, kind or number of ranks unknown): they last as "
             "traced, waiting for other ranks included",
             unknown);
}

bool remove_waits(std::span<const MeasuredRank> ranks) {
  // By step and group, the k-th collective of each rank is the same one.
  std::map<std::pair<std::string, std::string>, std::vector<std::vector<DeviceWork*>>> meetings;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Plan& plan = ranks[r].run.plan;
    for (const PlanStep& step : ranks[r].run.steps) {
      if (step.end_item == no_index) continue;
      for (const std::uint32_t w : collectives_of(plan, step)) {
        const Collective& c = *collective_of(ranks[r].trace, plan.works[w].source);
        if (c.kind == CollectiveKind::point_to_point) continue;
        auto& parts = meetings[{step.name, c.group}];
        parts.resize(ranks.size());
        parts[r].push_back(&plan.works[w]);
      }
    }
  }
  bool any = false;
  for (auto& [key, parts] : meetings) {
    std::erase_if(parts, [](const auto& list) { return list.empty(); });
    const std::size_t count = parts.front().size();
    const bool alike = std::all_of(parts.begin(), parts.end(),
                                   [&](const auto& list) { return list.size() == count; });
    if (parts.size() < 2 || !alike) continue;
    any = true;
    for (std::size_t k = 0; k < count; ++k) {
      Duration moving = Duration::max();
      for (const auto& list : parts) moving = std::min(moving, list[k]->duration);
      for (const auto& list : parts) list[k]->duration = moving;
    }
  }
  return any;
}

}  // namespace tandem
