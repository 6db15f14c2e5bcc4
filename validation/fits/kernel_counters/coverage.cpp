// How much of the GPU time of traces the kernel model knows.
//   kernel_coverage [--configs DIR] TRACE...
// labelled: a rule knows the name; modelled: also its kind, or one alike, is measured; counted: its
// work is known, from shapes or from the launch geometry; exact: from shapes.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>

#include "models/arch/gpu_config.h"
#include "models/kernel/classify/classify.h"
#include "models/kernel/counters/cost_model.h"
#include "models/step/launches.h"
#include "models/step/op_nesting.h"
#include "sim/trace/import.h"

namespace tandem {
namespace {

struct Coverage {
  double time = 0, labelled = 0, modelled = 0, counted = 0, exact = 0;
  std::map<std::string, double> unknown;   // names that no rule knows
  std::map<std::string, double> unpriced;  // kinds that were not measured
};

const GpuArch& gpu_of(const Trace& trace, const GpuCatalogue& gpus) {
  if (!trace.devices.empty()) {
    const DeviceMatch match = match_device(gpus, trace.devices.front());
    if (match.gpu != nullptr) return *match.gpu;
  }
  return gpus.gpus.front();
}

Coverage coverage_of(const Trace& trace, const GpuArch& gpu, const CostConstants& costs) {
  const Links links = link_trace(trace);
  const OpNesting ops = nest_ops(trace, links);
  const TraceLaunches launches(trace, links, ops.of_call);
  CostCache cache(gpu, costs);
  Coverage out;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const KernelLaunch l = launches.launch(a);
    const KernelCost c = cache.cost(launches.shape_of(a), l);
    out.time += l.duration_us;
    if (l.traits.kind != Kind::unknown) out.labelled += l.duration_us;
    if (l.traits.kind == Kind::unknown)
      out.unknown[std::string(l.name.substr(0, 100))] += l.duration_us;
    if (c.confidence > 0) out.modelled += l.duration_us;
    if (c.confidence >= 0.5) out.counted += l.duration_us;
    if (c.confidence < 0.25 && l.traits.kind != Kind::unknown) {
      out.unpriced[std::string(kind_name(l.traits))] += l.duration_us;
    }
    if (c.confidence == 1) out.exact += l.duration_us;
  }
  return out;
}

void print_coverage(const std::string& path, const GpuCatalogue& gpus, const CostConstants& costs) {
  const Trace trace = import_trace(path);
  const GpuArch& gpu = gpu_of(trace, gpus);
  const Coverage c = coverage_of(trace, gpu, costs);
  fmt::print("{:60} {:14} {:9.2f} ms  {:.4f} {:.3f} {:.3f} {:.3f}\n",
             path.substr(path.rfind('/') + 1).substr(0, 60), gpu.name, c.time / 1e3,
             c.labelled / c.time, c.modelled / c.time, c.counted / c.time, c.exact / c.time);
  for (const auto& [name, us] : c.unknown) {
    if (us > 0.001 * c.time) fmt::print("    unknown {:.4f} {}\n", us / c.time, name);
  }
  for (const auto& [kind, us] : c.unpriced) {
    if (us > 0.005 * c.time) fmt::print("    not measured {:.4f} {}\n", us / c.time, kind);
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) try {
  std::string configs = "configs";
  int first = 1;
  if (argc > 2 && std::string(argv[1]) == "--configs") configs = argv[2], first = 3;
  const tandem::GpuCatalogue gpus = tandem::load_catalogue(configs + "/gpus");
  const auto costs = tandem::CostConstants::load(configs + "/kernels/costs.json");
  fmt::print("{:60} {:14} {:>12}  labelled modelled counted exact\n", "trace", "gpu", "time");
  for (int i = first; i < argc; ++i) tandem::print_coverage(argv[i], gpus, costs);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "kernel_coverage: %s\n", e.what());
  return 2;
}
