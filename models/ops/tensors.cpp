#include "models/ops/tensors.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "sim/core/error.h"

namespace tandem {
namespace {

constexpr std::pair<std::string_view, DataType> type_names[] = {
    {"float", DataType::fp32},
    {"c10::Half", DataType::fp16},
    {"c10::BFloat16", DataType::bf16},
    {"double", DataType::fp64},
    {"long int", DataType::int64},
    {"long", DataType::int64},
    {"int", DataType::int32},
    {"unsigned char", DataType::int8},
    {"signed char", DataType::int8},
    {"bool", DataType::boolean},
    {"c10::complex<float>", DataType::fp64}};

using Integers = std::span<const std::int64_t>;

// Nested lists of integers, flattened: each innermost list that may be a shape, with the argument
// it belongs to.
struct IntegerLists {
  std::vector<std::int64_t> values;    // of all lists, one after the other
  std::vector<std::size_t> ends;       // per list: where it ends in `values`
  std::vector<std::size_t> arguments;  // per list
  std::size_t size() const { return ends.size(); }
  Integers list(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return Integers(values).subspan(begin, ends[i] - begin);
  }
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == ',')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("'") + c + "'");
  }
  bool at_list() {
    skip_space();
    return at_ < text_.size() && text_[at_] == '[';
  }
  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("an integer");
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::string_view quoted() {
    expect('"');
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError(what_, "character " + std::to_string(at_), "\"" + std::string(text_) + "\"",
                     expected);
  }

 private:
  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
};

// One argument: [] or [3,4] or [[3,4],[5]].
void read_argument(Reader& reader, std::size_t argument, IntegerLists& out) {
  reader.expect('[');
  if (reader.at_list()) {
    while (reader.at_list()) read_argument(reader, argument, out);
    reader.expect(']');
    return;
  }
  while (!reader.take(']')) out.values.push_back(reader.integer());
  out.ends.push_back(out.values.size());
  out.arguments.push_back(argument);
}

IntegerLists read_lists(std::string_view text, std::string_view what) {
  IntegerLists out;
  if (text.empty()) return out;
  out.values.reserve(text.size() / 3);  // most are of two digits and a comma
  out.ends.reserve(8), out.arguments.reserve(8);
  Reader reader(text, what);
  reader.expect('[');
  for (std::size_t argument = 0; !reader.take(']'); ++argument) {
    read_argument(reader, argument, out);
  }
  return out;
}

std::vector<std::string_view> read_texts(std::string_view text, std::string_view what) {
  std::vector<std::string_view> out;
  if (text.empty()) return out;
  Reader reader(text, what);
  reader.expect('[');
  while (!reader.take(']')) out.push_back(reader.quoted());
  return out;
}

// Dimensions beyond the array's size are folded into the first one, so that the count stays right.
TensorShape make_shape(Integers dims, DataType type, std::optional<Integers> strides) {
  TensorShape shape;
  shape.type = type;
  const std::size_t extra = dims.size() > shape.dims.size() ? dims.size() - shape.dims.size() : 0;
  shape.rank = static_cast<std::uint8_t>(dims.size() - extra);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t& slot = shape.dims[i < extra ? 0 : i - extra];
    slot = i <= extra && i > 0 ? slot * dims[i] : dims[i];
  }
  if (strides && strides->size() == dims.size()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if ((*strides)[i] == 0 && dims[i] > 1) shape.expanded *= dims[i];
      if (i >= extra) shape.strides[i - extra] = (*strides)[i];
    }
  }
  const bool image = strides && strides->size() == 4 && shape.rank == 4 && dims[1] > 1;
  shape.channels_last = image && (*strides)[1] == 1 && (*strides)[3] == dims[1];
  return shape;
}

bool is_list(std::string_view type) {
  return type == "TensorList" || type.starts_with("GenericList") || type.starts_with("Tensor[]") ||
         type.starts_with("OptionalTensorList");
}

}  // namespace

const TensorShape* OpTensors::at(std::size_t position) const {
  const auto it = std::find(arguments.begin(), arguments.end(), position);
  return it == arguments.end() ? nullptr
                               : &shapes[static_cast<std::size_t>(it - arguments.begin())];
}

DataType parse_type(std::string_view name) {
  for (const auto& [text, type] : type_names) {
    if (text == name) return type;
  }
  return DataType::unknown;
}

OpTensors parse_tensors(std::string_view dims, std::string_view types, std::string_view strides) {
  const IntegerLists sizes = read_lists(dims, "Input Dims");
  const IntegerLists steps = read_lists(strides, "Input Strides");
  const auto names = read_texts(types, "Input type");
  const bool has_steps = steps.arguments == sizes.arguments;
  OpTensors out;
  out.shapes.reserve(sizes.size()), out.arguments.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t argument = sizes.arguments[i];
    const std::string_view name = argument < names.size() ? names[argument] : "";
    const DataType type = parse_type(name);
    const Integers size = sizes.list(i);
    if (size.empty() && type == DataType::unknown) {  // a scalar, or a list without shapes
      out.lists_without_shapes |= is_list(name);
      continue;
    }
    out.shapes.push_back(
        make_shape(size, type, has_steps ? std::optional(steps.list(i)) : std::nullopt));
    out.arguments.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(argument, 255)));
  }
  return out;
}

std::vector<std::string_view> parse_arguments(std::string_view concrete) {
  return read_texts(concrete, "Concrete Inputs");
}

std::vector<std::int64_t> parse_integers(std::string_view argument) {
  std::vector<std::int64_t> out;
  const char* at = argument.data();
  const char* end = at + argument.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc{}) {
      out.push_back(value);
      at = next;
    } else if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
      ++at;
    } else {
      return {};
    }
  }
  return out;
}

}  // namespace tandem
