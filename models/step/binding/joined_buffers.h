// Buffers that generated code writes part by part, each by a kernel of its own: concatenations.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/core/tensors/data_type.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

/// What is written with the strides of something larger is a part of it. The parts of a buffer
/// follow one another, and no more is written than it holds.
class JoinedBuffers {
 public:
  /// A tensor that generated code has made, of this shape.
  void see(std::uint32_t tensor, const TensorShape& shape);
  /// The parts that fill a buffer as large as `shape`, of its type, in the order in which they were
  /// written; each once. Empty where there is none, or one whose parts are not all written.
  std::vector<std::uint32_t> take(const TensorShape& shape);

 private:
  struct Buffer {
    std::vector<std::uint32_t> parts;
    std::int64_t elements = 0;  // of all parts
  };
  std::map<std::pair<std::int64_t, DataType>, Buffer> buffers_;  // by elements of the whole
};

}  // namespace tandem
