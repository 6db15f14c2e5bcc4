#include <nlohmann/json.hpp>

#include "sim/report/losses.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json trace_json(const TraceSummary& t) {
  return {{"path", t.path},
          {"format", t.format},
          {"framework", to_string(t.framework)},
          {"gpu", t.gpu},
          {"batch", optional_json(t.batch)},
          {"passes", t.passes},
          {"steps", t.steps},
          {"steps_by", to_string(t.steps_by)},
          {"traced_step_us", t.traced_step_us},
          {"unprofiled_step_us", t.unprofiled_step_us},
          {"kernels", t.kernels},
          {"launches", t.launches},
          {"host_ops", t.host_ops},
          {"streams", t.streams},
          {"rank", t.rank},
          {"world_size", t.world_size}};
}

Json shares_json(const std::vector<TimeShare>& shares) {
  Json list = Json::array();
  for (const TimeShare& s : shares) {
    list.push_back({{"name", s.name},
                    {"count", s.count},
                    {"time_us", s.time_us},
                    {"share", s.share},
                    {"energy_j", s.energy_j}});
  }
  return list;
}

void add_levels(const std::optional<KernelLevels>& levels, Json& one) {
  one["reason"] = levels ? Json(to_string(levels->reason)) : Json(nullptr);
  for (const KernelLevelInfo& info : kernel_level_infos()) {
    one[info.name] = levels ? Json(info.value(*levels)) : Json(nullptr);
  }
}

/// Shares with the counter levels; null for copies and on an unknown GPU.
Json layers_json(const std::vector<TimeShare>& shares) {
  Json list = shares_json(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) add_levels(shares[i].levels, list[i]);
  return list;
}

Json kernels_json(const std::vector<TimeShare>& shares) {
  Json list = shares_json(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::optional<KernelLevels>& l = shares[i].levels;
    Json& one = list[i];
    one["family"] = l ? Json(to_string(l->family)) : Json(nullptr);
    one["bound"] = l ? Json(to_string(l->bound)) : Json(nullptr);
    one["bound_law"] = l ? Json(l->bound_law) : Json(nullptr);
    one["op"] = shares[i].op;
    one["layer"] = shares[i].layer;
    add_levels(l, one);
  }
  return list;
}

Json path_json(const std::vector<PathShare>& shares) {
  Json list = Json::array();
  for (const PathShare& s : shares) {
    list.push_back({{"kind", to_string(s.kind)},
                    {"name", s.name},
                    {"count", s.count},
                    {"time_us", s.time_us},
                    {"share", s.share}});
  }
  return list;
}

/// What the step's time consists of; sums to step.time_us.
Json parts_json(const std::vector<StepPart>& parts) {
  Json list = Json::array();
  for (const StepPart& p : parts) {
    list.push_back({{"kind", to_string(p.kind)},
                    {"op", p.op},
                    {"layer", p.layer},
                    {"name", p.name},
                    {"count", p.count},
                    {"time_us", to_us(p.time)}});
  }
  return list;
}

void add_gpu_metrics(const std::optional<GpuMetrics>& metrics, Json& out) {
  for (const GpuMetricInfo& info : gpu_metric_infos()) {
    out[info.name] = metrics ? Json((*metrics).*info.member) : Json(nullptr);
  }
}

Json families_json(const std::vector<FamilyShare>& families) {
  Json list = Json::array();
  for (const FamilyShare& f : families) {
    Json one = {{"name", to_string(f.family)}, {"modelled", f.modelled}, {"count", f.count},
                {"time_us", f.time_us},        {"share", f.share},       {"energy_j", f.energy_j}};
    add_gpu_metrics(f.metrics, one);
    list.push_back(std::move(one));
  }
  return list;
}

Json bins_json(const std::vector<UtilizationBin>& bins) {
  Json list = Json::array();
  for (const UtilizationBin& b : bins) {
    list.push_back(
        {{"from", b.from}, {"to", b.to}, {"kernels", b.kernels}, {"time_us", b.time_us}});
  }
  return list;
}

Json scenario_json(const ScenarioSummary& s) {
  Json out = {{"gpu", s.gpu}, {"mode", s.mode_name()}};
  if (s.graph_scope) out["graph_scope"] = name_of(graph_scopes(), *s.graph_scope);
  out["batch"] = optional_json(s.batch);
  out["passes"] = s.passes;
  out["precision"] = s.precision;
  out["profiler"] = name_of(profilers, s.profiler);
  out["host"] = s.host;
  return out;
}

Json fidelity_json(const std::vector<StepFidelity>& steps) {
  Json list = Json::array();
  for (const StepFidelity& s : steps) {
    list.push_back(
        {{"name", s.name}, {"traced_us", s.traced_us}, {"simulated_us", s.simulated_us}});
  }
  return {{"steps", std::move(list)}};
}

Json runtime_json(const RuntimeMetrics& runtime) {
  Json out;
  for (const RuntimeMetricInfo& info : runtime_metric_infos()) {
    out[info.name] = runtime.*info.member;
  }
  return out;
}

Json band_json(const Result& r) {
  return {{"low_us", r.band.low_us},
          {"high_us", r.band.high_us},
          {"gpu_kernel_low_us", r.gpu_band.low_us},
          {"gpu_kernel_high_us", r.gpu_band.high_us},
          {"unverified", r.band_parts.unverified}};
}

Json graphs_json(const std::vector<GraphSummary>& graphs) {
  Json list = Json::array();
  for (const GraphSummary& g : graphs) {
    list.push_back(
        {{"nodes", g.nodes}, {"device_us", g.device_us}, {"followed_by", g.followed_by}});
  }
  return list;
}

Json memory_json(const std::optional<MemorySummary>& m) {
  if (!m) return nullptr;
  return {{"peak_bytes", m->peak_bytes},
          {"fits", m->fits},
          {"largest_batch", m->largest_batch},
          {"uncertainty", m->uncertainty()},
          {"low_bytes", m->low_bytes},
          {"high_bytes", m->high_bytes},
          {"parameters_bytes", m->kept.parameters},
          {"states_bytes", m->kept.states},
          {"buckets_bytes", m->kept.buckets},
          {"workspaces_bytes", m->kept.workspaces},
          {"tensors_bytes", m->tensors_bytes()}};
}

/// Over the traced step; null where nothing was changed.
Json speed_up_json(const std::optional<SpeedUp>& s) {
  if (!s) return nullptr;
  return {{"base_us", s->base_us}, {"value", s->value}, {"low", s->low}, {"high", s->high}};
}

Json moved_json(const std::optional<MovedSummary>& m) {
  if (!m) return nullptr;
  return {{"count", m->count},
          {"bytes", m->bytes},
          {"time_us", m->time_us},
          {"exposed_us", m->exposed_us}};
}

Json ranks_json(const std::optional<RanksSummary>& summary) {
  if (!summary) return nullptr;
  Json ranks = Json::array();
  for (const RankShare& r : summary->ranks) {
    ranks.push_back({{"rank", r.rank},
                     {"time_us", r.time_us},
                     {"collective_us", r.collective_us},
                     {"waiting_us", r.waiting_us},
                     {"exposed_us", r.exposed_us}});
  }
  return {{"time_us", summary->time_us},
          {"skew_mean_us", summary->skew_mean_us},
          {"skew_worst_us", summary->skew_worst_us},
          {"ranks", std::move(ranks)}};
}

Json value_json(const ReportValue& v) {
  return std::visit([](const auto& value) { return Json(value); }, v.value);
}

/// The object of one what-if, under the name that its row gives it.
Json report_json(const TransformReport& report) {
  Json out;
  for (const ReportValue& v : report.values) out[v.name] = value_json(v);
  out["expected_error"] = report.expected_error;
  for (const ReportList& list : report.lists) {
    Json rows = Json::array();
    for (const std::vector<ReportValue>& row : list.rows) {
      Json one;
      for (const ReportValue& v : row) one[v.name] = value_json(v);
      rows.push_back(std::move(one));
    }
    out[list.name] = std::move(rows);
  }
  return out;
}

/// "batch" is there, as null, without another batch too: schema tandem.result/1.
void add_reports(const std::vector<TransformReport>& reports, Json& out) {
  out["batch"] = nullptr;
  for (const TransformReport& report : reports) out[report.json] = report_json(report);
}

/// The same, as a list that needs no names of what-ifs to be read.
Json what_ifs_json(const std::vector<TransformReport>& reports) {
  Json list = Json::array();
  for (const TransformReport& report : reports) {
    Json values = Json::array();
    for (const ReportValue& v : report.values) {
      values.push_back(
          {{"name", v.name}, {"unit", v.unit}, {"value", value_json(v)}, {"description", v.doc}});
    }
    list.push_back({{"name", report.name},
                    {"from", report.from},
                    {"to", report.to},
                    {"expected_error", report.expected_error},
                    {"values", std::move(values)}});
  }
  return list;
}

/// Adds energy_j, average_power_w and energy.{...}_j to the step.
void add_energy(const std::optional<EnergySummary>& e, std::optional<std::int64_t> items,
                Json& step) {
  step["energy_j"] = e ? Json(e->energy_j) : Json(nullptr);
  step["average_power_w"] = e ? Json(e->average_power_w) : Json(nullptr);
  step["energy_per_sample_j"] =
      e && items ? Json(e->energy_j / static_cast<double>(*items)) : Json(nullptr);
  step["energy"] = nullptr;
  if (!e) return;
  Json parts = Json::object();
  for (const EnergyInfo& info : energy_infos()) parts[info.name] = (*e).*info.member;
  step["energy"] = std::move(parts);
}

Json step_json(const Result& r) {
  Json out;
  for (const MetricInfo& info : step_metric_infos()) out[info.name] = info.value(r.step);
  out["launches"] = r.step.launches;
  out["kernels"] = r.step.kernels;
  add_gpu_metrics(r.gpu_step, out);
  out["memory_peak_bytes"] = r.memory ? Json(r.memory->peak_bytes) : Json(nullptr);
  out["fits"] = r.memory ? Json(r.memory->fits) : Json(nullptr);
  add_energy(r.energy, r.scenario.items(), out);
  return out;
}

/// What limits the step and how far off its prediction may be.
void add_verdict(const Result& r, Json& out) {
  out["limited_by"] = to_string(r.limited_by);
  out["expected_error"] = r.expected_error;
  out["band"] = band_json(r);
  out["speed_up"] = speed_up_json(r.speed_up);
}

/// What the step waits for beside its kernels.
void add_waits(const Result& r, Json& out) {
  out["collectives"] = moved_json(r.collectives);
  out["input_wait_us"] = r.input_wait_us;
  out["input_critical_us"] = r.input_critical_us;
  out["input_copies"] = moved_json(r.input_copies);
  out["ranks"] = ranks_json(r.ranks);
}

/// What the step consists of.
void add_lists(const Result& r, Json& out) {
  out["kernels"] = kernels_json(r.kernels);
  out["ops"] = layers_json(r.ops);
  out["layers"] = layers_json(r.layers);
  out["modules"] = layers_json(r.modules);
  out["critical_path"] = path_json(r.critical_path);
  out["step_parts"] = parts_json(r.parts);
}

}  // namespace

Json job_json(const JobCost& c) {
  return {{"samples", c.job.samples},
          {"gpus", c.gpus},
          {"hours", c.hours},
          {"board_kwh", optional_json(c.kwh)},
          {"price_per_gpu_hour",
           c.job.price_per_gpu_hour > 0 ? Json(c.job.price_per_gpu_hour) : Json(nullptr)},
          {"price", optional_json(c.price)}};
}

Json result_json(const Result& r) {
  Json out;
  out["schema"] = result_schema;
  out["tandem_version"] = TANDEM_VERSION;
  out["trace"] = trace_json(r.trace);
  out["scenario"] = scenario_json(r.scenario);
  out["fidelity"] = fidelity_json(r.fidelity);
  out["step"] = step_json(r);
  out["memory"] = memory_json(r.memory);
  if (r.job) out["job"] = job_json(*r.job);
  add_reports(r.what_ifs, out);
  out["kernel_time"]["time_us"] = r.step.gpu_kernel_us;
  add_gpu_metrics(r.gpu_kernel_time, out["kernel_time"]);
  if (r.runtime) out["runtime"] = runtime_json(*r.runtime);
  out["families"] = families_json(r.families);
  out["distributions"] = {{"smsp_issue_utilization", bins_json(r.smsp_issue_bins)},
                          {"tc_issue_utilization", bins_json(r.tc_issue_bins)}};
  add_waits(r, out);
  add_verdict(r, out);
  out["graph_captured_us"] = r.graph_captured_us;
  out["graphs"] = graphs_json(r.graphs);
  add_lists(r, out);
  out["what_ifs"] = what_ifs_json(r.what_ifs);
  out["data_loss"] = losses_json(r.losses);
  return out;
}

}  // namespace tandem
