// Constants of the batch-size what-if: launch floors, rates and damping, read from configs/kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/kernel/residual.h"
#include "sim/core/provenance.h"

namespace tandem {

/// Matrix products on tensor cores: the time of a step along k of one tile.
struct TensorRates {
  double efficiency = 0;        // share of the peak multiply rate that a full tile reaches
  double l2_bytes_per_clk = 0;  // operand bytes that reach an SM per clock
};

/// All times in us. See `tandem describe` and batch_law.cpp for what each one is.
struct BatchLaw {
  std::string name;

  // Shape of the law: pred = floor + residual^w x body(new batch).
  double trace_floor_us = 0;
  double floor_share_memory = 0;
  double floor_share_matrix = 0;
  double damping_us = 0;

  // Memory-bound kernels
  std::array<double, memory_classes> floor_us{};
  double dram_share = 0;
  double l2_gain = 0;
  double l2_full_share = 0;
  double l2_none_share = 0;

  // Matrix products
  TensorRates gemm_half, conv_half, tf32;
  double tensor_floor_us = 0;
  double tile_latency_us = 0;
  double split_us = 0;
  double simt_floor_us = 0;
  double simt_share = 0;
  double simt_operand_slots = 0;
  double simt_step_cycles = 0;
  double simt_split_us = 0;

  // Batch normalisation, one block per channel
  double bn_floor_us = 0;
  double bn_shared_share = 0;
  double bn_forward_ns = 0;
  double bn_backward_ns = 0;
  double bn_backward_crowded_ns = 0;
  double bn_dram = 0;
  double lone_dram = 0;
  double bn_block_us = 0;
  double bn_block_gbps = 0;
  double bn_chip_share = 0;

  // Fused attention, reductions over the batch, embedding gradients
  double attention_floor_us = 0;
  double attention_lone_waves = 0;
  double column_step_us = 0;
  double column_split_us = 0;
  double embedding_token_us = 0;
  double embedding_sort_us = 0;
  double embedding_sort_token_us = 0;

  // Memory of the device
  double memory_workspace_bytes = 0;
  double memory_context_bytes = 0;
  double memory_usable_share = 0;

  std::vector<Provenance> origins;

  /// Of kernels that the memory system bounds.
  Damping memory_damping() const { return {floor_share_memory, damping_us}; }
};

/// Reads configs/kernels/batch.json. Errors: InputError `file:key: found X, expected Y`.
BatchLaw load_batch_law(const std::string& path);

}  // namespace tandem
