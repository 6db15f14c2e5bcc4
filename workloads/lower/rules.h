// Which kernels an operation launches: one set of rules, read from configs/kernels/lowering.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/kernel/kernel.h"

namespace tandem {

/// How an operation becomes kernels. Which of a rule's kernels serves what stands with each recipe.
enum class Recipe : std::uint8_t {
  nothing,      // launches no work
  sequence,     // every kernel of the rule, sized by its own row
  picked_loss,  // [0] where the losses of rows are reduced, [1] where they are kept; backward
                // behind [2] zeros
  put,          // [0] sorts the places, then [1] single elements or [2] rows
  elementwise,  // [0] contiguous operands, [1] computed places, [2] other types, [3] a copy first
  copy,         // the same, and [3] plain memory
  fill,         // [0]
  reduction,    // [0..2] by the width of a load: 1, 2, 4; a memset where blocks share results
  softmax,      // [0] a warp a row, [1] a block a row, [2] along another dimension
  row_norm,     // [0] forward; backward: [0] input gradient, [1] parameter gradients
  batch_norm,   // [0] a channel stays on the SM, [1] it does not
  group_norm,   // forward: [0] moments by a block, [1] by a warp, [2] per channel, [3] elements;
                // backward: [0] sums by a block, [1] by a warp, [2..3] small ones, [4] elements,
                // [5] parameters
  product,      // the library's choice; [0] sum of split parts
  convolution,  // the library's choice; see convolution.cpp
  convolution_backward,
  depthwise,  // [0] forward pass of a layer with one input channel a group
  attention,
  multi_tensor,        // [0]
  concatenation,       // [0] tensors in order, [1] any
  embedding_gradient,  // see tables.cpp
  recurrent,
  fourier,  // [0] a pass over one dimension; [1] scales; [2] copies what a pass to reals overwrites
  interpolation,  // of gradients: [0] images with channels first, [1] with channels last; [2] zeros
  sampling,       // [0] the framework's kernel, [1] the library's; backward behind [2] zeros
  windows,        // [0], once for each image
  weight_norm,    // [0] of the first dimension, [1] of the last
  running,        // [0] along the last dimension, [1] along another one
  // TensorFlow's; see tensorflow.cpp.
  nhwc_convolution,
  nhwc_batch_norm,
  column_sums,
};

/// What a kernel's blocks share out among them.
enum class Over : std::uint8_t { output, first, second, third, fourth, rows, largest, one };

/// What each thread of a kernel goes through, one after the other, from one place of an image.
enum class Through : std::uint8_t { nothing, images, channels, planes };

/// A kernel of a library as rules name it.
struct KernelTemplate {
  std::string key;
  std::string name;  // with {functor}, {type}, {operands}, {m}, {n}
  std::string source;
  std::string channels_last;  // key of the kernel that images in NHWC order take; empty: this one
  int compute_major = 7;      // first generation that has it; newer rows of the same key replace it
  int threads = 128;
  int registers = 32;
  std::int64_t shared_bytes = 0;
  Over over = Over::output;
  double per_block = 1;      // elements, or rows, of a block
  double blocks_per_sm = 0;  // more are not launched; 0: any number
  double share = 1;          // of what the time law says that it reaches; see reached_us
  Through through = Through::nothing;
  double step_us = 0;   // for each element of `over`; multi-tensor: a block's pass over its chunk
  double start_us = 0;  // beside the law and the launch
  double step_cycles = 0;  // from one step of a thread to the next, where it goes through something
  double missed_cycles = 0;  // ... beside that, where the L2 does not hold what it reads
  double block_cycles = 0;   // of an SM for a block, or its step, at least, beside its traffic
  double sector_share = 0;   // of the L2's read rate, of sectors of which one element is read
  double fp32_ratio = 1;     // of these cycles, of FP32 to 16 bits
  int fills = 0;             // 1: only writes the result
};

struct OpRule {
  std::vector<std::string> ops;
  Recipe recipe = Recipe::nothing;
  std::vector<std::string> kernels;  // keys
  std::string functor;
  std::vector<std::string> outer;  // operations around it in a profile, outermost first
  int lists = 0;                   // multi-tensor: tensor lists that a kernel walks over
  int scalar_lists = 0;            // 1: it carries a number per tensor
  double accesses = 0;  // reads and writes of an element, where operands are read in part
  int tf32 = 0;         // 1: FP32 products use it where the GPU has it
  int forwards = 0;     // 1: a result with as many elements as the operand is the operand
};

/// Which kernel of a library serves a pass of a convolution.
enum class ConvUse : std::uint8_t {
  plain,     // a product for each image
  implicit,  // an implicit product, every pixel
  strided,   // the same, with a stride and more than one tap
  sampled,   // with a stride and one tap
};

/// What the library's choice takes over the best of its tiles, which is what the time law gives.
struct ConvHabit {
  ConvUse use = ConvUse::plain;
  Pass pass = Pass::forward;
  DataType type = DataType::tf32;
  int compute_major = 9;  // generation
  double share = 1;       // of the law's rate
  double start_us = 0;    // before the first product
  std::string source;
};

/// A batch norm with a block for each channel, in SM cycles.
struct ChannelPace {
  bool backward = false;
  bool on_chip = false;           // the channel stays on the SM after the first time
  double life_cycles = 0;         // of a block by itself
  double life_cycles_per_kb = 0;  // ... and for each KB of the channel
  double next_cycles = 0;         // a further block of the same SM
  double next_cycles_per_kb = 0;
};

/// A recurrent layer as one kernel with a block for each sequence, in SM cycles for each step.
struct RecurrentPace {
  bool gated_thrice = false;  // GRU; else LSTM
  bool backward = false;
  int bytes = 4;               // of an element
  std::int64_t width = 0;      // of the state, at most
  double step_cycles = 0;      // at least
  double sequence_cycles = 0;  // of each sequence of an SM
};

/// Measured paces of kernels that no time law of models/kernel describes.
struct Paces {
  std::string source;
  std::vector<ChannelPace> channels;
  std::string recurrent_source;
  std::vector<RecurrentPace> recurrent;  // of a kind in ascending order of width
};

struct LoweringRules {
  std::string path;
  double expected_error = 0;  // of GPU time, mean over the validation cases
  double sm_cycle_bytes = 0;  // memory's rate for a cycle of an SM where `share` was read off
  Paces paces;
  std::vector<ConvHabit> habits;
  std::vector<KernelTemplate> kernels;
  std::vector<OpRule> rules;
  std::unordered_map<std::string, std::size_t> rule_of;  // by name of the operation

  /// The rule of an operation, or, in place, of the same operation with a result of its own; null.
  const OpRule* find(std::string_view op) const;
  /// What is known of a choice; nothing beyond the law for others.
  ConvHabit habit(ConvUse use, Pass pass, DataType type, int compute_major) const;
  /// The kernel that GPUs of this generation run. Errors: InputError for a key without a row.
  const KernelTemplate& kernel(std::string_view key, int compute_major) const;
};

/// Errors: InputError for unknown and missing keys, also for a rule that names no kernel's row.
LoweringRules load_lowering_rules(const std::string& path);

}  // namespace tandem
