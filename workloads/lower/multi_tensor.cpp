// Kernels that walk over lists of tensors in chunks: the optimizer's.
#include <algorithm>

#include "models/kernel/time/laws/list_launches.h"
#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

constexpr double pass_elements = 2048;  // of a block: 512 threads, four each

}  // namespace

void lower_multi_tensor(const Context& c, Kernels& out) {
  std::vector<std::int64_t> sizes;
  DataType type = DataType::fp32;
  for (std::size_t i = 0; i < c.operands.tensors.shapes.size(); ++i) {
    if (c.operands.tensors.arguments[i] != c.operands.tensors.arguments[0]) break;
    sizes.push_back(c.operands.tensors.shapes[i].elements());
    type = c.operands.tensors.shapes[i].type;
  }
  const int limit = most_list_tensors(c.rule.lists, c.rule.scalar_lists > 0);
  const KernelTemplate& row = c.kernel(0);
  for (const ListLaunch& launch : list_launches(sizes, limit)) {
    LoweredKernel kernel;
    kernel.name = name_of(c, row, type, c.rule.lists);
    kernel.geometry = geometry_of(row, {launch.blocks});
    const double bytes = launch.elements * c.rule.accesses * element_bytes(type);
    // A block that has its SM to itself waits for the memory in every pass over its chunk.
    const double alone =
        std::ceil(launch.longest_chunk / pass_elements) * row.step_us * c.rule.accesses;
    const double body = reached_us(c, row, stream_time_us(c, bytes));
    kernel.duration_us = c.gpu().graph_kernel_period_us + std::sqrt(body * body + alone * alone);
    out.push_back(std::move(kernel));
  }
}

}  // namespace tandem::lowering
