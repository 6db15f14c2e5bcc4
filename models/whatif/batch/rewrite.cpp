#include "models/whatif/batch/rewrite.h"

#include <charconv>
#include <vector>

namespace tandem {
namespace {

using Integers = std::vector<std::int64_t>;

// Copies `text` and lets `change(i, list)` alter the i-th non-empty list of integers.
template <class Change>
std::string rewrite_lists(std::string_view text, const Change& change) {
  std::string out;
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < text.size();) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (!digit || (i > 0 && text[i - 1] != '[')) {
      out += text[i++];
      continue;
    }
    const std::size_t end = std::min(text.find(']', i), text.size());
    Integers list;
    for (const char *at = text.data() + i, *last = text.data() + end; at < last;) {
      std::int64_t value = 0;
      const auto [next, error] = std::from_chars(at, last, value);
      if (error == std::errc{}) list.push_back(value);
      at = error == std::errc{} ? next : at + 1;
    }
    change(tensor++, list);
    for (std::size_t n = 0; n < list.size(); ++n) {
      if (n > 0) out += ',';
      out += std::to_string(list[n]);
    }
    i = end;
  }
  return out;
}

// Positions in `op.tensors` of the operands that have dimensions, in text order.
std::vector<std::size_t> shaped_operands(const BatchOp& op) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < op.tensors.shapes.size(); ++i) {
    if (op.tensors.shapes[i].rank > 0) out.push_back(i);
  }
  return out;
}

}  // namespace

std::string resize_dims(std::string_view dims, const BatchOp& op, std::int64_t base_batch,
                        std::int64_t batch) {
  const auto operands = shaped_operands(op);
  return rewrite_lists(dims, [&](std::size_t i, Integers& list) {
    if (i >= operands.size() || op.axis[operands[i]] < 0) return;
    const auto axis = static_cast<std::size_t>(op.axis[operands[i]]);
    // TensorShape folds surplus dimensions into its first one.
    const std::size_t folded = list.size() - op.tensors.shapes[operands[i]].rank;
    std::int64_t& dim = list[axis == 0 ? 0 : axis + folded];
    dim = dim / base_batch * batch;
  });
}

std::string resize_strides(std::string_view strides, const BatchOp& op, std::int64_t base_batch,
                           std::int64_t batch) {
  const auto operands = shaped_operands(op);
  return rewrite_lists(strides, [&](std::size_t i, Integers& list) {
    if (i >= operands.size() || op.axis[operands[i]] < 0) return;
    const TensorShape& t = op.tensors.shapes[operands[i]];
    const auto axis = static_cast<std::size_t>(op.axis[operands[i]]);
    if (list.size() != t.rank || list[axis] <= 0) return;
    const std::int64_t extent = list[axis] * t.dims[axis];
    for (std::int64_t& stride : list) {  // steps over the whole growing dimension
      if (stride >= extent) stride = stride / base_batch * batch;
    }
  });
}

}  // namespace tandem
