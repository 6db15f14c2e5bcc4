// Constants of the compiler what-if: rates of generated kernels and host costs of compiled code.
#pragma once

#include <string>
#include <vector>

#include "models/kernel/time/laws/generated_code.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/laws/masked_attention.h"
#include "models/whatif/compile/inductor/padding.h"
#include "models/whatif/edit/compiled_host.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Times in us. What the constants are stands in fusion_law.cpp and with the laws of
/// models/kernel/time.
struct FusionLaw {
  std::string name;

  GeneratedCode generated;
  double persistent_columns = 0;
  AlignedProducts products;
  ItemProducts item_products;
  PaddingLaw padding;
  MaskedAttention masked;
  double score_dram_share = 0;
  double transpose_share = 0, transpose_cast_share = 0;
  FloorAndShare gradient_copy;
  FloorAndShare graph_input;
  double graph_input_chunk_us = 0;
  double layout_usual_ratio = 0, layout_grouped_ratio = 0;
  double layout_small_ratio = 0, layout_narrowing_ratio = 0;

  CompiledHostLaw host;

  double expected_error = 0;

  std::vector<Provenance> origins;
};

/// Reads configs/kernels/fusion.json. Errors: InputError `file:key: found X, expected Y`.
FusionLaw load_fusion_law(const std::string& path);

}  // namespace tandem
