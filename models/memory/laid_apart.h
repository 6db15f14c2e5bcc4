// Which buffers of compiled code have gaps.
#pragma once

#include <cstdint>

namespace tandem {

/// Whether parts of `elements`, each `width` bytes, begin at multiples of 128 bytes where generated
/// code makes them one after the other, and elsewhere would not (TorchInductor 2.11:
/// padding_alignment_bytes, padding_stride_threshold of torch/_inductor/config.py).
inline bool laid_apart(std::int64_t elements, std::int64_t width) {
  constexpr std::int64_t longest = 1024, alignment_bytes = 128;
  return elements > longest && elements * width % alignment_bytes != 0;
}

}  // namespace tandem
