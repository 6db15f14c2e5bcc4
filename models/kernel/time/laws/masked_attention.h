// What a mask in memory costs a fused attention kernel.
#pragma once

#include <vector>

#include "models/kernel/work/gemm_shape.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

/// Of one pass in 16 bits: the kernel that reads a mask over the one that sees all keys without.
/// Whether the mask has a number for each pair of places or for each key makes no difference. Its
/// rows begin at multiples of 16 bytes, as TorchInductor lays them out (sdpa_constraint).
struct MaskedPass {
  double narrow = 0, narrow_dropping = 0;  // heads of up to 64, without dropout and with it
  double wide = 0, wide_dropping = 0;      // wider ones
};

struct MaskedAttention {
  MaskedPass forward, backward;
  double fp32_forward = 0, fp32_backward = 0;
  double ratio(const AttentionShape& shape, DataType type, bool back) const;
};
std::vector<Field<MaskedAttention>> masked_attention_fields();

}  // namespace tandem
