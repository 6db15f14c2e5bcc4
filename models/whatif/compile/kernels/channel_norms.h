// Kernels of norms over channels: statistics in parts, and what a group computes again of a norm.
#pragma once

#include <cstdint>
#include <vector>

#include "models/whatif/compile/kernels/kernel_writer.h"

namespace tandem {

class ChannelNorms : protected KernelWriter {
 public:
  using KernelWriter::KernelWriter;

  /// The norm of a forward group again, for the gradient of what follows it.
  void renormalise();

  /// Sums over neighbours that are not split leave their channel to one block, which can go over it
  /// again to normalise it.
  bool whole_channels() const;
  void normalise_whole_channels();

  /// Means and variances, or the two sums of a norm's backward.
  void statistics(std::uint32_t op, std::vector<std::uint32_t> reads, int results,
                  double more_bytes = 0);

  /// Two norms that read one gradient: it is written first.
  void share_gradient();

 private:
  SumShape channel_sums(std::uint32_t op) const;
  /// Groups of channels lie in one piece, channels do not.
  SumOrder whole_order(std::uint32_t op) const;
  /// The rows of a group norm lie across images in channels-last order: what a block reads of them
  /// brings sectors of others along. A block that holds a whole group takes its channels of a pixel
  /// together; parts of a split one are pixels of one channel. Gradients are summed by image and
  /// channel, then by group, then over images.
  void group_statistics(std::uint32_t op, std::vector<std::uint32_t> reads, int results);
};

}  // namespace tandem
