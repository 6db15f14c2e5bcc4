// Simulates one synthetic plan and prints speed and peak memory:
//   engine_once KERNELS [THREADS STREAMS]
#include <sys/resource.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

#include "bench/host/synthetic_plan.h"
#include "sim/engine/engine.h"

int main(int count, char** arguments) try {
  if (count != 2 && count != 4) {
    std::cerr << "usage: engine_once KERNELS [THREADS STREAMS]\n";
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::stoul(arguments[i])); };
  const std::uint32_t kernels = number(1);
  const tandem::Plan plan = tandem::bench::synthetic_plan(kernels, count == 4 ? number(2) : 1,
                                                          count == 4 ? number(3) : 1);
  const auto start = std::chrono::steady_clock::now();
  const tandem::Timeline timeline = tandem::simulate(plan);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto events = static_cast<double>(timeline.events);
  std::cout << "kernels=" << kernels << " events=" << timeline.events << " seconds=" << time.count()
            << " events_per_s=" << events / time.count()
            << " simulated_s=" << tandem::to_us(timeline.end) * 1e-6
            << " peak_rss_mib=" << usage.ru_maxrss / 1024 << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
