// What a fused group reads, makes and computes.
#pragma once

#include <cstdint>
#include <vector>

#include "models/ops/op_table.h"
#include "models/whatif/compile/inductor/splits.h"
#include "models/whatif/compile/kernels/generated_kernel.h"

namespace tandem {

class GroupView {
 public:
  GroupView(const KernelContext& context, const FusionGroup& group) : c_(context), group_(group) {}

  const KernelContext& context() const { return c_; }
  const FusionGroup& group() const { return group_; }
  const FlowOp& flow_op(std::uint32_t i) const { return c_.flow.ops[i]; }
  FuseRole role(std::uint32_t op) const { return c_.plan.roles[op]; }
  const FlowTensor& tensor(std::uint32_t t) const { return c_.flow.tensors[t]; }
  std::size_t count(FuseRole role) const;
  /// Whether the operation (or no_row) is part of the group.
  bool holds(std::uint32_t op) const;

  /// The tensor at a place among the arguments of an operation; no_row where there is none.
  std::uint32_t input(std::uint32_t op, std::uint8_t argument) const;
  std::vector<std::uint32_t> inputs(std::uint32_t op) const;
  std::vector<std::uint32_t> outputs(std::uint32_t op) const;

  double bytes(const std::vector<std::uint32_t>& list) const;
  /// Of a tensor that the group reads: less than all where it takes a slice.
  std::int64_t read_elements(std::uint32_t t) const;
  /// Of these, what the L2 does not hold.
  double cold_bytes(const std::vector<std::uint32_t>& list) const;
  /// Places of maxima that pooling keeps or reads.
  double place_bytes() const;
  /// Of windows that nothing states: what they overlap is in the library's time. 0 of others.
  double unstated_window_us() const;
  /// Of the largest operand of an operation from an argument on.
  double values_of(std::uint32_t op, std::uint8_t from) const;
  double largest(const GeneratedKernel& k) const;
  /// Of the largest tensor that the operation reads or makes.
  double op_elements(std::uint32_t op) const;

  /// Whether the operation writes into some places of what is kept from step to step (caches of
  /// keys and values): in place, while other tables are copied first.
  bool fills_state(std::uint32_t op) const;

  bool is_group_norm(std::uint32_t op) const;
  /// What a norm over channels is of, forward or backward; null if its shape is not known.
  const TensorShape* normalised(std::uint32_t op) const;
  std::uint8_t normalised_argument(std::uint32_t op) const;
  /// Whether the channels of this operand, an image, lie side by side.
  bool lies_last(const FlowOp& op, std::uint8_t argument) const;
  /// Whether channels are the order of the norm's elements: images with channels last, or features
  /// without images.
  bool norms_last(std::uint32_t op) const;
  /// Of a group norm; 1 where nothing says.
  double groups(std::uint32_t op) const;
  /// Elements of a group that lie beside each other in channels-last order and share a sector of t.
  double shared_sector(std::uint32_t op, std::uint32_t t) const;
  /// What is read for a tensor: the operand of a cast that the group computes itself.
  std::uint32_t loaded(std::uint32_t t) const;
  /// Its statistics: forward one for each image and group, backward for each image and channel.
  SumShape group_sums(std::uint32_t op) const;

  /// Whether the pixels of an image that a norm of channels reads are a power of two: an element's
  /// place in it then costs no division, and loads stay wide.
  bool shifts_pixels(std::uint32_t norm) const;

  /// Elements of one row: those of the norm's scale or of the last dimension that is reduced, else
  /// unknown and short.
  double row_elements() const;
  GeneratedKind row_kind() const;
  /// Whether a block goes through its rows in loops rather than hold them: they are too long, or
  /// what a softmax, a norm or a sum reads does not lie as its rows do.
  bool loops_rows() const;
  /// The latter: rows that a block could hold.
  bool loops_for_order() const;
  /// Sums that its lanes pass to each other for each row, one after the other.
  double row_sums() const;
  /// Elements of a row that a lane loads at once, 16 bytes of the widest operand.
  double row_vector() const;
  /// Whether what a softmax, a norm or a sum of rows is computed from is gathered, or lies
  /// otherwise than its rows do. But for a softmax, rows that lie apart are another matter
  /// (strided_rows).
  bool reads_across(std::uint32_t op) const;
  /// Operations that gather, among those that an operation's operands are computed by.
  std::size_t gathers_before(std::uint32_t op) const;
  /// Whether an operand as large as the rows has other elements between those of a row.
  bool strided_rows() const;
  /// Whether the normalised rows that a gradient reads lie across: what generated code hands from
  /// forward to backward has the order that it chose for images, also where the last of four
  /// dimensions are rows (LayerNorm over the channels of permuted images). What a library kernel
  /// made is handed on itself.
  bool saved_across(std::uint32_t op) const;
  /// Whether images in the order of their few channels are put into that of pixels.
  bool turns_images() const;

  /// What of a normalised operand a backward group reads and no forward kernel keeps: the gradient
  /// of its activation needs it, and normalising again is cheaper than keeping it. 0: nothing.
  /// Transcendental gradients are computed in FP32 and so is what they read.
  double renormalised_bytes() const;
  /// By how much what was normalised again is wider than what the eager step kept of it.
  double widened_bytes() const;

  /// A reduction over all pixels of each image while images are in channels-last order, or no_row.
  std::uint32_t pixel_sum() const;

  double random_numbers() const;
  bool has_softmax() const;  // or its gradient

 private:
  double bytes_of(std::uint32_t t) const;
  /// What no operation of the step made, or one before the last that wrote as much as the L2 holds.
  bool lies_in_dram(std::uint32_t t) const;
  /// To what a convolution made: part of the layer as the framework runs it.
  bool adds_bias(std::uint32_t op) const;
  bool turns_rows(std::uint32_t op, std::uint32_t t) const;
  bool stored_in_rows(std::uint32_t t) const;
  /// The operation and those that generated code computes it from, in its own phase.
  std::vector<std::uint32_t> made_from(std::uint32_t op) const;
  /// The most bytes that `bytes_of` gives for an operation that reads (`reads`) what a norm of
  /// channels of the group made of its operand.
  template <class Bytes>
  double normalised_again(OpFlag reads, Bytes bytes_of) const;

  const KernelContext& c_;
  const FusionGroup& group_;
};

}  // namespace tandem
