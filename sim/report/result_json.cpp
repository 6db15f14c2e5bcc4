#include <nlohmann/json.hpp>

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
          {"framework", t.framework},
          {"gpu", t.gpu},
          {"batch", optional_json(t.batch)},
          {"steps", t.steps},
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
    one["family"] = l ? Json(l->family) : Json(nullptr);
    one["bound"] = l ? Json(l->bound) : Json(nullptr);
    one["bound_law"] = l ? Json(l->bound_law) : Json(nullptr);
    add_levels(l, one);
  }
  return list;
}

Json path_json(const std::vector<PathShare>& shares) {
  Json list = Json::array();
  for (const PathShare& s : shares) {
    list.push_back({{"kind", s.kind},
                    {"name", s.name},
                    {"count", s.count},
                    {"time_us", s.time_us},
                    {"share", s.share}});
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
    Json one = {{"name", f.name},       {"modelled", f.modelled}, {"count", f.count},
                {"time_us", f.time_us}, {"share", f.share},       {"energy_j", f.energy_j}};
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

Json memory_json(const std::optional<MemorySummary>& m) {
  if (!m) return nullptr;
  return {{"peak_bytes", m->peak_bytes},
          {"fits", m->fits},
          {"largest_batch", m->largest_batch},
          {"uncertainty", m->uncertainty}};
}

Json precision_json(const PrecisionSummary& p) {
  return {{"from", p.from},
          {"to", p.to},
          {"casts_added", p.casts_added},
          {"casts_removed", p.casts_removed},
          {"kernels_retyped", p.kernels_retyped},
          {"switch_share", p.switch_share},
          {"unmodelled_share", p.unmodelled_share},
          {"item_memory_ratio", p.item_memory_ratio},
          {"expected_error", p.expected_error}};
}

Json retarget_json(const RetargetSummary& r) {
  return {{"from", r.from},
          {"kernels_added", r.added},
          {"kernels_dropped", r.dropped},
          {"changed_share", r.changed_share},
          {"unmodelled_share", r.unmodelled_share},
          {"expected_error", r.expected_error}};
}

Json batch_json(const std::optional<BatchConfidenceSummary>& b) {
  if (!b) return nullptr;
  return {{"factor", b->factor},
          {"extrapolated", b->extrapolated},
          {"affine_share", b->affine_share},
          {"switch_share", b->switch_share},
          {"expected_error", b->expected_error}};
}

Json fusion_json(const FusionSummary& f) {
  Json kernels = Json::array();
  for (const FusedKernelSummary& k : f.kernels) {
    kernels.push_back({{"name", k.name},
                       {"operations", k.operations},
                       {"bytes", k.bytes},
                       {"time_us", k.time_us}});
  }
  return {{"compiler", f.compiler},
          {"attention", f.attention},
          {"kernels_before", f.kernels_before},
          {"kernels_after", f.kernels_after},
          {"gpu_before_us", f.gpu_before_us},
          {"gpu_after_us", f.gpu_after_us},
          {"bytes_before", f.bytes_before},
          {"bytes_after", f.bytes_after},
          {"host_before_us", f.host_before_us},
          {"host_after_us", f.host_after_us},
          {"layout_us", f.layout_us},
          {"attention_keep_us", f.attention_keep_us},
          {"attention_math_us", f.attention_math_us},
          {"unknown_share", f.unknown_share},
          {"expected_error", f.expected_error},
          {"generated", std::move(kernels)}};
}

/// Adds energy_j, average_power_w and energy.{...}_j to the step.
void add_energy(const std::optional<EnergySummary>& e, std::optional<std::int64_t> batch,
                Json& step) {
  step["energy_j"] = e ? Json(e->energy_j) : Json(nullptr);
  step["average_power_w"] = e ? Json(e->average_power_w) : Json(nullptr);
  step["energy_per_sample_j"] =
      e && batch ? Json(e->energy_j / static_cast<double>(*batch)) : Json(nullptr);
  step["energy"] = nullptr;
  if (!e) return;
  Json parts = Json::object();
  for (const EnergyInfo& info : energy_infos()) parts[info.name] = (*e).*info.member;
  step["energy"] = std::move(parts);
}

}  // namespace

Json result_json(const Result& r) {
  Json out;
  out["schema"] = result_schema;
  out["tandem_version"] = TANDEM_VERSION;
  out["trace"] = trace_json(r.trace);
  out["scenario"] = {{"gpu", r.scenario.gpu},
                     {"mode", r.scenario.mode},
                     {"batch", optional_json(r.scenario.batch)},
                     {"precision", r.scenario.precision},
                     {"profiler", r.scenario.profiler},
                     {"host", r.scenario.host}};
  out["fidelity"]["steps"] = Json::array();
  for (const StepFidelity& s : r.fidelity) {
    out["fidelity"]["steps"].push_back(
        {{"name", s.name}, {"traced_us", s.traced_us}, {"simulated_us", s.simulated_us}});
  }
  for (const MetricInfo& info : step_metric_infos()) out["step"][info.name] = info.value(r.step);
  out["step"]["launches"] = r.step.launches;
  out["step"]["kernels"] = r.step.kernels;
  add_gpu_metrics(r.gpu_step, out["step"]);
  out["step"]["memory_peak_bytes"] = r.memory ? Json(r.memory->peak_bytes) : Json(nullptr);
  out["step"]["fits"] = r.memory ? Json(r.memory->fits) : Json(nullptr);
  add_energy(r.energy, r.scenario.batch, out["step"]);
  out["memory"] = memory_json(r.memory);
  out["batch"] = batch_json(r.batch);
  if (r.precision) out["precision"] = precision_json(*r.precision);
  if (r.retarget) out["retarget"] = retarget_json(*r.retarget);
  if (r.fusion) out["fusion"] = fusion_json(*r.fusion);
  out["kernel_time"]["time_us"] = r.step.gpu_kernel_us;
  add_gpu_metrics(r.gpu_kernel_time, out["kernel_time"]);
  out["families"] = families_json(r.families);
  out["distributions"] = {{"smsp_issue_utilization", bins_json(r.smsp_issue_bins)},
                          {"tc_issue_utilization", bins_json(r.tc_issue_bins)}};
  out["limited_by"] = r.limited_by;
  out["expected_error"] = r.expected_error;
  out["graph_captured_us"] = r.graph_captured_us;
  out["kernels"] = kernels_json(r.kernels);
  out["ops"] = shares_json(r.ops);
  out["layers"] = layers_json(r.layers);
  out["critical_path"] = path_json(r.critical_path);
  out["data_loss"] = Json::array();
  for (const Loss& loss : r.losses.all()) {
    out["data_loss"].push_back({{"code", loss.code},
                                {"severity", to_string(loss.severity)},
                                {"count", loss.count},
                                {"description", loss.description}});
  }
  return out;
}

}  // namespace tandem
