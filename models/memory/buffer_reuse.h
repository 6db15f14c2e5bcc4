// Which buffers of a compiled graph wait for a later one that takes their memory over, instead of
// going back to the allocator.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/tensors/tensor.h"

namespace tandem {

constexpr std::uint32_t no_buffer = static_cast<std::uint32_t>(-1);

/// One buffer of a graph whose kernels are numbered in the order in which they run.
struct GraphBuffer {
  std::uint32_t made = 0;   // by this kernel
  std::uint32_t freed = 0;  // behind this one
  std::int64_t bytes = 0;
  DataType type = DataType::unknown;
  bool padded = false;             // its rows: what is not has another size
  bool given = false;              // an input: nobody takes its memory
  bool stays = false;              // a result of the graph: never freed
  bool by_library = false;         // allocated by the call that makes it
  std::uint32_t over = no_buffer;  // written over this one, in place
};

/// Per buffer the one that takes its memory over, `no_buffer` if it is freed where nobody reads it
/// any longer. `buffers` rise by their kernels. A freed buffer waits for the next one of its type
/// and size unless that makes the graph hold more, meanwhile, than the most that it would hold if
/// no buffer ever took another one's place (TorchInductor, codegen/wrapper.py: AllocateLine,
/// EfficientPeakEstimate).
std::vector<std::uint32_t> takers_over(std::span<const GraphBuffer> buffers);

}  // namespace tandem
