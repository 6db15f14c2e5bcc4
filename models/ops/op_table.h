// What a framework operation is: one table, a row an operation or a family of alike ones, that
// every model reads which has to tell operations apart.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/ops/op_arguments.h"

namespace tandem {

/// What an operation does to its operands.
enum class OpKind : std::uint8_t {
  pointwise,
  cast,  // a copy between types (or layouts: equal types)
  fill,
  dropout,
  batch_norm,
  batch_norm_backward,
  row_norm,  // layer norm, RMS norm, group norm
  row_norm_backward,
  softmax,  // and log-softmax
  softmax_backward,
  reduction,  // sum, mean: fewer outputs than inputs
  matmul,
  convolution,
  convolution_backward,
  attention,
  attention_backward,
  pooling,
  pooling_backward,
  gather,   // embedding, index_select
  scatter,  // and their gradients
  recurrent,
  loss,
  optimizer,   // multi-tensor operations
  collective,  // between ranks
  generated,   // code that a compiler wrote
  view,        // no device work: a view, an allocation, a question about a tensor
  scope,       // a range that holds operations: autograd nodes, compiled regions, profiler steps
  other,
};
std::string_view to_string(OpKind kind);

/// Whether the kind computes in a library kernel that a compiler keeps.
bool is_core(OpKind kind);

/// The type of layer that device work is reported under.
enum class Layer : std::uint8_t {
  around,  // that of the operation around it; pointwise if that has none either
  attention,
  batch_norm,
  collective,
  convolution,
  copy,
  dropout,
  embedding,
  group_norm,
  index,
  layer_norm,
  linear,
  loss,
  optimizer,
  pooling,
  rnn,
  softmax,
};

/// What autocast does to an operation (documentation of torch.amp).
enum class CastPolicy : std::uint8_t {
  lower,    // runs in 16 bits: matrix products, convolutions, attention
  full,     // runs in FP32: norms over rows, losses, powers and logarithms
  widen,    // reads what it is given and makes FP32 of it: softmax, sums, norms of vectors
  promote,  // runs in the widest type of its operands
};

/// How the results follow from the operands; see op_outputs.h. Operations in place leave the shape
/// of their first operand whatever the rule for pointwise results.
enum class OutputRule : std::uint8_t {
  none,            // nothing that another operation reads, or unknown
  same,            // like argument 0
  widest,          // operands broadcast to each other, in the widest of their types
  comparison,      // the same, boolean
  largest,         // like the largest operand: a guess, where operands are unrelated
  joined,          // a list, along the dimension of argument 1
  running,         // like argument 0; sums of integers are 64 bits wide
  sizes,           // of the shape that argument 1 lists
  resized,         // images of argument 0 in the size that argument 1 lists
  resized_back,    // of the shape that argument 2 lists
  sampled,         // images of argument 0, a pixel for each place that argument 1 lists
  unfolded,        // a column for each window of the image; its sides are argument 1
  folded,          // the image whose size argument 1 lists, of such columns
  indexed,         // argument 0 with its first dimensions exchanged for those of the indices
  masked,          // like argument 0, and a boolean mask
  channels,        // a number per channel
  gradients,       // like each operand that the forward operation read
  norm_gradients,  // like the saved input, then weight and bias
  twice,           // two results like argument 0
  padded,          // like argument 0, wider by the pairs of argument 1, the last dimension's first
  product,
  convolution,
  pooling,
  adaptive_pooling,
  steps,  // of a recurrent layer: its hidden state after each
  reduction,
  truths,     // the same, of truth values
  positions,  // the same, of positions
  rows,       // of a table, that an index picks
  elements,   // one per entry of an index
  table,      // that gradients of rows are added to
  bags,       // of rows of argument 0, one for each entry of argument 2 or row of argument 1
  spectrum,   // of a Fourier transform along the dimensions of argument 1, or what it is of
  type_only,  // one result whose shape the operands do not tell
};

/// Facts that few operations have.
enum OpFlag : std::uint64_t {
  waits = 1,         // the host waits for the device: a value of a device tensor is read
  batched = 2,       // products, one for each entry of the leading dimension
  length_first = 4,  // operands of attention are (batch, length, heads, width)
  transposed_convolution = 8,
  arithmetic = 16,          // arithmetic, not memory alone, bounds it
  converts = 32,            // to another type; nothing if the operand has it already
  per_element = 64,         // its index has an entry for each element, not for each row
  adds_gradients = 128,     // where gradients meet
  adds_rows = 256,          // to those of a table that an index names
  multiplies = 512,         // by a factor; in place, it is how an optimizer lets its momentum decay
  copies_all = 1024,        // an optimizer needs its result for all parameters at once
  scales_loss = 2048,       // part of a gradient scaler
  checks_gradients = 4096,  // ... and says whether they are finite
  sparse_rows = 8192,       // bags of rows, or gradients of those rows only that were used
  stores_gradients = 16384,  // where a gradient reaches its parameter
  // Of TensorFlow's operations, whose operands a network states as TensorFlow has them and models
  // read in the order of the row (workloads/tensorflow_operands.h).
  images_last = 32768,  // images [batch, height, width, channels], filters [height, width, in, out]
  transposes = 65536,   // truth values behind the factors say which of them are transposed
  error_function = 131072,   // `arithmetic` is that of the error function
  reads_operand = 262144,    // a gradient that reads the operand of its operation, not its result
  trigonometric = 524288,    // a sine or cosine
  full_inside = 1048576,     // is handed 16 bits under autocast and computes in FP32
  interpolates = 2097152,    // elements between others; backward each is added to four places
  cuts = 4194304,            // a view of parts
  keeps_operands = 8388608,  // but the first: autograd keeps them for a gradient that reads none
  adds_once = 16777216,      // adds each element to one place of an image: folded windows, growth
  keeps_first = 33554432,    // autograd keeps the first operand, be it that only its size is read
  divides = 67108864,        // by its second operand
  nonlinear = 134217728,     // no gradient is handed to it, only what was kept for one
  recurrent_layer = 268435456,  // all steps of it, which TorchDynamo leaves to the framework
  reads_often = 536870912,  // its operand, in more places than one: compiled code keeps it in FP32
  // Autocast converts its operands to the widest of their types (PyTorch, autocast op reference).
  aligns_types = 1073741824,
  calls_graph = 2147483648,     // of a compiler, or is the node of its backward pass
  clamps = 4294967296,          // to bounds, its second and third argument
  recurrent_cell = 8589934592,  // a step of a recurrent layer, which a loop of the program runs
  // TorchInductor makes no code of it and calls the framework (_inductor/lowering.py,
  // make_fallback).
  not_generated = 17179869184,
  hands_to_parts = 34359738368,  // of a tensor that holds others: what it contains works on those
  // A whole layer in one call of inference without autocast (torch.nn.MultiheadAttention), which a
  // compiler is given piece by piece.
  fast_path = 68719476736,
  splits_dimension = 137438953472,  // in two: what that layer's pieces begin with
  // The same of a layer around it (torch.nn.TransformerEncoderLayer), which adds in place.
  whole_block = 274877906944,
  activates = 549755813888,        // a product that applies a function to its result
  uses_twice = 1099511627776,      // its operand, as an activation does (x * sigmoid(x))
  draws_numbers = 2199023255552,   // random ones
  picks_classes = 4398046511104,   // of each row the one that a label names: it reads labels alone
  numbers_places = 8796093022208,  // one after the other, or those that count
  rolls = 17592186044416,          // what leaves on one side enters on the other
  lies_in_lines = 35184372088832,  // interpolates between two elements, not between four
};

struct OpRow {
  /// Names without "aten::" and overload, separated by blanks. A name also stands for its form in
  /// place (`add` for `add_`); a trailing '*' stands for any ending.
  std::string_view names;
  OpKind kind;
  Layer layer;
  CastPolicy autocast;
  OutputRule output;
  OpArguments arguments;
  std::uint64_t flags = 0;  // OpFlag
  bool backward = false;    // part of a backward pass

  bool is(OpFlag flag) const { return (flags & flag) != 0; }
};

/// All rows, in no particular order.
std::span<const OpRow> op_table();
std::vector<std::string_view> names_of(const OpRow& row);

/// The row of an operation ("aten::addmm", "aten::add_.Tensor"), or null: nobody described it.
const OpRow* find_op(std::string_view name);

/// The same, or for unknown ones a row that promises nothing: kind `other`, every tensor may be an
/// activation. Whoever uses it counts a loss `unknown_operation`.
const OpRow& op_row(std::string_view name);
bool is_known(const OpRow& row);

/// The row of the forward operation of an autograd node ("AddmmBackward0", with or without the
/// engine's prefix), or null.
const OpRow* forward_of_node(std::string_view node);

/// `name` without the prefix that the autograd engine puts before its nodes.
std::string_view without_engine_prefix(std::string_view name);
bool has_engine_prefix(std::string_view name);

/// Whether the name is that of an operation of the framework ("aten::add"), rather than of a
/// library, an autograd node or a range of the user.
bool is_framework_op(std::string_view name);
/// Whether the name is that of an autograd node that computes gradients, known or not.
bool is_backward_node(std::string_view name);
/// "add" of "aten::add"; other names as they are.
std::string_view without_framework(std::string_view name);

/// Whether the operation writes into its first operand: a name that ends in an underscore.
bool is_in_place(std::string_view name);

/// Forward or backward.
bool is_convolution(const OpRow& row);
/// A forward operation that takes parameters.
bool is_layer(const OpRow& row);
/// A product of two matrices, with or without a bias.
bool is_matrix_product(const OpRow& row);
/// ... with a bias or another matrix that is added to the product.
bool is_product_with_bias(const OpRow& row);
/// A product with a layer's weight, which is stored transposed: [outputs, inputs].
bool is_layer_product(const OpRow& row);

/// Whether PyTorch's decomposition of the operation converts operands of 16 bits to FP32 and its
/// result back: a norm, a softmax, an activation that uses its operand twice. Between two of them a
/// compiler drops both conversions (torch/_decomp; torch/_inductor/fx_passes/joint_graph.py:
/// pointless_convert).
bool computes_in_fp32(const OpRow& row);

/// What autocast does to the operation of this name: those in place keep their type.
CastPolicy cast_policy(std::string_view name);

}  // namespace tandem
