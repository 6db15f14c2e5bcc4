#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/losses.h"
#include "sim/report/match_report.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

Json share(double part, double whole) { return whole > 0 ? Json(part / whole) : Json(nullptr); }

Json utilization_json(const Utilization& u) {
  return {{"smsp_active_utilization", number(u.smsp_active)},
          {"smsp_issue_utilization", number(u.smsp_issue)},
          {"tc_active_utilization", number(u.tc_active)},
          {"tc_issue_utilization", number(u.tc_issue)}};
}

Json kernels_json(const MatchSummary& s) {
  return {{"count", s.kernels},
          {"matched", s.matched},
          {"exact", s.exact},
          {"similar", s.matched - s.exact},
          {"substituted", s.substituted},
          {"match_rate", share(static_cast<double>(s.matched), static_cast<double>(s.kernels))},
          {"time_us", s.kernel_us},
          {"matched_time_us", s.matched_us},
          {"match_rate_time", share(s.matched_us, s.kernel_us)}};
}

Json rows_json(const MatchSummary& s) {
  return {{"count", s.rows},
          {"matched", s.rows_matched},
          {"match_rate", share(static_cast<double>(s.rows_matched), static_cast<double>(s.rows))},
          {"time_us", s.rows_us},
          {"matched_time_us", s.rows_matched_us},
          {"match_rate_time", share(s.rows_matched_us, s.rows_us)}};
}

Json layers_json(const std::vector<GroupUtilization>& layers) {
  Json list = Json::array();
  for (const GroupUtilization& g : layers) {
    Json layer = {{"name", g.label},
                  {"kernels", g.kernels},
                  {"matched", g.matched},
                  {"time_us", g.kernel_us},
                  {"matched_time_us", g.matched_us}};
    layer.update(utilization_json(g.kernel_time));
    list.push_back(std::move(layer));
  }
  return list;
}

Json unmatched_kernels_json(const MatchReport& r) {
  Json list = Json::array();
  for (std::size_t k = 0; k < r.match.kernels.size(); ++k) {
    const KernelMatch& kernel = r.match.kernels[k];
    if (kernel.quality >= MatchQuality::similar) continue;
    Json entry = {{"index", k},
                  {"name", r.trace.strings.get(r.trace.activities.name[kernel.activity])},
                  {"op", r.names.op[kernel.activity]},
                  {"time_us", to_us(r.trace.activities.duration[kernel.activity])}};
    if (kernel.substitute != no_row) {
      entry["in_its_place"] = r.counters.strings.get(r.counters.kernel[kernel.substitute]);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json unmatched_rows_json(const MatchReport& r) {
  Json list = Json::array();
  for (std::size_t row = 0; row < r.counters.size(); ++row) {
    if (r.match.kernel_of_row[row] != no_row) continue;
    list.push_back({{"id", r.counters.id[row]},
                    {"name", r.counters.strings.get(r.counters.kernel[row])},
                    {"time_us", number(r.counters.value(Counter::duration_ns, row) * 1e-3)}});
  }
  return list;
}

}  // namespace

Json match_json(const MatchReport& r) {
  const MatchSummary& s = r.summary;
  Json out;
  out["schema"] = match_schema;
  out["tandem_version"] = TANDEM_VERSION;
  out["trace"] = r.trace.path;
  out["counters"] = {{"path", r.counters.path}, {"page", r.counters.layout}};
  out["step"] = r.match.step;
  out["iterations"] = s.iterations;
  out["kernels"] = kernels_json(s);
  out["report_rows"] = rows_json(s);
  out["step_us"] = s.step_us;
  out["profiled_clock_ghz"] = number(s.profiled_clock_ghz);
  out["implied_clock_ghz"] = number(s.implied_clock_ghz);
  out["kernel_time"] = utilization_json(s.kernel_time);
  out["whole_step"] = utilization_json(s.step);
  for (const CounterInfo& info : counter_infos()) {
    if (!info.launch) {
      out["sums"][std::string(info.name)] = number(s.sums[static_cast<std::size_t>(info.counter)]);
    }
  }
  out["layers"] = layers_json(r.layers);
  out["unmatched_kernels"] = unmatched_kernels_json(r);
  out["unmatched_rows"] = unmatched_rows_json(r);
  out["data_loss"] = losses_json(r.losses);
  return out;
}

}  // namespace tandem
