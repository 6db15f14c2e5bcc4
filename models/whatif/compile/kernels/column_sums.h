// Kernels of sums over rows: gradients of biases, of scales, of tables, sums over pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/whatif/compile/kernels/channel_norms.h"

namespace tandem {

class ColumnSums : protected ChannelNorms {
 public:
  using ChannelNorms::ChannelNorms;

  /// Sums over the pixels of channels-last images are columns: where they are split, a kernel of
  /// its own adds up what the group computes, or what it stores.
  void add_pixel_sum(std::uint32_t op, std::size_t norms);

  /// The gradients of a row norm's scale and shift: sums over all rows. Where rows are many, the
  /// kernel that holds them takes the sums along and only their parts are left to be added.
  void sum_gradient_rows(std::uint32_t op);

  /// All sums of the group over leading dimensions.
  void sum_columns();

 private:
  /// Images that the group stores, as many elements as `like` has.
  std::vector<std::uint32_t> stored_images(std::uint32_t like) const;
};

}  // namespace tandem
