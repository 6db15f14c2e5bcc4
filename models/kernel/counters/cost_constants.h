// Measured costs of kernels in countable things (work/features.h), read from configs/kernels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel/work/features.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Origin of rows of kinds that were not measured: rates of a kind that should behave alike, no
/// prices.
constexpr std::string_view assumed_origin = "assumed";

/// Costs of one kind of kernel. Instructions are warp instructions; shared: wavefronts.
struct CostRow {
  std::string kind;    // KindRow::key; "functor NAME" for elementwise arithmetic, "fused NAME" in
                       // generated code
  std::string type;    // of the arithmetic, or "": any
  std::string engine;  // "gmma": of the kind's kernels that multiply by warp groups; "": the others
  std::string origin;  // "measured" on single operators, "fitted" on networks or "assumed"
  std::string source;
  double error = 0;  // mean relative one of the instructions, over the kernels they were priced on
  double per_warp = 0, per_element = 0, per_row = 0, per_busy = 0, per_tap = 0, per_indexed = 0,
         per_multiply = 0, per_fragment = 0, per_load = 0, per_converted = 0, per_passed = 0,
         per_transposed = 0, per_dropped = 0, per_masked = 0, per_compared = 0;
  double per_step = 0, per_tile = 0, per_operand = 0, per_dim = 0, per_dim_operand = 0;
  double tensor_per_element = 0;  // of what is fused: the same a warp-wide element
  double tensor_per_warp = 0;     // tensor-pipe instructions that are no matrix product
  double shared_per_warp = 0, shared_per_element = 0, shared_per_fragment = 0, shared_per_load = 0,
         shared_per_passed = 0, shared_per_transposed = 0, shared_per_narrow = 0,
         shared_per_multiply = 0;
  double l1_reads = 1, l1_writes = 1;  // sectors at L1 over unique operand sectors (matrix: loaded)
  double l2_reads = 1, l2_writes = 1;  // the same at L2
  double l2_scattered =
      0;  // share of the sectors that lanes load again, beyond the operands, missing L1
  double l1_per_multiply =
      0;  // sectors a warp-wide multiply of a depthwise kernel reads; 0: l1_reads
  // What the kind usually does a cycle that an SMSP is active, for launches of unknown shapes; 0:
  // not measured.
  double rate_issue = 0, rate_tensor = 0;            // cycles
  double rate_l1 = 0, rate_l2 = 0, rate_shared = 0;  // sectors and wavefronts
  double rate_dram_reads = 0, rate_dram_writes = 0;  // over the bandwidth of reading DRAM
};
std::span<const Field<CostRow>> cost_row_fields();

/// Constants that hold for all kernels.
struct GeneralCosts {
  double launch_cycles = 0;
  double minimum_active_cycles = 0;
  double counter_window_cycles = 0;
  double tail_loss = 0;
  double block_start_cycles = 0;
  double refill_share = 0;
  double residency_power = 0;
  double issue_per_instruction = 0;
  double most_issue = 0;
  double most_issue_simt = 0;
  double occupancy_share = 0;
  double occupancy_share_matrix = 0;
  double hmma_on_gmma = 0;
  double hmma_short_on_gmma = 0;
  double tensor_half_us = 0;
  double tensor_lasting = 0;
  double tensor_tile_exponent = 0;
  double tensor_clock_from = 0;
  double tensor_clock_slope = 0;
  double refetch_from = 0;
  double refetch_span = 0;
  double unknown_issue = 0;
  double unknown_issue_simt = 0;
  double unknown_tensor_hmma = 0;
  double unknown_tensor_gmma = 0;
  double unknown_dram = 0;
  double unknown_functor = 0;
  std::vector<Provenance> origins;
};
std::span<const Field<GeneralCosts>> general_cost_fields();

/// Of one warp-wide element of a generated kernel.
struct FusedCost {
  double instructions = 0;  // for what it fuses
  double tensor = 0;        // ... those of the tensor pipe, which are no products
};

/// All constants, with rows found by kind and type.
class CostConstants {
 public:
  /// Errors: InputError `file:key: found X, expected Y`.
  static CostConstants load(const std::string& path);

  const GeneralCosts& general() const { return general_; }
  std::span<const CostRow> rows() const { return rows_; }
  /// Row for a kernel, or null: the kind is not measured.
  const CostRow* row(const KernelTraits& traits, DataType math) const;
  /// Arithmetic of an elementwise kernel, or null.
  const CostRow* functor(const KernelTraits& traits, DataType data) const;
  /// Of all that a generated kernel fuses.
  FusedCost fused(const KernelTraits& traits) const;

 private:
  static constexpr std::size_t types = 10;
  using Index = std::array<std::int16_t, types>;  // row of each type; -1: none

  void index_rows();
  std::vector<CostRow> rows_;
  GeneralCosts general_;
  std::vector<Index> by_kind_;       // per row of kind_rows()
  std::vector<Index> by_groups_;     // the same of kernels that multiply by warp groups
  std::vector<Index> by_functor_;    // per row of functor_rows()
  std::vector<FusedCost> by_fused_;  // per row of fused_rows()
};

}  // namespace tandem
