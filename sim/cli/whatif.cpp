#include "sim/cli/whatif.h"

#include <algorithm>
#include <filesystem>

#include "sim/cli/kernel_counters.h"
#include "sim/core/field.h"

namespace tandem {

namespace {

void require(const Analysis& a) {
  if (!a.gpu) {
    throw InputError(a.summary.path, "--batch", "a trace of an unknown GPU",
                     "--gpu NAME beside it");
  }
  if (!a.summary.batch) {
    throw InputError(a.summary.path, "--batch", "a trace without a recognisable batch dimension",
                     "operator shapes (record_shapes=True) of a convolution, linear or embedding "
                     "layer");
  }
}

RewrittenTrace with_counters(Trace trace, const Links& links, const GpuArch& gpu,
                             const ReplayOptions& options, LossList losses, BatchReport report) {
  RewrittenTrace r{std::move(trace), {}, std::move(losses), std::move(report)};
  LossList known;  // of the kernel model: the analysis has them already
  r.counters = kernel_counters(r.trace, links, gpu, options.configs, options.cache, known);
  return r;
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

RewrittenTrace rewrite(const Analysis& a, const ReplayOptions& options) {
  require(a);
  const BatchLaw law = load_batch_law(options.configs + "/kernels/batch.json");
  const BatchOptions batch{*options.batch, &*a.gpu, &law};
  LossList losses;
  BatchReport report;
  Trace trace = with_batch(a.trace, a.links, *a.summary.batch, batch, losses, &report);
  return with_counters(std::move(trace), a.links, *a.gpu, options, std::move(losses),
                       std::move(report));
}

RewrittenTrace rewrite(const Analysis& first, const Analysis& second,
                       const ReplayOptions& options) {
  require(first);
  require(second);
  const BatchLaw law = load_batch_law(options.configs + "/kernels/batch.json");
  const BatchOptions batch{*options.batch, &*first.gpu, &law};
  LossList losses;
  BatchReport report;
  Trace trace =
      with_batch({first.trace, first.links, *first.summary.batch},
                 {second.trace, second.links, *second.summary.batch}, batch, losses, &report);
  const Links& links = report.from_second ? second.links : first.links;
  return with_counters(std::move(trace), links, *first.gpu, options, std::move(losses),
                       std::move(report));
}

void add_memory(const Analysis& a, const Analysis* second, const ReplayOptions& options,
                Result& result) {
  if (!a.gpu || !a.summary.batch || a.trace.ops.size() == 0) return;
  std::vector<MemoryPoint> points;
  for (const Analysis* one : {&a, second}) {
    if (one == nullptr) continue;
    if (const auto point = measured_memory(*one)) points.push_back(*point);
  }
  std::sort(points.begin(), points.end(),
            [](const MemoryPoint& x, const MemoryPoint& y) { return x.batch < y.batch; });
  if (points.empty()) return;  // shapes alone are good to a factor of 1.5 only
  const BatchLaw law = load_batch_law(options.configs + "/kernels/batch.json");
  const PeakMemory memory = peak_memory(a.trace, a.links, *a.summary.batch, points, law);
  const std::int64_t batch = options.batch ? *options.batch : *a.summary.batch;
  MemorySummary m;
  m.peak_bytes = peak_bytes(memory, batch);
  m.fits = fits(memory, batch, *a.gpu, law);
  m.largest_batch = largest_batch(memory, *a.gpu, law);
  m.uncertainty = memory.uncertainty;
  result.memory = m;
}

}  // namespace tandem
