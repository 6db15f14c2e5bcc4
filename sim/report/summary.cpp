#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/text/texts.h"
#include "sim/report/losses.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

std::string shorten(std::string_view name, std::size_t width) {
  name = without_void(name);
  if (name.size() <= width) return std::string(name);
  return std::string(name.substr(0, width - 3)) + "...";
}

template <class Row, class Print>
std::string table(std::string_view title, const std::vector<Row>& rows, std::size_t most,
                  Print print) {
  if (rows.empty()) return {};
  std::string text = fmt::format("\n{}\n", title);
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) text += print(rows[i]);
  if (rows.size() > most) text += fmt::format("  ... and {} more\n", rows.size() - most);
  return text;
}

std::string share_row(const TimeShare& row) {
  return fmt::format("  {:>12}  {:>5.1f} %  {:>6} x  {}\n", time_text(row.time_us), 100 * row.share,
                     row.count, shorten(row.name, 70));
}

/// With utilization while its kernels run, and why it is not more.
std::string layer_row(const TimeShare& row) {
  std::string text = fmt::format("  {:>12}  {:>5.1f} %  {:>6} x  {:<16}", time_text(row.time_us),
                                 100 * row.share, row.count, shorten(row.name, 60));
  if (!row.levels) return text + "\n";
  const GpuMetrics& m = row.levels->metrics;
  text += fmt::format(" issue {:>3.0f} %  tensor {:>3.0f} %  roofline {:>3.0f} %",
                      100 * m.smsp_issue_utilization, 100 * m.tc_active_utilization,
                      100 * m.roofline_share);
  if (m.flops > 0) text += fmt::format("  {:.3g} TFLOP/s", m.tflops);
  return text + fmt::format("  ({})\n", to_string(row.levels->reason));
}

std::string family_row(const FamilyShare& row) {
  return fmt::format(
      "  {:>12}  {:>5.1f} %  {:>6} x  {:<12} SMSP {:>3.0f} %  issue {:>3.0f} %  tensor "
      "{:>3.0f} %{}\n",
      time_text(row.time_us), 100 * row.share, row.count, to_string(row.family),
      100 * row.metrics.smsp_active_utilization, 100 * row.metrics.smsp_issue_utilization,
      100 * row.metrics.tc_active_utilization, row.modelled ? "" : "  (generic guess)");
}

std::string path_row(const PathShare& row) {
  return fmt::format("  {:>12}  {:>5.1f} %  {:>6} x  {:<14} {}\n", time_text(row.time_us),
                     100 * row.share, row.count, to_string(row.kind), shorten(row.name, 58));
}

/// A step that was generated from a network: nothing was measured.
bool is_generated(const Result& r) { return r.band_parts.generated_error > 0; }

/// Over the step as it was; where a step takes other samples, over its samples a second as well.
std::string speed_up_line(const Result& r) {
  if (!r.speed_up) return {};
  const SpeedUp& s = *r.speed_up;
  std::string text =
      fmt::format("speed-up   {:.2f} ({:.2f} to {:.2f}) over the {} step, {}", s.value, s.low,
                  s.high, is_generated(r) ? "plain" : "traced", time_text(s.base_us));
  if (r.scenario.batch && r.trace.batch && r.scenario.batch != r.trace.batch) {
    const double samples =
        static_cast<double>(*r.scenario.batch) / static_cast<double>(*r.trace.batch);
    text += fmt::format("; {:.2f} times its samples/s", s.value * samples);
  }
  return text + "\n";
}

/// How the steps were told, where the trace does not mark them.
std::string steps_text(const TraceSummary& t) {
  const std::string count = fmt::format("{} step{}", t.steps, t.steps == 1 ? "" : "s");
  switch (t.steps_by) {
    case StepsBy::marks: return count;
    case StepsBy::annotation: return count + " (begun by the annotation)";
    case StepsBy::optimizer: return count + " (found: each ends with the optimizer)";
    case StepsBy::repetition: return count + " (found by repetition)";
    case StepsBy::count: return count + " (as --steps says)";
    case StepsBy::nothing: break;
  }
  return count + " (no repetition found: the whole trace)";
}

/// From what was measured to what is predicted.
std::string bridge_line(const Result& r) {
  const TraceSummary& t = r.trace;
  if (t.traced_step_us <= 0 || is_generated(r)) return {};
  const double share = 1 - t.unprofiled_step_us / t.traced_step_us;
  std::string text = fmt::format("bridge     traced {} a step", time_text(t.traced_step_us));
  if (t.steps_followed < t.steps) {
    text += fmt::format(" ({} of {} steps, {}{})", t.steps_followed, t.steps, t.followed_step,
                        t.steps_followed > 1 ? " and others like it" : "");
  }
  if (r.scenario.profiler == Profiler::remove) {
    text += fmt::format(", profiler's share {:.1f} % -> {} without it", 100 * share,
                        time_text(t.unprofiled_step_us));
  } else {
    text += fmt::format(" -> {} in a steady loop", time_text(t.unprofiled_step_us));
  }
  const bool other = !r.what_ifs.empty() || r.scenario.mode != Mode::as_traced;
  if (other) text += fmt::format(" -> predicted {}", time_text(r.step.time_us));
  return text + "\n";
}

/// A step may take so long that a second holds a small part of it.
std::string rate_text(double per_s) {
  return per_s < 1 ? fmt::format("{:.2g}", per_s) : fmt::format("{:.1f}", per_s);
}

std::string headline(const Result& r) {
  const StepMetrics& m = r.step;
  std::string text;
  text += fmt::format("{:<10} {} ({}, {}, batch {})\n", is_generated(r) ? "network" : "trace",
                      r.trace.path, to_string(r.trace.framework), r.trace.gpu,
                      batch_text(r.trace.batch, r.trace.passes));
  text += fmt::format(
      "           {}, {} device activities, {} launches, {} host operations, "
      "{} streams\n",
      steps_text(r.trace), r.trace.kernels, r.trace.launches, r.trace.host_ops, r.trace.streams);
  const bool other_batch = r.scenario.batch != r.trace.batch;
  const std::string batch = other_batch ? fmt::format(", batch {}", *r.scenario.batch) : "";
  const GraphScope scope = r.scenario.graph_scope.value_or(GraphScope::step);
  text += fmt::format(
      "scenario   {}{}, mode {}{}{}\n", r.scenario.gpu, batch, r.scenario.mode_name(),
      scope == GraphScope::step ? "" : fmt::format(" ({})", name_of(graph_scopes(), scope)),
      is_generated(r)                           ? ""
      : r.scenario.profiler == Profiler::remove ? ", profiler removed"
                                                : ", profiler kept");
  text += fmt::format("step time  {} ({} to {} in 9 of 10 cases)   {} {}/s   limited by {}\n",
                      time_text(m.time_us), time_text(r.band.low_us), time_text(r.band.high_us),
                      rate_text(m.throughput_per_s), r.trace.batch ? "samples" : "steps",
                      to_string(r.limited_by));
  if (!r.band_parts.unverified.empty()) {
    text += fmt::format("           the band rests on what no measurement has confirmed: {}\n",
                        fmt::join(r.band_parts.unverified, ", "));
  }
  text += speed_up_line(r) + bridge_line(r);
  text += fmt::format("GPU        busy {} = {:.1f} % of the step; kernels {} in {} activities\n",
                      time_text(m.gpu_busy_us), 100 * m.gpu_utilization, time_text(m.gpu_kernel_us),
                      m.kernels);
  text += fmt::format(
      "host       {} launches; enqueue {}, launch calls {}, waiting for the GPU {}\n", m.launches,
      time_text(m.enqueue_us), time_text(m.dequeue_us), time_text(m.host_wait_us));
  text += fmt::format(
      "queue      mean depth {:.1f}, deepest {:.0f}, empty {:.1f} % of an isolated "
      "step\n",
      m.queue_mean_depth, m.queue_max_depth, 100 * m.queue_empty_share);
  return text;
}

/// The graphs of the step and, between bars, what keeps them apart.
std::string graphs_line(const Result& r) {
  if (r.graphs.empty()) return {};
  constexpr std::size_t most = 4;
  std::string text = fmt::format("graphs     {} a step:", r.graphs.size());
  for (std::size_t i = 0; i < std::min(most, r.graphs.size()); ++i) {
    const GraphSummary& g = r.graphs[i];
    text += fmt::format(" {} nodes {}", g.nodes, time_text(g.device_us));
    if (!g.followed_by.empty()) {
      text += fmt::format(" | {}", shorten(fmt::format("{}", fmt::join(g.followed_by, ", ")), 60));
    }
    if (i + 1 < r.graphs.size()) text += " |";
  }
  if (r.graphs.size() > most) text += fmt::format(" ... and {} more", r.graphs.size() - most);
  return text + "\n";
}

/// The phases and the queue of thesis chapter 3.
std::string runtime_lines(const Result& r) {
  if (!r.runtime) return {};
  const RuntimeMetrics& m = *r.runtime;
  return fmt::format(
      "runtime    {:.0f} operations; GPU kernels {:.1f} %, CPU kernels {:.1f} %, dequeue {:.1f} %, "
      "copies {:.1f} %, waiting {:.1f} % of an isolated step\n"
      "           scheduling queue empty {:.1f} %, mean depth {:.1f}, deepest {:.0f}; enqueue {}, "
      "dequeue {} an operation\n",
      m.nodes, 100 * m.gpu_kernel_share, 100 * m.cpu_kernel_share, 100 * m.dequeue_share,
      100 * m.copy_share, 100 * m.waiting_share, 100 * m.queue_empty_share, m.queue_mean_depth,
      m.queue_max_depth, time_text(m.enqueue_mean_us), time_text(m.dequeue_mean_us));
}

/// The levels of thesis chapter 4: each is a share of the whole step.
std::string levels_line(const Result& r) {
  if (!r.gpu_step) return {};
  const GpuMetrics& m = *r.gpu_step;
  return fmt::format(
      "levels     GPU {:.1f} %, SMSP active {:.1f} %, issue slots {:.1f} %, tensor cores {:.1f} % "
      "(models cover {:.0f} % of kernel time)\n",
      100 * r.step.gpu_utilization, 100 * m.smsp_active_utilization, 100 * m.smsp_issue_utilization,
      100 * m.tc_active_utilization, 100 * m.coverage);
}

/// FLOPs of a step, how fast they are done, and how near to the rooflines of its kernels.
std::string compute_line(const Result& r) {
  if (!r.gpu_step || !r.gpu_kernel_time || r.gpu_step->flops <= 0) return {};
  const GpuMetrics& m = *r.gpu_step;
  std::string text = fmt::format(
      "compute    {:.4g} TFLOP a step in products, convolutions and attention: {:.4g} TFLOP/s, MFU "
      "{:.1f} %; kernels at {:.0f} % of their rooflines",
      m.flops * 1e-12, m.tflops, 100 * m.mfu, 100 * r.gpu_kernel_time->roofline_share);
  if (m.flops_coverage < 0.995) {
    text +=
        fmt::format(" (shapes unknown of {:.0f} % of kernel time)", 100 * (1 - m.flops_coverage));
  }
  return text + "\n";
}

std::string energy_line(const Result& r) {
  if (!r.energy || r.energy->energy_j <= 0) return {};
  const EnergySummary& e = *r.energy;
  return fmt::format(
      "energy     {:.3g} J +- {:.0f} % a step at {:.0f} W: static {:.0f} %, memory {:.0f} %, "
      "tensor "
      "and FP32 {:.0f} %, other instructions {:.0f} %, active SMs {:.0f} %\n",
      e.energy_j, 100 * e.error_j / e.energy_j, e.average_power_w, 100 * e.static_j / e.energy_j,
      100 * (e.dram_j + e.l2_j + e.l1_j + e.shared_j) / e.energy_j,
      100 * (e.tensor_j + e.compute_j) / e.energy_j, 100 * e.instructions_j / e.energy_j,
      100 * e.other_j / e.energy_j);
}

/// What --samples and --price ask.
std::string job_line(const Result& r) {
  if (!r.job) return {};
  return fmt::format("job        {}\n", job_text(*r.job));
}

/// "parameters 0.10, tensors of the step 1.53 GB"; parts that are not there are left out.
std::string memory_parts(const MemorySummary& memory) {
  const auto part = [](std::string_view name, double bytes) {
    constexpr double shown = 5e6;
    return bytes < shown ? std::string() : fmt::format("{} {:.2f}, ", name, bytes * 1e-9);
  };
  return part("parameters", memory.kept.parameters) +
         part("states of the optimizer", memory.kept.states) +
         part("buckets", memory.kept.buckets) + part("workspaces", memory.kept.workspaces) +
         fmt::format("tensors of the step {:.2f} GB", memory.tensors_bytes() * 1e-9);
}

std::string memory_line(const Result& r) {
  if (!r.memory) return {};
  return fmt::format(
      "memory     peak {:.2f} GB ({:.2f} to {:.2f} GB in 9 of 10 cases){}, largest "
      "batch that fits about {}\n           {}\n",
      r.memory->peak_bytes * 1e-9, r.memory->low_bytes * 1e-9, r.memory->high_bytes * 1e-9,
      r.memory->fits ? "" : ": DOES NOT FIT", r.memory->largest_batch, memory_parts(*r.memory));
}

std::string value_text(const ReportValue& v) {
  if (const auto* text = std::get_if<std::string>(&v.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&v.value)) return *flag ? "yes:" : "not";
  if (const auto* count = std::get_if<std::int64_t>(&v.value)) return std::to_string(*count);
  const double number = std::get<double>(v.value);
  if (v.unit == "share") return fmt::format("{:.0f} %", 100 * number);
  if (v.unit == "us") return time_text(number);
  if (v.unit == "B") return fmt::format("{:.2f} GB", number * 1e-9);
  return fmt::format("{:.3g}", number);
}

/// A line a what-if: what it changed, how far off it may be, what it made of the step.
std::string what_if_lines(const Result& r) {
  std::string text;
  for (const TransformReport& report : r.what_ifs) {
    text += fmt::format("{:<10} {} -> {} +- {:.1f} %", report.name, report.from, report.to,
                        100 * report.expected_error);
    std::string_view separator = ": ";
    for (const ReportValue& v : report.values) {
      if (!v.headline) continue;
      text += fmt::format("{}{} {}", separator, value_text(v), v.doc);
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

/// Copies may be of single numbers.
std::string size_text(double bytes) {
  if (bytes >= 1e5) return fmt::format("{:.3g} MB", bytes * 1e-6);
  return bytes >= 1e3 ? fmt::format("{:.3g} kB", bytes * 1e-3) : fmt::format("{:.0f} B", bytes);
}

std::string moved_line(std::string_view name, const std::optional<MovedSummary>& m) {
  if (!m) return {};
  return fmt::format("{:<10} {} of {} in {}, {} of it while nothing computes\n", name, m->count,
                     size_text(m->bytes), time_text(m->time_us), time_text(m->exposed_us));
}

std::string input_lines(const Result& r) {
  std::string text;
  if (r.input_wait_us > 0) {
    text += fmt::format("input      {} = {:.1f} % of the step waiting for it, {} of it critical\n",
                        time_text(r.input_wait_us), 100 * r.input_wait_us / r.step.time_us,
                        time_text(std::min(r.input_wait_us, r.input_critical_us)));
  }
  return text + moved_line(text.empty() ? "input" : "", r.input_copies);
}

/// Ranks that were simulated together: who waits for whom.
std::string ranks_lines(const Result& r) {
  if (!r.ranks) return {};
  std::string text =
      fmt::format("together   {} ranks: step {}; they come to a collective {} apart, worst {}\n",
                  r.ranks->ranks.size(), time_text(r.ranks->time_us),
                  time_text(r.ranks->skew_mean_us), time_text(r.ranks->skew_worst_us));
  for (const RankShare& rank : r.ranks->ranks) {
    text += fmt::format(
        "           rank {}: collectives {}, {} of it waiting for another rank; {} while nothing "
        "computes\n",
        rank.rank, time_text(rank.collective_us), time_text(rank.waiting_us),
        time_text(rank.exposed_us));
  }
  return text;
}

std::string fidelity_line(const Result& r) {
  if (r.fidelity.empty()) return {};
  double sum = 0;
  double worst = 0;
  constexpr double shortest_step_us = 1e-3;  // a nanosecond; marks of no length stand in traces
  for (const StepFidelity& step : r.fidelity) {
    const double off = std::abs(step.simulated_us - step.traced_us);
    const double error = off / std::max(step.traced_us, shortest_step_us);
    sum += error;
    worst = std::max(worst, error);
  }
  return fmt::format(
      "fidelity   {} traced steps re-simulated: mean error {:.2f} %, worst {:.2f} %\n",
      r.fidelity.size(), 100 * sum / static_cast<double>(r.fidelity.size()), 100 * worst);
}

}  // namespace

std::string job_text(const JobCost& c) {
  const std::string gpus = c.gpus > 1 ? fmt::format(" on {} GPUs", c.gpus) : "";
  std::string text = fmt::format("{:g} samples{}: {:.4g} h", c.job.samples, gpus, c.hours);
  if (c.kwh) {
    text += fmt::format(", {:.4g} kWh of the GPU board{} alone", *c.kwh, c.gpus > 1 ? "s" : "");
  }
  if (c.price) {
    text += fmt::format(", cost {:.4g} at {:g} a GPU hour", *c.price, c.job.price_per_gpu_hour);
  }
  return text;
}

std::string summary_text(const Result& r) {
  std::string text = headline(r) + graphs_line(r) + moved_line("collective", r.collectives) +
                     input_lines(r) + ranks_lines(r) + runtime_lines(r) + what_if_lines(r) +
                     levels_line(r) + compute_line(r) + energy_line(r) + job_line(r) +
                     memory_line(r) + fidelity_line(r) + losses_text(r.losses);
  text += table("critical path of one step (what makes it as long as it is)", r.critical_path, 10,
                path_row);
  text += table("device time by type of layer, with utilization while its kernels run, and why",
                r.layers, 8, layer_row);
  text += table("device time by module (nn.Module)", r.modules, 8, layer_row);
  text += table("device time by kernel family, with utilization while its kernels run", r.families,
                8, family_row);
  text += table("device time by operation", r.ops, 8, share_row);
  text += table("device time by kernel", r.kernels, 8, share_row);
  return printable(std::move(text));
}

}  // namespace tandem
