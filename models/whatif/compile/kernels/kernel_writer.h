// Writes down the kernels of a fused group one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "models/whatif/compile/kernels/group_view.h"

namespace tandem {

class KernelWriter {
 public:
  KernelWriter(const KernelContext& context, const FusionGroup& group)
      : c_(context), group_(group), view_(context, group) {}

  void add(GeneratedKind kind, std::vector<std::uint32_t> reads, std::vector<std::uint32_t> writes);

  /// Everything that the group computes but statistics, in one kernel.
  void add_whole(GeneratedKind kind, SumOrder order = SumOrder::streamed);

  double moments_us(const std::vector<std::uint32_t>& reads, SumOrder order) const;

  /// Adds up what the parts of a split reduction left.
  void finish(double columns, double us);

  /// What a reduction adds up.
  struct Sums {
    double columns = 1;     // results of each kind
    int kinds = 1;          // of results
    bool moments = false;   // running means and variances
    bool inner = false;     // over neighbours
    bool images = false;    // of channels, image by image
    bool across = false;    // neighbouring columns lie far from each other
    bool plain = false;     // nothing else is computed, of one operand
    double more_bytes = 0;  // read besides the operands
    double row_us = 0;      // at least, for each row of a column that is not cut into parts
  };

  /// Sums over rows for each of the columns, in parts that further kernels add up.
  void reduce(std::vector<std::uint32_t> reads, const Sums& sums);

  /// Each operand is copied to its place. An operand of several concatenations is read once for
  /// four of them (DenseNet-121 under TorchInductor 2.11).
  void gather_operands(std::uint32_t op);

 protected:
  GeneratedWork work_of(const GeneratedKernel& k) const;
  /// ... of one that adds to tables, if the group does.
  GeneratedWork adding_work_of(const GeneratedKernel& k) const;
  double sum_us(const GeneratedKernel& k, const GeneratedWork& work, bool moments) const;

  const KernelContext& c_;
  const FusionGroup& group_;
  GroupView view_;
  std::vector<GeneratedKernel> out_;
};

}  // namespace tandem
