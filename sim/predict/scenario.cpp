#include "sim/predict/scenario.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/whatif/batch/peak_memory.h"
#include "sim/core/field.h"

namespace tandem {

namespace {

void require_gpu(const Analysis& a, const std::string& option) {
  if (a.gpu) return;
  throw InputError(a.summary.path, option, "a trace of an unknown GPU", "--gpu NAME beside it");
}

void change_precision(const Analysis& a, Precision to, Scenario& s) {
  require_gpu(a, "--precision");
  const Configs& c = a.configs;
  s.precision.emplace();
  s.step = with_precision(std::move(s.step), to, *a.gpu, c.precision, c.time, c.host, s.losses,
                          &*s.precision);
  if (s.precision->from == to) return;
  s.rewritten = true;
  if (!a.memory) return;
  if (a.shape_item_bytes > 0) {
    s.item_memory_ratio = shape_item_bytes(a, s.step) / a.shape_item_bytes;
  }
}

void require_batch(const Analysis& a) {
  require_gpu(a, "--batch");
  if (a.summary.batch) return;
  throw InputError(a.summary.path, "--batch", "a trace without a recognisable batch dimension",
                   "operator shapes (record_shapes=True) of a convolution, linear or embedding "
                   "layer");
}

/// The second trace's step, in the precision that is asked for.
Step second_step(const Analysis& second, const ReplayOptions& options, LossList& losses) {
  Scenario s;
  s.step = second.traced_step;
  if (!options.precision.empty()) {
    change_precision(second, parse_precision(options.precision), s);
    losses.merge(s.losses);
  }
  return std::move(s.step);
}

void change_batch(const Analysis& a, const Analysis* second, const ReplayOptions& asked,
                  Scenario& s) {
  require_batch(a);
  const std::int64_t batch = *asked.batch;
  const BatchOptions options{batch, &*a.gpu, &a.configs.batch};
  s.batch.emplace();
  if (second == nullptr) {
    s.step.trace =
        with_batch(s.step.trace, s.step.links, *a.summary.batch, options, s.losses, &*s.batch);
  } else {
    require_batch(*second);
    Step other = second_step(*second, asked, s.losses);
    Trace trace = with_batch({s.step.trace, s.step.links, *a.summary.batch},
                             {other.trace, other.links, *second->summary.batch}, options, s.losses,
                             &*s.batch);
    if (s.batch->from_second) s.step = std::move(other);
    s.step.trace = std::move(trace);
  }
  retime_plan(s.step);
  s.rewritten = true;
}

/// The scenario's GPU: `--gpu`, else the traced one, with what `--set` changes.
std::optional<GpuArch> target_gpu(const Analysis& a, const ReplayOptions& options) {
  if (options.gpu.empty() && options.overrides.empty()) return a.gpu;
  require_gpu(a, "--set");
  GpuArch gpu = options.gpu.empty() ? *a.gpu : find_gpu(a.configs.gpus, options.gpu);
  apply_overrides(gpu, options.overrides);
  return gpu;
}

void change_gpu(const Analysis& a, const ReplayOptions& options, Scenario& s) {
  s.gpu = target_gpu(a, options);
  if (!s.gpu || (s.gpu->name == a.gpu->name && options.overrides.empty())) return;
  const Configs& c = a.configs;
  if (!options.precision.empty()) require_precision(*s.gpu, parse_precision(options.precision));
  s.retarget.emplace();
  const double before_us = gpu_us(s.step);
  s.step = with_gpu(std::move(s.step),
                    {&*a.gpu, &*s.gpu, &c.time, &c.batch, &c.retarget, c.host.launch_call_us},
                    s.losses, &*s.retarget);
  s.rewritten = true;
  constexpr double noise = 1e-6;
  const bool same = std::abs(gpu_us(s.step) - before_us) <= noise * before_us;
  s.losses.add("gpu_change_without_effect", Severity::warning,
               "the numbers that were changed bound no kernel of the trace, or no law of its time "
               "uses them (configs/gpus/README.md)",
               same ? 1 : 0);
}

void compile(const Analysis& a, const ReplayOptions& options, Scenario& s) {
  if (a.trace.framework != "PyTorch") {
    throw InputError(a.summary.path, "--mode jit", "a trace of " + a.trace.framework,
                     "operator shapes, as in an eager PyTorch run with record_shapes=True");
  }
  require_gpu(a, "--mode jit");
  const JitOptions jit{parse_compiler(options.compiler), parse_attention(options.attention)};
  s.jit.emplace();
  s.step =
      with_jit(std::move(s.step), jit, *a.gpu, a.configs.fusion, a.configs.host, s.losses, &*s.jit);
  s.rewritten = true;
}

/// `peak_alloc` of the meta file that bench/capture writes beside a trace.
std::optional<MemoryPoint> measured_memory(const Analysis& a) {
  std::string path = a.summary.path;
  const std::size_t suffix = path.rfind(".json");
  if (suffix == std::string::npos || !a.summary.batch) return {};
  path = path.substr(0, suffix) + ".meta.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  const Json meta = read_json_file(path);
  if (!meta.contains("peak_alloc") || !meta["peak_alloc"].is_number()) return {};
  return MemoryPoint{*a.summary.batch, meta["peak_alloc"].get<double>()};
}

}  // namespace

double shape_item_bytes(const Analysis& a, const Step& step) {
  return peak_memory(step.trace, step.links, *a.summary.batch, {}, a.configs.batch).item_bytes;
}

Scenario make_scenario(const Analysis& a, const Analysis* second, const ReplayOptions& options) {
  Scenario s;
  s.step = a.traced_step;
  if (!options.precision.empty()) {
    change_precision(a, parse_precision(options.precision), s);
  }
  if (second != nullptr || (options.batch && options.batch != a.summary.batch)) {
    change_batch(a, second, options, s);
  }
  if (options.mode.mode == Mode::jit) {
    compile(a, options, s);
  }
  change_gpu(a, options, s);
  return s;
}

std::optional<PeakMemory> measured_peak(const Analysis& a, const Analysis* second) {
  if (!a.summary.batch || a.trace.ops.size() == 0) return {};
  std::vector<MemoryPoint> points;
  for (const Analysis* one : {&a, second}) {
    if (one == nullptr) continue;
    if (const auto point = measured_memory(*one)) points.push_back(*point);
  }
  std::sort(points.begin(), points.end(),
            [](const MemoryPoint& x, const MemoryPoint& y) { return x.batch < y.batch; });
  if (points.empty()) return {};  // shapes alone are good to a factor of 1.5 only
  return peak_memory(a.trace, a.links, *a.summary.batch, points, a.configs.batch);
}

void add_memory(const Analysis& a, const Analysis* second, const GpuArch& target,
                const ReplayOptions& options, Result& result) {
  const std::optional<PeakMemory> known = second == nullptr ? a.memory : measured_peak(a, second);
  if (!known) return;
  PeakMemory memory = *known;
  if (result.precision) memory.item_bytes *= result.precision->item_memory_ratio;
  const BatchLaw& law = a.configs.batch;
  const std::int64_t batch = options.batch ? *options.batch : *a.summary.batch;
  MemorySummary m;
  m.peak_bytes = peak_bytes(memory, batch);
  m.fits = fits(memory, batch, target, law);
  m.largest_batch = largest_batch(memory, target, law);
  m.uncertainty = memory.uncertainty;
  if (options.mode.mode == Mode::jit) {
    m.uncertainty = std::hypot(m.uncertainty, a.configs.fusion.memory_error);
    result.losses.add("jit_memory_is_eager", Severity::info,
                      "peak memory is that of the eager run: what a compiler keeps, recomputes or "
                      "reuses is not modelled");
  }
  result.memory = m;
}

}  // namespace tandem
