#include "validation/fits/energy/captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/step/energy_works.h"
#include "models/step/op_nesting.h"
#include "sim/core/error.h"
#include "sim/trace/import.h"
#include "sim/trace/source/stored_name.h"
#include "validation/compare/measured_energy.h"

namespace tandem {

namespace {

/// False if nothing was measured.
bool read_meta(const std::string& path, Capture& capture) {
  const auto measured = measured_energy(path);
  if (!measured) return false;
  capture.window_us = measured->window_us;
  capture.power_w = measured->power_w;
  capture.counter_j = measured->counter_j;
  return true;
}

/// "bert_base2l" holds the kernels of "bert_base", fewer of them: one model.
std::string model_of(const std::string& name) {
  std::string model = name.substr(0, name.find('-'));
  if (model.ends_with("l")) {
    const std::size_t digits = model.find_last_not_of("0123456789", model.size() - 2);
    if (digits + 2 < model.size()) model.resize(digits + 1);
    if (model.ends_with("_")) model.pop_back();
  }
  return model;
}

void read_trace(const std::string& path, const GpuCatalogue& gpus, bool shapes, Capture& capture) {
  capture.trace = std::make_unique<Trace>(import_trace(path));
  const Trace& trace = *capture.trace;
  if (trace.devices.empty()) throw InputError(path, "deviceProperties", "none", "a device");
  capture.gpu = match_device(gpus, trace.devices[0]).gpu;
  if (capture.gpu == nullptr) {
    throw InputError(path, "deviceProperties", trace.devices[0].name, "a GPU of configs/gpus");
  }
  capture.links = link_trace(trace);
  OpNesting ops = nest_ops(trace, capture.links);
  if (!shapes) std::fill(ops.of_call.begin(), ops.of_call.end(), no_row);
  capture.launches = std::make_unique<TraceLaunches>(trace, capture.links, ops.of_call);
  for (const StepWindow& step : capture.links.steps) {
    capture.steps.push_back(activities_of_step(trace, capture.links, step));
  }
}

}  // namespace

std::vector<Capture> load_captures(const std::string& folder, const GpuCatalogue& gpus,
                                   bool shapes) {
  namespace fs = std::filesystem;
  const fs::path traces = fs::is_directory(fs::path(folder) / "traces")
                              ? fs::path(folder) / "traces"
                              : fs::path(folder);
  constexpr std::string_view suffix = ".meta.json";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(traces, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  }
  if (error) throw InputError(traces.string(), "", error.message(), "a folder of captures");
  std::sort(names.begin(), names.end());
  std::vector<Capture> captures;
  for (const std::string& name : names) {
    Capture capture;
    capture.name = name;
    capture.model = model_of(name);
    const std::string stem = (traces / name).string();
    const auto trace = find_stored(stem + ".json");
    if (!trace || !read_meta(stem + ".meta.json", capture)) continue;
    read_trace(*trace, gpus, shapes, capture);
    captures.push_back(std::move(capture));
  }
  return captures;
}

std::vector<EnergyWork> works_of(const Capture& capture, const CostConstants& costs,
                                 const WorkRules& rules) {
  std::vector<EnergyWork> all;
  for (std::size_t s = 0; s < capture.steps.size(); ++s) {
    const auto works = energy_works(*capture.trace, *capture.launches, *capture.gpu, costs, rules,
                                    capture.steps[s], capture.links.steps[s].begin);
    all.insert(all.end(), works.begin(), works.end());
  }
  return all;
}

StepEnergy predict(const Capture& capture, const TraceEnergyModel& model,
                   const CostConstants& costs, const WorkRules& rules) {
  std::vector<EnergyWork> works = works_of(capture, costs, rules);
  const double steps = static_cast<double>(capture.steps.size());
  for (EnergyWork& work : works) {
    work.sm_active_us /= steps;
    work.dram_bytes /= steps;
    work.tensor_flop /= steps;
    work.fp32_flop /= steps;
    work.instructions /= steps;
  }
  return trace_energy(model, works, capture.window_us);
}

ErrorStats error_stats(std::vector<double> errors) {
  ErrorStats stats;
  stats.count = errors.size();
  if (errors.empty()) return stats;
  for (double& e : errors) {
    stats.bias += e / static_cast<double>(errors.size());
    e = std::abs(e);
    stats.mean += e / static_cast<double>(errors.size());
    stats.worst = std::max(stats.worst, e);
  }
  std::sort(errors.begin(), errors.end());
  stats.median = errors[errors.size() / 2];
  return stats;
}

std::string to_text(const ErrorStats& s) {
  return fmt::format("n {:3}  mean {:5.2f} %  median {:5.2f} %  worst {:5.1f} %  bias {:+5.2f} %",
                     s.count, 100 * s.mean, 100 * s.median, 100 * s.worst, 100 * s.bias);
}

}  // namespace tandem
