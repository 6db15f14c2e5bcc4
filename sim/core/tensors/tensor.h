// Types and shapes of tensor operands.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tandem {

enum class DataType : std::uint8_t {
  unknown,
  fp32,
  tf32,
  fp16,
  bf16,
  fp64,
  int64,
  int32,
  int8,
  boolean,
  complex64  // two FP32
};

/// Bytes of one element; 0 for `unknown`.
int element_bytes(DataType type);

/// Who keeps a tensor's memory.
enum class TensorRole : std::uint8_t {
  unknown,
  parameter,   // or a copy of one in another type
  kept,        // there all along: buffers, inputs, the optimizer's state
  gradient,    // of a parameter
  activation,  // whatever else the step makes, growing with the batch
  fixed,       // ... and of one size
};

/// The memory that a tensor lies in. Generated steps say which it is; traces tell tensors by their
/// shapes alone, which two that have nothing in common may share.
struct TensorMemory {
  std::uint32_t storage = 0;  // number within the step; 0: not known
  TensorRole role = TensorRole::unknown;
  bool known() const { return storage != 0; }
  bool made_in_step() const { return role == TensorRole::activation || role == TensorRole::fixed; }
  friend bool operator==(const TensorMemory&, const TensorMemory&) = default;
};

/// A tensor operand of the operation that launched the kernel.
struct TensorShape {
  std::array<std::int64_t, 6> dims{};
  std::array<std::int64_t, 6> strides{};  // in elements; all zero: not recorded
  std::uint8_t rank = 0;
  DataType type = DataType::unknown;
  bool channels_last = false;  // an image batch in NHWC order
  TensorMemory memory = {};
  std::int64_t expanded = 1;  // elements that share storage (stride 0): numel / expanded are unique
  /// Product of the dimensions; the largest int64 where it does not fit.
  std::int64_t elements() const;
  friend bool operator==(const TensorShape&, const TensorShape&) = default;
};

/// Dimensions of a batch of two-dimensional images: images, channels, rows, columns.
inline constexpr int image_rank = 4;

inline bool same_dims(const TensorShape& a, const TensorShape& b) {
  return a.rank == b.rank && a.dims == b.dims;
}

/// As many as the rank.
inline std::vector<std::int64_t> dims_of(const TensorShape& shape) {
  return {shape.dims.begin(), shape.dims.begin() + shape.rank};
}

/// Place of a dimension that, where negative, counts from the end. Outside 0 .. rank - 1: there is
/// none.
constexpr std::int64_t from_front(std::int64_t dim, std::int64_t rank) {
  return dim < 0 ? dim + rank : dim;
}

/// Whether the recorder noted strides.
bool states_strides(const TensorShape& shape);

/// Whether elements lie behind each other in the order of the dimensions; dimensions of one element
/// lie anywhere. Of stated strides.
bool is_contiguous(const TensorShape& shape);

/// Whether elements of the last dimension have others between them. Of stated strides.
inline bool lies_turned(const TensorShape& shape) {
  if (shape.rank < 2) return false;
  const auto last = static_cast<std::size_t>(shape.rank - 1);
  return shape.dims[last] > 1 && shape.strides[last] > 1;
}

/// Whether the strides are those of an image batch in NHWC order, or of some of its channels.
bool has_channels_last(const TensorShape& shape);

}  // namespace tandem
