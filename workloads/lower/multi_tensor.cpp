// Kernels that walk over lists of tensors in chunks: the optimizer's.
#include <algorithm>

#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

// Of the framework's multi_tensor_apply: what fits the arguments of a launch.
constexpr int most_tensors[] = {110, 64, 48, 36, 30};  // by the number of lists
constexpr int most_tensors_with_scalars[] = {96, 64, 48, 36, 30};
constexpr double pass_elements = 2048;  // of a block: 512 threads, four each

struct Launch {
  int blocks = 0;
  double elements = 0;
  double longest_chunk = 0;
};

/// The launches for tensors of these sizes, as multi_tensor_apply fills them.
std::vector<Launch> launches_of(const std::vector<std::int64_t>& sizes, int tensor_limit) {
  std::vector<Launch> out;
  Launch now;
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
      if (now.blocks < multi_tensor_chunks && !(tensors == tensor_limit && last)) continue;
      flush();
      tensors = last ? 0 : 1;  // the rest of the tensor goes on in the next launch
    }
  }
  if (now.blocks > 0) flush();
  return out;
}

}  // namespace

void lower_multi_tensor(const Context& c, Kernels& out) {
  std::vector<std::int64_t> sizes;
  DataType type = DataType::fp32;
  for (std::size_t i = 0; i < c.operands.tensors.shapes.size(); ++i) {
    if (c.operands.tensors.arguments[i] != c.operands.tensors.arguments[0]) break;
    sizes.push_back(c.operands.tensors.shapes[i].elements());
    type = c.operands.tensors.shapes[i].type;
  }
  const auto lists = static_cast<std::size_t>(std::clamp(c.rule.lists, 1, 5)) - 1;
  const int limit =
      c.rule.scalar_lists > 0 ? most_tensors_with_scalars[lists] : most_tensors[lists];
  const KernelTemplate& row = c.kernel(0);
  for (const Launch& launch : launches_of(sizes, limit)) {
    LoweredKernel kernel;
    kernel.name = name_of(c, row, type, c.rule.lists);
    kernel.geometry = geometry_of(row, {launch.blocks});
    const double floor = c.gpu().graph_kernel_period_us;
    const double stream =
        stream_time_us(c, launch.elements * c.rule.accesses * element_bytes(type)) - floor;
    // A block that has its SM to itself waits for the memory in every pass over its chunk.
    const double alone =
        std::ceil(launch.longest_chunk / pass_elements) * row.step_us * c.rule.accesses;
    const double body = stream / row.share;
    kernel.duration_us = floor + std::sqrt(body * body + alone * alone);
    out.push_back(std::move(kernel));
  }
}

}  // namespace tandem::lowering
