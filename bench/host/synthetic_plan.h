// Plans of any size for benchmarks of the engine.
#pragma once

#include <cstdint>
#include <string>

#include "sim/engine/plan.h"

namespace tandem::bench {

/// `kernels` launches dealt out to threads and streams in turn, about as long on the host as on the
/// device, so that queues fill and drain. With several streams every eighth kernel waits for one of
/// another stream; every 1024 launches the first thread synchronises.
inline Plan synthetic_plan(std::uint32_t kernels, std::uint32_t threads, std::uint32_t streams) {
  Plan plan;
  for (std::uint32_t t = 0; t < threads; ++t) plan.threads.push_back({std::to_string(t), {}});
  for (std::uint32_t s = 0; s < streams; ++s) plan.streams.push_back(std::to_string(s));
  plan.items.reserve(kernels + kernels / 1024 + 1);
  plan.works.reserve(kernels);
  std::uint32_t random = 12345;
  for (std::uint32_t k = 0; k < kernels; ++k) {
    random = random * 1664525U + 1013904223U;
    DeviceWork work;
    work.duration = nanoseconds(2'000 + (random >> 16U) % 16'000) * streams;
    work.latency = nanoseconds(2'150);
    work.gap = work.far_gap = nanoseconds(1'150);
    work.stream = static_cast<std::uint16_t>(k % streams);
    work.item = static_cast<std::uint32_t>(plan.items.size());
    work.first_edge = static_cast<std::uint32_t>(plan.edges.size());
    if (streams > 1 && k % 8 == 0 && k > 0) {
      plan.edges.push_back({k - 1, nanoseconds(1'500)});
      work.edge_count = 1;
    }
    plan.works.push_back(work);
    HostItem launch;
    launch.kind = ItemKind::launch;
    launch.gap = nanoseconds(4'000 + (random >> 8U) % 4'000) * threads;
    launch.call = launch.submit = nanoseconds(4'500);
    launch.first_work = k;
    launch.work_count = 1;
    launch.thread = static_cast<std::uint16_t>(k % threads);
    plan.items.push_back(launch);
    if (k % 1024 == 1023) {
      HostItem sync;
      sync.kind = ItemKind::sync;
      sync.wait = WaitFor::all_work;
      sync.call = nanoseconds(2'000);
      sync.return_delay = nanoseconds(5'500);
      sync.first_work = k + 1;
      plan.items.push_back(sync);
    }
  }
  return plan;
}

}  // namespace tandem::bench
