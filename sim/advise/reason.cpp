#include "sim/advise/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/core/text/texts.h"

namespace tandem {

namespace {

/// Of the step: less is no change worth a word.
constexpr double least_change = 0.02;
/// Of the change of a step, or of its GPU time: less does not explain it.
constexpr double least_part = 0.15;
constexpr std::size_t most_names = 2;

std::string bytes_text(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.3g} MB", bytes * 1e-6)
                     : fmt::format("{:.3g} GB", bytes * 1e-9);
}

/// The critical path of a step by who is at work on it.
struct PathSplit {
  double gpu_us = 0;   // kernels and copies
  double gap_us = 0;   // between them
  double host_us = 0;  // launches on their way included
  double gpu_share() const { return (gpu_us + gap_us) / (gpu_us + gap_us + host_us); }
};

PathSplit split(const Result& r) {
  PathSplit out;
  for (const PathShare& p : r.critical_path) {
    const bool work = p.kind == PathKind::work;
    (work ? out.gpu_us : of_gpu(p.kind) ? out.gap_us : out.host_us) += p.time_us;
  }
  return out;
}

/// What a step asks of its host and of its GPU, whether on the critical path or beside it.
struct Demand {
  double host_us = 0;
  double gpu_us = 0;
};

Demand demand(const Result& r) {
  return {r.step.enqueue_us + r.step.dequeue_us, r.step.gpu_kernel_us};
}

/// Both results, and how many times the samples of the base the changed step takes.
struct Pair {
  const Result& base;
  const Result& changed;
  double samples = 1;
  double of(double us) const { return us / samples; }
  bool other_batch() const { return samples != 1; }
};

const TimeShare* find_layer(const Result& r, const std::string& name) {
  const auto it = std::find_if(r.layers.begin(), r.layers.end(),
                               [&](const TimeShare& s) { return s.name == name; });
  return it == r.layers.end() ? nullptr : &*it;
}

/// A type of layer whose kernels take less or more than before.
struct LayerChange {
  std::string name;
  const TimeShare* before = nullptr;  // null: none
  const TimeShare* after = nullptr;
  double less_us = 0;  // for the samples of the base
};

std::vector<LayerChange> layer_changes(const Pair& p) {
  std::vector<LayerChange> out;
  for (const TimeShare& s : p.base.layers) {
    const TimeShare* after = find_layer(p.changed, s.name);
    out.push_back({s.name, &s, after, s.time_us - (after ? p.of(after->time_us) : 0)});
  }
  for (const TimeShare& s : p.changed.layers) {
    if (find_layer(p.base, s.name) == nullptr) {
      out.push_back({s.name, nullptr, &s, -p.of(s.time_us)});
    }
  }
  return out;
}

double dram_bytes(const KernelLevels& levels) {
  return levels.metrics.dram_read_bytes + levels.metrics.dram_write_bytes;
}

/// What bounds the layer's kernels and, where the model of the GPU tells, what goes the way of
/// their time: tensor cores, DRAM traffic.
std::string bound_text(const LayerChange& c) {
  if (c.before == nullptr || !c.before->levels) return {};
  const KernelLevels& before = *c.before->levels;
  std::string text = fmt::format("limited by {}", to_string(before.bound));
  if (c.after == nullptr || !c.after->levels) return text;
  const KernelLevels& after = *c.after->levels;
  constexpr double told = 0.1;  // points of utilization, share of the bytes
  const double tensor = before.metrics.tc_active_utilization;
  if (c.less_us > 0 && after.metrics.tc_active_utilization > tensor + told) {
    return text + fmt::format(", tensor cores {:.0f} -> {:.0f} % active", 100 * tensor,
                              100 * after.metrics.tc_active_utilization);
  }
  const double from = dram_bytes(before);
  const double to = dram_bytes(after);
  const bool same_way = c.less_us > 0 ? to < (1 - told) * from : to > (1 + told) * from;
  if (from > 0 && same_way) {
    text += fmt::format(", DRAM traffic {} -> {}", bytes_text(from), bytes_text(to));
  }
  return text;
}

std::string layer_text(const Pair& p, const LayerChange& c) {
  const double before = c.before ? c.before->time_us : 0;
  if (c.after == nullptr) return fmt::format("{} {} vanish", c.name, time_text(before));
  if (c.before == nullptr) return fmt::format("{} {} appear", c.name, time_text(c.after->time_us));
  const std::string bound = p.other_batch() ? "" : bound_text(c);
  return fmt::format("{} {} -> {}{}", c.name, time_text(before), time_text(p.of(c.after->time_us)),
                     bound.empty() ? "" : " (" + bound + ")");
}

/// The types of layer behind most of a change of GPU time by `less_us`.
std::string layers_text(const Pair& p, double less_us) {
  std::vector<LayerChange> changes = layer_changes(p);
  std::erase_if(changes, [&](const LayerChange& c) { return c.less_us / less_us < least_part; });
  std::stable_sort(changes.begin(), changes.end(), [](const LayerChange& x, const LayerChange& y) {
    return std::abs(x.less_us) > std::abs(y.less_us);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(most_names, changes.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? ", most in " : ", ", layer_text(p, changes[i]));
  }
  return text;
}

std::string gpu_text(const Pair& p) {
  const StepMetrics& b = p.base.step;
  const StepMetrics& c = p.changed.step;
  const std::string layers = layers_text(p, b.gpu_kernel_us - p.of(c.gpu_kernel_us));
  if (p.other_batch()) {
    return fmt::format("GPU time for {} samples {} -> {}{}", *p.base.scenario.items(),
                       time_text(b.gpu_kernel_us), time_text(p.of(c.gpu_kernel_us)), layers);
  }
  if (b.kernels == c.kernels) {
    return fmt::format("{} kernels and copies {} -> {}{}", b.kernels, time_text(b.gpu_kernel_us),
                       time_text(c.gpu_kernel_us), layers);
  }
  return fmt::format("{} kernels and copies of {} become {} of {}{}", b.kernels,
                     time_text(b.gpu_kernel_us), c.kernels, time_text(c.gpu_kernel_us), layers);
}

/// What is longest of the host's part of the base's critical path.
std::string host_names(const Result& base) {
  std::string text;
  std::size_t named = 0;
  for (const PathShare& p : base.critical_path) {
    if (p.kind != PathKind::host && p.kind != PathKind::call) continue;
    if (named == most_names || p.time_us < least_change * base.step.time_us) break;
    text += fmt::format("{}{} x {} {}", named == 0 ? ", longest on the critical path " : ", ",
                        p.count, p.name, time_text(p.time_us));
    ++named;
  }
  return text;
}

std::string host_text(const Pair& p) {
  const Demand b = demand(p.base);
  const Demand c = demand(p.changed);
  if (p.other_batch()) {
    return fmt::format("{} of host work a step serve {} samples, not {}", time_text(c.host_us),
                       *p.changed.scenario.items(), *p.base.scenario.items());
  }
  const std::string names = c.host_us < b.host_us ? host_names(p.base) : "";
  if (p.base.step.launches == p.changed.step.launches) {
    return fmt::format("host work of {} launches {} -> {}{}", p.base.step.launches,
                       time_text(b.host_us), time_text(c.host_us), names);
  }
  return fmt::format("{} launches with {} of host work become {} with {}{}", p.base.step.launches,
                     time_text(b.host_us), p.changed.step.launches, time_text(c.host_us), names);
}

/// A part of the step that a change may touch: by how much its stretch of the critical path and its
/// work get shorter.
struct Part {
  double path_us = 0;
  double work_us = 0;
  std::string (*text)(const Pair&) = nullptr;
  bool limits_next = false;  // whether it is what limits the changed step
};

std::string gap_text(const Pair& p) {
  return fmt::format("gaps between kernels {} -> {}", time_text(split(p.base).gap_us),
                     time_text(p.of(split(p.changed).gap_us)));
}

std::string input_text(const Pair& p) {
  return fmt::format("the {} that a step waits for its input become {}",
                     time_text(p.base.input_wait_us), time_text(p.changed.input_wait_us));
}

std::vector<Part> parts_of(const Pair& p) {
  const PathSplit path = split(p.base);
  const PathSplit next = split(p.changed);
  const Demand work = demand(p.base);
  const Demand less = demand(p.changed);
  const double input_us = p.base.input_wait_us - p.of(p.changed.input_wait_us);
  const bool other_input = p.changed.input_wait_us != p.base.input_wait_us;
  const double gap_us = path.gap_us - p.of(next.gap_us);
  std::vector<Part> parts = {{path.gpu_us - p.of(next.gpu_us), work.gpu_us - p.of(less.gpu_us),
                              gpu_text, p.changed.limited_by == StepLimit::gpu},
                             {path.host_us - p.of(next.host_us) - (other_input ? input_us : 0),
                              work.host_us - p.of(less.host_us) - (other_input ? input_us : 0),
                              host_text, p.changed.limited_by == StepLimit::host},
                             {gap_us, gap_us, gap_text}};
  if (other_input) parts.push_back({input_us, input_us, input_text});
  std::stable_sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) {
    return std::abs(x.path_us) > std::abs(y.path_us);
  });
  return parts;
}

std::string limit_text(const Result& r) {
  switch (r.limited_by) {
    case StepLimit::gpu: return "the GPU";
    case StepLimit::host: return "the host";
    case StepLimit::balance: return "host and GPU";
  }
  return "unknown";
}

/// Of a step that hardly changes: what changes beside the critical path, and what is on it.
std::string unchanged_text(const Pair& p, const std::vector<Part>& parts) {
  const double gpu_share = split(p.base).gpu_share();
  const std::string on_path =
      fmt::format("{:.0f} % of the critical path is on the GPU, {:.0f} % on the host",
                  100 * gpu_share, 100 - 100 * gpu_share);
  std::string text;
  for (const Part& part : parts) {
    const double work_us = std::abs(part.work_us);
    if (work_us < least_change * p.base.step.time_us) continue;
    const bool hidden = std::abs(part.path_us) < work_us / 2;
    if (hidden) return fmt::format("{}; but {}", part.text(p), on_path);
    text += (text.empty() ? "" : "; ") + part.text(p);
  }
  if (!text.empty()) return text + "; the step changes by less than 2 %, " + on_path;
  return "neither GPU time nor host work changes by 2 % of the step; " + on_path;
}

/// "NAME BEFORE -> AFTER", or nothing where neither takes time; `text` goes on with a comma.
void add_times(std::string_view name, double before_us, double after_us, std::string& text) {
  if (before_us <= 0 && after_us <= 0) return;
  text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", name, time_text(before_us),
                      time_text(after_us));
}

/// Where no work changes but the step does: who waits for whom.
std::string path_text(const Pair& p) {
  const PathSplit from = split(p.base);
  const PathSplit to = split(p.changed);
  std::string text;
  add_times("the host's waits for the GPU", p.base.step.host_wait_us,
            p.of(p.changed.step.host_wait_us), text);
  add_times("host on the critical path", from.host_us, p.of(to.host_us), text);
  add_times("GPU on the critical path", from.gpu_us, p.of(to.gpu_us), text);
  return text;
}

}  // namespace

std::string reason(const Result& base, const Result& changed) {
  Pair p{base, changed, 1};
  if (base.scenario.batch && changed.scenario.batch) {
    p.samples =
        static_cast<double>(*changed.scenario.batch) / static_cast<double>(*base.scenario.batch);
  }
  const double less_us = base.step.time_us - p.of(changed.step.time_us);
  const std::vector<Part> parts = parts_of(p);
  if (std::abs(less_us) < least_change * base.step.time_us) return unchanged_text(p, parts);
  std::string text;
  for (const Part& part : parts) {
    // What goes the way of the step, on the critical path or as the part that then limits it. What
    // only gets hidden explains nothing.
    if (part.work_us / less_us < least_part) continue;
    if (part.path_us / less_us < least_part && !part.limits_next) continue;
    text += (text.empty() ? "" : "; ") + part.text(p);
  }
  if (text.empty()) text = path_text(p);
  if (changed.limited_by != base.limited_by) text += "; then limited by " + limit_text(changed);
  return text;
}

}  // namespace tandem
