#include "sim/cli/whatif.h"

#include <algorithm>
#include <filesystem>

#include "models/whatif/peak_memory.h"
#include "sim/core/field.h"

namespace tandem {

namespace {

void require_gpu(const Analysis& a, const std::string& option) {
  if (a.gpu) return;
  throw InputError(a.summary.path, option, "a trace of an unknown GPU", "--gpu NAME beside it");
}

void require_batch(const Analysis& a) {
  require_gpu(a, "--batch");
  if (a.summary.batch) return;
  throw InputError(a.summary.path, "--batch", "a trace without a recognisable batch dimension",
                   "operator shapes (record_shapes=True) of a convolution, linear or embedding "
                   "layer");
}

void change_batch(const Analysis& a, const Analysis* second, std::int64_t batch, Scenario& s) {
  require_batch(a);
  const BatchOptions options{batch, &*a.gpu, &a.configs.batch};
  s.batch.emplace();
  if (second == nullptr) {
    s.step.trace =
        with_batch(s.step.trace, s.step.links, *a.summary.batch, options, s.losses, &*s.batch);
  } else {
    require_batch(*second);
    const Step& other = second->traced_step;
    Trace trace = with_batch({s.step.trace, s.step.links, *a.summary.batch},
                             {other.trace, other.links, *second->summary.batch}, options, s.losses,
                             &*s.batch);
    if (s.batch->from_second) s.step = other;
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
  throw InputError("command line", options.overrides.empty() ? "--gpu" : "--set",
                   "\"" + s.gpu->name + "\" for a trace of \"" + a.summary.gpu + "\"",
                   "the traced GPU (" + a.gpu->name +
                       "): re-timing kernels for another GPU is not part of this version");
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

Scenario make_scenario(const Analysis& a, const Analysis* second, const ReplayOptions& options) {
  Scenario s;
  s.step = a.traced_step;
  if (!options.precision.empty()) {
    throw InputError("command line", "--precision", "\"" + options.precision + "\"",
                     "nothing: another precision is not part of this version");
  }
  if (second != nullptr || (options.batch && options.batch != a.summary.batch)) {
    change_batch(a, second, *options.batch, s);
  }
  if (options.mode.mode == Mode::jit) {
    throw InputError("command line", "--mode", "jit",
                     "another mode: fusion is not part of this version");
  }
  change_gpu(a, options, s);
  return s;
}

void add_memory(const Analysis& a, const Analysis* second, const GpuArch& target,
                const ReplayOptions& options, Result& result) {
  if (!a.summary.batch || a.trace.ops.size() == 0) return;
  std::vector<MemoryPoint> points;
  for (const Analysis* one : {&a, second}) {
    if (one == nullptr) continue;
    if (const auto point = measured_memory(*one)) points.push_back(*point);
  }
  std::sort(points.begin(), points.end(),
            [](const MemoryPoint& x, const MemoryPoint& y) { return x.batch < y.batch; });
  if (points.empty()) return;  // shapes alone are good to a factor of 1.5 only
  const BatchLaw& law = a.configs.batch;
  const PeakMemory memory = peak_memory(a.trace, a.links, *a.summary.batch, points, law);
  const std::int64_t batch = options.batch ? *options.batch : *a.summary.batch;
  MemorySummary m;
  m.peak_bytes = peak_bytes(memory, batch);
  m.fits = fits(memory, batch, target, law);
  m.largest_batch = largest_batch(memory, target, law);
  m.uncertainty = memory.uncertainty;
  result.memory = m;
}

}  // namespace tandem
