#include "sim/trace/importers/nsys/ranges.h"

#include "sim/core/text/numbers.h"
#include "sim/trace/importers/marks.h"

namespace tandem::nsys {

namespace {

/// The value behind "key = " in `text`, up to the next ", " that is outside of brackets; empty if
/// the key is not there.
std::string_view value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view value = text.substr(at + key.size());
  int depth = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '[' || value[i] == '(') ++depth;
    if (value[i] == ']' || value[i] == ')') --depth;
    if (value[i] == ',' && depth == 0) return value.substr(0, i);
  }
  return value;
}

/// Autograd's engine calls the functions of the backward pass inside of such a range.
constexpr std::string_view backward_mark = "autograd::engine::evaluate_function: ";

/// PyTorch numbers the ranges around its optimizers and loaders like operations; they hold
/// operations and are none (torch.profiler calls them annotations of the user).
bool is_users(std::string_view text) {
  return text.starts_with("Optimizer.") || mark_of(text) != AnnotationMark::none;
}

}  // namespace

Range read_range(std::string_view text) {
  Range range{.name = text, .sizes = {}};
  const std::string_view op = value_of(text, ", op_id = ");
  const std::string_view sequence = value_of(text, ", seq = ");
  range.sizes = value_of(text, ", sizes = ");
  range.op = plain_number<std::int64_t>(op).value_or(-1);
  range.sequence = plain_number<std::int64_t>(sequence).value_or(-1);
  range.is_backward = text.starts_with(backward_mark);
  const bool numbered = range.op >= 0 || range.sequence >= 0 || !range.sizes.empty();
  range.is_op = (numbered && !is_users(text)) || text.starts_with("aten::") || range.is_backward;
  for (const std::string_view key : {", seq = ", ", op_id = ", ", sizes = "}) {
    range.name = range.name.substr(0, range.name.find(key));
  }
  return range;
}

}  // namespace tandem::nsys
