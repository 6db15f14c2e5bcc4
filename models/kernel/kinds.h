// The table of kernel kinds: what every model needs to know of a kind stands in one row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/kernel/kernel.h"
#include "sim/core/named.h"

namespace tandem {

/// What a kernel is, finer than its family. The rows stand in kinds.def.
enum class Kind : std::uint16_t {
#define KIND(name, ...) name,
#include "models/kernel/kinds.def"
#undef KIND
};

/// What a kernel is to the operation that launched it.
enum class Role : std::uint8_t {
  main,    // does the operation's work
  helper,  // of a matrix family, but multiplies nothing: sums of parts, transforms
  set_up,  // a few steps of one block, whatever the size of the operation
};

/// How elements, rows and bytes follow from the shapes of the operation (work/work.cpp).
enum class WorkRule : std::uint8_t {
  none,           // they do not, or are not known
  elementwise,    // operands in argument order, broadcast
  concatenation,  // all operands are read and written
  generated,      // all operands, the last of them written
  multi_tensor,   // chunks, which the grid counts
  update,         // a parameter and its states in place, by its gradient
  arguments,      // the arguments that KindRow::use names
  padded_rows,    // the same; a row takes the next power of two of elements
  reduction,      // the same; results are the dimensions that are not summed
  matrix,         // a product or convolution
  split_sum,      // sums of the parts of a product
  transform,      // 32 x 32 tiles of pixels and channels
  cell,           // a thread a hidden unit
  window,         // pooling
  max_window,     // pooling that stores where the maximum was
  gather,         // rows of a table
  bags,           // rows of a table, summed
  indices,        // the largest tensor of indices
  put,            // values behind indices
};

/// How the model of a kernel's time works, and so what may be carried from one GPU to another.
enum class TimeLaw : std::uint8_t {
  matrix,       // tiles of a matrix product
  convolution,  // the fastest of the library's algorithms
  attention,    // tiles of keys that blocks of queries walk over, or the other way around
  memory,       // bytes at the rate of DRAM and L2
  layer_norm,   // rows that a block reads once or again
  softmax,      // the same, a warp or a block a row
  channels,     // a block a channel: bytes, or the accesses that blocks keep in flight
  throughput,   // instructions, or multiply-adds, at the rate of all SMs: ratios between GPUs only
  latency,      // dependent steps
  link,         // copies between host and device
  none,         // nothing known
};

/// Groups of kernels whose time follows the bytes they move; they differ in their launch floor.
enum class MemoryClass : std::uint8_t {
  vectorized,  // elementwise, 16-byte accesses
  pointwise,   // other elementwise kernels and concatenation
  layout,
  pooling,  // also softmax
  layer_norm,
  reduction,
  embedding,  // gather and scatter of rows
  sort,
  transfer,
  other,
};
inline constexpr std::size_t memory_classes = values_up_to(MemoryClass::other);

/// How the threads of a kernel with a functor, or with computed indices, walk over the elements.
enum class Loop : std::uint8_t {
  none,
  vectorized,  // neighbouring elements at once
  unrolled,
  casting,  // unrolled; converts what it loads and stores
  strided,  // computes the place of every element
  strided_casting,
  indexed,  // at places that another tensor names
  chunks,   // of many tensors
};

/// How a batch norm kernel walks over a channel.
enum class NormForm : std::uint8_t {
  none,
  elementwise,      // the statistics are given
  library,          // cuDNN, several times from memory
  library_on_chip,  // cuDNN, kept on the SM after the first time
  native,           // the framework's own kernels, and cuDNN's for channels-last order
};

enum class Direction : std::uint8_t { none, forward, backward };

/// How a kernel uses the arguments of its operation.
struct ArgumentUse {
  std::uint8_t main = 0;      // the tensor it walks over
  std::uint32_t reads = 0;    // arguments it reads once each, bits
  double writes = 0;          // bytes it writes, as a multiple of the main tensor
  std::uint8_t row_dims = 0;  // trailing dimensions that form a row; 0: no rows
};

struct KindRow {
  Kind kind = Kind::unknown;
  std::string_view name;  // of the enumerator
  KernelFamily family = KernelFamily::generic;
  Role role = Role::main;
  WorkRule work = WorkRule::none;
  TimeLaw time = TimeLaw::memory;
  MemoryClass memory = MemoryClass::other;
  std::string_view key = name;  // in configs/kernels/costs.json and tables of results
  Loop loop = Loop::none;
  ArgumentUse use = {};  // of rules arguments, padded_rows and reduction
  NormForm norm = NormForm::none;
  Direction direction = Direction::none;  // of attention and batch norm
  bool fixed_size = false;                // work that does not grow with that of the operation
  bool depthwise = false;                 // a convolution of every channel by itself
};

/// All rows, in the order of Kind.
std::span<const KindRow> kind_rows();
const KindRow& row_of(Kind kind);
const KindRow& row_of(const KernelTraits& traits);

/// Key of the cost constants for a kernel; "unknown" if no rule matched its name.
std::string_view kind_name(const KernelTraits& traits);
/// Kernels of matrix families that multiply nothing: sums of parts, transforms, set-up.
bool is_helper(const KernelTraits& traits);
/// Those of them that are a few steps of one block, whatever the size of the product.
bool is_set_up(const KernelTraits& traits);
/// Kernels that prepare or finish another one, with work that does not grow with its own.
bool has_fixed_size(const KernelTraits& traits);
std::string_view to_string(TimeLaw law);

}  // namespace tandem
