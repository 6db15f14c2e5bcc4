#include "sim/report/html/result_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/core/text/texts.h"
#include "sim/report/html/result_sections.h"

namespace tandem::html {

namespace {

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

std::string limit_sentence(const Result& r) {
  if (r.step.gpu_kernel_us <= 0) return "All of it is the host's: the step has no GPU work.";
  if (r.limited_by == StepLimit::gpu) return "The GPU limits the step.";
  if (r.limited_by == StepLimit::host)
    return "The host limits the step: the GPU waits for launches.";
  return "Host and GPU limit the step about equally.";
}

std::string answer_text(const Result& r) {
  std::string text = fmt::format(
      "One step takes {} on {} at batch {}, mode {}; nine of ten measurements lie between {} and "
      "{}. {}",
      time_text(r.step.time_us), r.scenario.gpu, batch_text(r.scenario.batch, r.scenario.passes),
      r.scenario.mode_name(), time_text(r.band.low_us), time_text(r.band.high_us),
      limit_sentence(r));
  if (r.scenario.profiler == Profiler::remove && r.trace.traced_step_us > 0) {
    text += fmt::format(" The traced step took {}, profiler included.",
                        time_text(r.trace.traced_step_us));
  }
  return text;
}

Figures answer_figures(const Result& r) {
  const StepMetrics& m = r.step;
  Figures out;
  const auto add = [&](std::string name, std::string value, std::string note) {
    out.figures.push_back({std::move(name), std::move(value), std::move(note)});
  };
  add("Step time", time_text(m.time_us), fmt::format("limited by {}", to_string(r.limited_by)));
  add("Throughput", fmt::format("{:.1f} /s", m.throughput_per_s),
      r.scenario.batch ? "samples" : "steps");
  if (r.speed_up) {
    add("Speed-up", fmt::format("{:.2f} x", r.speed_up->value),
        fmt::format("{:.2f} to {:.2f}, over the traced step's {}", r.speed_up->low,
                    r.speed_up->high, time_text(r.speed_up->base_us)));
  }
  add("GPU busy", percent(m.gpu_utilization),
      fmt::format("{} in {} kernels and copies", time_text(m.gpu_busy_us), m.kernels));
  add("Launches", std::to_string(m.launches),
      fmt::format("queue empty {} of a step by itself", percent(m.queue_empty_share)));
  if (r.energy && r.energy->energy_j > 0) {
    add("Energy", fmt::format("{:.3g} J", r.energy->energy_j),
        fmt::format("a step, \xC2\xB1 {:.0f} %, at {:.0f} W",
                    100 * r.energy->error_j / r.energy->energy_j, r.energy->average_power_w));
  }
  if (r.memory) {
    add("Peak memory", fmt::format("{:.2f} GB", r.memory->peak_bytes * 1e-9),
        r.memory->fits ? fmt::format("fits up to about batch {}", r.memory->largest_batch)
                       : "DOES NOT FIT this GPU");
  }
  if (r.collectives) {
    add("Collectives", time_text(r.collectives->time_us),
        fmt::format("{} while nothing computes", time_text(r.collectives->exposed_us)));
  }
  if (r.input_wait_us > 0) add("Waiting for input", time_text(r.input_wait_us), "");
  return out;
}

Section answer_section(const Result& r) {
  Section out{"Answer", answer_text(r), {}};
  out.blocks.emplace_back(answer_figures(r));
  out.blocks.emplace_back(
      BandBar{"Step time", r.band.low_us, r.step.time_us, r.band.high_us, "us"});
  Notes notes;
  for (const TransformReport& w : r.what_ifs) {
    notes.notes.push_back(
        {"info", fmt::format("{}: {} \xE2\x86\x92 {}", w.name, w.from, w.to),
         fmt::format("expected to be off by {} of the GPU time", percent(w.expected_error))});
  }
  for (const Loss& loss : r.losses.all()) {
    if (loss.severity != Severity::data_loss) continue;
    notes.notes.push_back(
        {"data_loss", fmt::format("{} ({} x)", loss.code, loss.count), loss.description});
  }
  if (!notes.notes.empty()) out.blocks.emplace_back(std::move(notes));
  return out;
}

BarChart level_chart(const Result& r) {
  BarChart chart;
  chart.title = "Four levels of utilization";
  chart.axis = "cycles or time in use";
  chart.unit = "ratio";
  chart.most = 1;
  chart.bars = {"GPU busy", "SMSP active", "issue slots", "tensor cores"};
  const auto levels = [](double busy, const GpuMetrics& m) -> std::vector<double> {
    return {busy, m.smsp_active_utilization, m.smsp_issue_utilization, m.tc_active_utilization};
  };
  if (r.gpu_step) {
    chart.series.push_back({"of the whole step", levels(r.step.gpu_utilization, *r.gpu_step)});
  }
  if (r.gpu_kernel_time) {
    chart.series.push_back({"while kernels run", levels(page_unknown, *r.gpu_kernel_time)});
  }
  return chart;
}

BarChart bin_chart(const std::string& title, const std::string& axis,
                   const std::vector<UtilizationBin>& bins) {
  BarChart chart;
  chart.title = title;
  chart.axis = "kernel time";
  chart.unit = "us";
  chart.bar_axis = axis;
  chart.lying = false;
  BarSeries series;
  for (const UtilizationBin& bin : bins) {
    chart.bars.push_back(fmt::format("{:.0f}\xE2\x80\x93{:.0f}", 100 * bin.from, 100 * bin.to));
    series.values.push_back(bin.time_us);
  }
  chart.series = {std::move(series)};
  return chart;
}

Section use_section(const ResultView& view) {
  const Result& r = view.result;
  Section out{
      "How well the GPU is used",
      "Each level is a share of the one above it: the GPU runs a kernel, a sub-partition of "
      "an SM (SMSP) holds a warp, it issues an instruction, its tensor core works.",
      {}};
  if (r.step.gpu_kernel_us <= 0) return {out.title, "The step has no GPU work.", {}};
  BarChart levels = level_chart(r);
  if (!levels.series.empty()) out.blocks.emplace_back(std::move(levels));
  for (XyChart& roofline :
       std::array{flop_roofline(r, view.gpu), instruction_roofline(r, view.gpu)}) {
    if (!roofline.series.empty()) out.blocks.emplace_back(std::move(roofline));
  }
  const auto bins = [&](const std::string& title, const std::string& axis,
                        const std::vector<UtilizationBin>& values) {
    const bool any = std::any_of(values.begin(), values.end(),
                                 [](const UtilizationBin& b) { return b.time_us > 0; });
    if (any) out.blocks.emplace_back(bin_chart(title, axis, values));
  };
  bins("Kernel time by use of issue slots", "issue slots in use (%)", r.smsp_issue_bins);
  bins("Kernel time by issue of tensor instructions", "issue slots with tensor instructions (%)",
       r.tc_issue_bins);
  if (out.blocks.empty()) out.text = "No model of this GPU: only times are known.";
  return out;
}

Section time_section(const ResultView& view) {
  return {"Timeline",
          "One step of the scenario by itself, on the host and on the GPU. Where the critical path "
          "has the colours of the host, faster kernels would not help.",
          {step_tracks(view)}};
}

/// Time on the critical path by kind, longest first.
BarChart path_chart(const Result& r) {
  std::vector<std::pair<PathKind, double>> kinds;
  for (const PathShare& p : r.critical_path) {
    const auto at = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const auto& kind) { return kind.first == p.kind; });
    if (at == kinds.end()) {
      kinds.emplace_back(p.kind, p.time_us);
    } else {
      at->second += p.time_us;
    }
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  BarChart chart;
  chart.title = "By kind";
  chart.axis = "time on the critical path";
  chart.unit = "us";
  chart.series.resize(1);
  for (const auto& [kind, time_us] : kinds) {
    chart.bars.emplace_back(to_string(kind));
    chart.series[0].values.push_back(time_us);
  }
  return chart;
}

Section path_section(const Result& r) {
  Table table{"", {{"kind"}, {"name"}, {"count", "count"}, {"time", "us"}, {"share", "ratio"}}, {}};
  for (const PathShare& p : r.critical_path) {
    table.rows.push_back({std::string(to_string(p.kind)), std::string(without_void(p.name)),
                          double(p.count), p.time_us, p.share});
  }
  return {"Critical path",
          "The chain of host time, launches, gaps and kernels in which each begins when the one "
          "before it ends, in a loop of such steps: shorten these to shorten the step.",
          {path_chart(r), std::move(table)}};
}

Section energy_section(const Result& r) {
  const EnergySummary& e = *r.energy;
  Section out{"Energy",
              fmt::format("Of the board in one step: {:.3g} J at {:.0f} W on average, standard "
                          "deviation {:.2g} J. Moving the step's data takes {:.2g} J at least.",
                          e.energy_j, e.average_power_w, e.error_j, e.lower_bound_data_movement_j),
              {}};
  if (e.power_limited_share > 0) {
    out.text += fmt::format(" The board's power limit costs {} of the step.",
                            percent(e.power_limited_share));
  }
  BarChart chart;
  chart.title = "Where it goes";
  chart.axis = "energy of one step";
  chart.unit = "J";
  const std::pair<const char*, double> parts[] = {{"static: the idle board", e.static_j},
                                                  {"DRAM", e.dram_j},
                                                  {"L2", e.l2_j},
                                                  {"L1", e.l1_j},
                                                  {"shared memory", e.shared_j},
                                                  {"FP32 pipes", e.compute_j},
                                                  {"tensor cores", e.tensor_j},
                                                  {"other instructions", e.instructions_j},
                                                  {"active SMs", e.other_j}};
  BarSeries series;
  for (const auto& [name, value] : parts) {
    chart.bars.emplace_back(name);
    series.values.push_back(value);
  }
  chart.series = {std::move(series)};
  out.blocks = {std::move(chart)};
  return out;
}

std::string basis_text(const BandParts& parts) {
  switch (parts.basis) {
    case HostBasis::trace: return "host times of the trace, the profiler's share taken out";
    case HostBasis::measured_step:
      return "host times of the trace, fitted to a step that was timed";
    case HostBasis::kept: return "host times of the trace, profiler included";
    case HostBasis::executor: return "operations that run on the host's threads";
    case HostBasis::network: return "host times of a typical machine: no trace was read";
    case HostBasis::compiled: return "host times of compiled code that no trace has seen";
  }
  return {};
}

Table fidelity_table(const Result& r) {
  Table table{"Traced steps, simulated again",
              {{"step"}, {"traced", "us"}, {"simulated", "us"}, {"error", "ratio"}},
              {}};
  for (const StepFidelity& s : r.fidelity) {
    table.rows.push_back({s.name, s.traced_us, s.simulated_us,
                          s.traced_us > 0 ? s.simulated_us / s.traced_us - 1 : page_unknown});
  }
  return table;
}

Section trust_section(const Result& r) {
  Section out{"How sure it is, and what was not modelled",
              fmt::format("The bands come from measured runs that nothing was fitted on; they rest "
                          "on {}. {} of the critical path is on the GPU.",
                          basis_text(r.band_parts), percent(r.band_parts.gpu_share)),
              {}};
  out.blocks.emplace_back(
      BandBar{"Step time", r.band.low_us, r.step.time_us, r.band.high_us, "us"});
  out.blocks.emplace_back(
      BandBar{"GPU time", r.gpu_band.low_us, r.step.gpu_kernel_us, r.gpu_band.high_us, "us"});
  Notes notes;
  if (r.gpu_step) {
    notes.notes.push_back(
        {"info", "models", fmt::format("cover {} of kernel time", percent(r.gpu_step->coverage))});
  }
  for (const Loss& loss : r.losses.all()) {
    notes.notes.push_back({std::string(to_string(loss.severity)),
                           fmt::format("{} ({} x)", loss.code, loss.count), loss.description});
  }
  if (notes.notes.empty()) notes.notes.push_back({"info", "nothing", "was lost on the way"});
  out.blocks.emplace_back(std::move(notes));
  if (!r.fidelity.empty()) out.blocks.emplace_back(fidelity_table(r));
  return out;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

Page result_page(const ResultView& view) {
  const Result& r = view.result;
  Page page;
  page.title = fmt::format("{}: {} a step", file_name(r.trace.path), time_text(r.step.time_us));
  page.subtitle = fmt::format("{}, {}, batch {}; scenario {}, batch {}, mode {}, precision {}",
                              to_string(r.trace.framework), r.trace.gpu,
                              batch_text(r.trace.batch, r.trace.passes), r.scenario.gpu,
                              batch_text(r.scenario.batch, r.scenario.passes),
                              r.scenario.mode_name(), r.scenario.precision);
  page.sections = {answer_section(r), use_section(view), time_section(view)};
  if (!r.critical_path.empty()) page.sections.push_back(path_section(r));
  std::vector<Block> tables = step_tables(r);
  if (!tables.empty()) {
    page.sections.push_back({"Kernels, operations, layers",
                             "Device time of one step by name. A column's head sorts by it.",
                             std::move(tables)});
  }
  if (r.energy && r.energy->energy_j > 0) page.sections.push_back(energy_section(r));
  page.sections.push_back(trust_section(r));
  return page;
}

}  // namespace tandem::html
