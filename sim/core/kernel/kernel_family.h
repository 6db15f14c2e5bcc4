// What a kernel computes: the word that models, metrics and reports share.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

/// What a kernel computes, as far as the models tell kernels apart. An unknown kernel is `generic`.
enum class KernelFamily : std::uint8_t {
  pointwise,  // one output element per input element; vectorized, unrolled or strided
  copy,       // casts, contiguous copies, fills, concatenation
  layout,     // NCHW <-> NHWC and other transposes
  reduction,
  softmax,
  layer_norm,
  batch_norm,
  gemm,         // any matrix product
  convolution,  // implicit GEMM, winograd, FFT, direct, depthwise
  attention,    // fused attention
  embedding,    // gather / scatter of rows
  index,        // gather, scatter, sort, scan
  pooling,
  rnn,
  optimizer,   // multi-tensor kernels
  random,      // dropout masks, distributions
  collective,  // NCCL
  transfer,    // memcpy and memset activities
  triton,      // generated: poi / red / per
  generic,
};

/// As reports write it: "batch_norm".
std::string_view to_string(KernelFamily family);

}  // namespace tandem
