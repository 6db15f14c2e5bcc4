// Kernels that a predicted step gets, read from configs/kernels/libraries.json: what they are, and
// what libraries call them, which is for display alone. Only here do kernels get names;
// models/kernel/classify reads names that a trace has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel/kernel.h"
#include "models/kernel/library_class.h"
#include "models/kernel/time/time_model.h"

namespace tandem {

/// What a predicted step needs a kernel for.
enum class LibraryUse : std::uint8_t {
  product,        // a matrix product in another precision
  score_product,  // of attention that is computed by products of its own
  attention_forward,
  attention_backward,
  attention_row_sums,      // before the backward kernel
  attention_conversion,    // after it
  attention_head_sums,     // after it, of heads that share keys
  attention_semaphores,    // cleared before
  attention_random_state,  // of dropout, fetched before
  cast_down,               // to 16 bits; the type is that of the result
  cast_up,                 // to FP32; the type is that of the operand
  norm_forward,            // batch norm of the library
  norm_backward,
  norm_last_inference,     // of the library, images in channels-last order
  native_norm_statistics,  // batch norm of the framework itself
  native_norm_update,
  native_norm_transform,
  native_norm_backward,
  native_norm_inverse,     // of the deviation, in inference
  native_last_statistics,  // images in channels-last order
  native_last_transform,
  native_last_reduce,
  native_last_backward,
  scalar_copy,  // of the gradient scaler
  scalar_product,
  scalar_inverse,
  scalar_fill,
  gradient_unscale,
  scale_update,
  ordered_copy,  // the framework's, of transposed elements
  mask_select,   // attention by products: by a condition, ...
  broadcast_add,
  mask_test,
  mask_all,
  row_softmax,
  row_softmax_backward,
  dropout_forward,
  dropout_backward,
  copy_on_device,
  copy_to_host,
  to_channels_last,
  to_channels_first,
  generated_pointwise,  // by a compiler; what they compute is appended
  generated_reduction,
  generated_row,
  all_reduce,  // between ranks
  broadcast,
  all_gather,
  reduce_scatter,
  list_copy,    // of all tensors of a list
  list_update,  // one operation of an optimizer on such
  fused_sgd,    // all of them
  fused_adam,
  depthwise_forward,  // the framework's
  depthwise_input_gradient,
  depthwise_weight_gradient,
  library_depthwise_forward,
  library_depthwise_input_gradient,
  library_depthwise_weight_gradient,
  gradient_add,  // to the one of an earlier pass
  gelu,          // of what a product made, where that does not apply it itself
  relu,
};

/// A kernel that a step was predicted to have.
struct PredictedKernel {
  KernelClass kernel;
  std::string name;  // as a profiler would print it
};

/// A name with {m} and {n} for the tile, {type} and {library_type} for the type of the elements.
struct LibraryName {
  LibraryUse use = LibraryUse::product;
  DataType type = DataType::unknown;  // unknown: any
  int compute_major = 0;              // first generation that it serves
  LibraryClass is;
  std::string name;
  std::string source;
};

/// What a block of a matrix kernel takes of an SM.
struct LibraryBlock {
  int threads = 0;
  int registers_per_thread = 0;
  int shared_bytes = 0;
};

/// The block of one tile, where the library has other ones for other tiles.
struct TileBlock {
  int tile_m = 0, tile_n = 0;
  LibraryBlock block;
  std::string source;
};

/// A typical matrix kernel: what the models need to know of one that was never traced.
struct LibraryKernel {
  int compute_major = 0;  // first generation that it serves
  LibraryClass is;
  std::string
      name;  // with {m}, {n} for the tile, {pass} for fprop, dgrad, wgrad, {split} for on, off
  std::string source;
  LibraryBlock block;
  std::vector<TileBlock> tiles;  // those with a block of their own; may be left out
};

/// How one library spells operands and accumulator of its kernels, by type.
struct TypeSpelling {
  std::string fp32, fp16, bf16;
};

struct Tile {
  int m = 128, n = 128;
};

struct LibraryNames {
  std::vector<LibraryKernel> kernels;
  std::vector<LibraryName> names;
  std::vector<TypeSpelling> spellings;  // the first that occurs in a name is exchanged

  /// What the newest generation not newer than `compute_major` uses; the oldest one's if all are
  /// newer.
  PredictedKernel kernel(LibraryUse use, DataType type = DataType::unknown, int compute_major = 0,
                         Tile tile = {}) const;
  /// The kernel of the newest generation that is not newer than `compute_major`, or null.
  const LibraryKernel* find(int compute_major, Engine engine, KernelFamily family,
                            DataType type) const;
  /// The same kernel for elements of another type; the name where it states the type.
  PredictedKernel retyped(const KernelClass& kernel, std::string_view name, DataType from,
                          DataType to) const;
};

/// Errors: InputError `file:key: found X, expected Y`, also for a use without a name.
LibraryNames load_library_names(const std::string& path);

/// The kernel with its tile and pass filled in; `parts`: how many k is split into.
PredictedKernel predicted_kernel(const LibraryKernel& kernel, Tile tile, Pass pass, int parts = 1);

/// Tile that the law of a product chose; the usual one where it states none.
Tile tile_of(const KernelTime& time);
/// Blocks of a kernel that has one for each tile: all along x where y would be a raster.
std::array<std::uint32_t, 3> grid_of_tiles(const KernelTraits& traits,
                                           const std::array<std::int64_t, 3>& tiles);
/// ... and computes the product.
std::array<std::uint32_t, 3> grid_of(const KernelTraits& traits, const KernelTime& time);

/// A kernel as it is launched for what the law of a product chose.
struct PredictedLaunch {
  PredictedKernel kernel;
  LaunchGeometry geometry;
};
PredictedLaunch predicted_launch(const LibraryKernel& kernel, const KernelTime& time, Pass pass);

/// The attention kernel for GPUs whose tensor cores lack TF32: the framework compiles an older one
/// for them. Its name is empty if the kernel is none that has an older one.
PredictedKernel attention_without_tf32(const KernelClass& kernel, std::string_view name);

/// Puts `text` where `name` has a placeholder, e.g. {m}.
void fill_in(std::string& name, std::string_view placeholder, std::string_view text);

/// As template arguments and `Input type` spell it: "float", "c10::Half", "c10::BFloat16"; "" for
/// other types.
std::string_view framework_type(DataType type);

}  // namespace tandem
