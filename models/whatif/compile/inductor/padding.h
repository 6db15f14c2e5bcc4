// Which products TorchInductor pads to sides that are multiples of 16 bytes, and what that moves.
#pragma once

#include <optional>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/work/gemm_shape.h"
#include "sim/core/fields/field.h"

namespace tandem {

/// What padding costs and from when on it gains nothing.
struct PaddingLaw {
  double enough_bytes = 0;  // 16-bit products whose rows begin at multiples are good enough
  // The framework's copies of 16-bit matrices into padded ones: passes through DRAM for what they
  // read and write, and bytes of it in one clock of an SM. Of turned ones the columns lie together,
  // and those of their copies do not.
  double ordered_passes = 0, ordered_bytes_per_clk = 0;
  double turned_passes = 0, turned_bytes_per_clk = 0;
};
std::vector<Field<PaddingLaw>> padding_law_fields();

struct Padding {
  double moved = 0;     // bytes, by compiled code
  double tried_us = 0;  // the framework's copies, with which the compiler tries the padded product
};

/// Operands that compiled code makes itself: the compiler takes them to be made at their padded
/// places for nothing.
struct MadeOperands {
  bool left = false, right = false;
};

/// Padding of one product of 16 bits or in TF32; nothing where its sides are aligned, or where it
/// moves so much for what it computes that the compiler does not try (is_mm_compute_bound).
std::optional<Padding> product_padding(const GpuArch& gpu, const PaddingLaw& law,
                                       const ProductOperands& product, MadeOperands made);

/// Whether the compiler keeps it: the product as it is takes 1.1 times as long as the aligned one
/// with its copies (is_padded_faster).
bool keeps_padding(const Padding& padding, double us, double aligned_us);

}  // namespace tandem
