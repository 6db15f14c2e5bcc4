#include "models/kernel/time/laws/list_launches.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/kernel/launch_rules.h"
#include "models/kernel/time/rates.h"

namespace tandem {
namespace {

constexpr int most_tensors[] = {110, 64, 48, 36, 30};  // by the number of lists
constexpr int most_tensors_with_numbers[] = {96, 64, 48, 36, 30};
constexpr double pass_elements = 2048;  // of a block: 512 threads, four each

}  // namespace

int most_list_tensors(int lists, bool numbers) {
  constexpr int most_lists = std::size(most_tensors);
  const int row = std::clamp(lists, 1, most_lists) - 1;
  return numbers ? most_tensors_with_numbers[row] : most_tensors[row];
}

std::vector<ListLaunch> list_launches(std::span<const std::int64_t> sizes, int most_tensors) {
  std::vector<ListLaunch> out;
  ListLaunch now;
  int tensors = 0;
  const auto flush = [&] {
    out.push_back(now);
    now = {};
  };
  for (const std::int64_t size : sizes) {
    if (size == 0) continue;
    ++tensors;
    const std::int64_t chunks = ceil_div(size, multi_tensor_chunk);
    for (std::int64_t k = 0; k < chunks; ++k) {
      const auto elements =
          static_cast<double>(std::min(multi_tensor_chunk, size - k * multi_tensor_chunk));
      ++now.blocks;
      now.elements += elements;
      now.longest_chunk = std::max(now.longest_chunk, elements);
      const bool last = k == chunks - 1;
      if (now.blocks < multi_tensor_chunks && !(tensors == most_tensors && last)) continue;
      flush();
      tensors = last ? 0 : 1;  // the rest of the tensor goes on in the next launch
    }
  }
  if (now.blocks > 0) flush();
  return out;
}

double list_launch_us(const GpuArch& gpu, const ListTimes& times, const ListLaunch& launch,
                      int accesses, int width) {
  const double stream = dram_us(gpu, launch.elements * accesses * width, times.dram_share);
  // A block that has its SM to itself waits for the memory in every pass over its chunk.
  const double pass_us = times.wait_us + times.access_us * accesses;
  const double alone = std::ceil(launch.longest_chunk / pass_elements) * pass_us;
  return times.floor_us + std::hypot(stream, alone);
}

}  // namespace tandem
