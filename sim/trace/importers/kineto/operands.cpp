#include "sim/trace/importers/kineto/operands.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "sim/core/bounds/limits.h"
#include "sim/core/bounds/trace_size.h"
#include "sim/core/error.h"
#include "sim/core/tensors/data_type.h"
#include "sim/core/text/numbers.h"
#include "sim/trace/json/token.h"

namespace tandem::kineto {
namespace {

/// Texts that have been seen are forgotten beyond this; one that comes again is parsed again.
constexpr std::size_t most_text_bytes = std::size_t{16} << 20;

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
    while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
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
  /// A string token, from quote to quote.
  std::string_view quoted() {
    expect('"');
    const std::size_t begin = at_ - 1;
    for (bool escaped = false; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' && !escaped) return text_.substr(begin, ++at_ - begin);
      escaped = text_[at_] == '\\' && !escaped;
    }
    fail("a closing quote");
  }
  [[noreturn]] void fail(const std::string& expected) const {
    constexpr std::size_t shown = 200;
    throw InputError(what_, "character " + std::to_string(at_),
                     "`" + std::string(text_.substr(0, shown)) + "`", expected);
  }

 private:
  static bool is_separator(char c) {
    return c == ' ' || c == ',' || c == '\n' || c == '\r' || c == '\t';
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
};

// One argument: [] or [3,4] or [[3,4],[5]].
void read_argument(Reader& reader, std::size_t argument, IntegerLists& out, int depth = 0) {
  constexpr int deepest = 8;
  if (depth > deepest) reader.fail("lists of lists of integers");
  reader.expect('[');
  if (reader.at_list()) {
    while (reader.at_list()) read_argument(reader, argument, out, depth + 1);
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

/// Errors: InputError for dimensions that no tensor has.
void check_dims(Integers dims) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > limits::dimension) {
      throw InputError("Input Dims", "", std::to_string(dim),
                       "dimensions of 0 to " + std::to_string(limits::dimension));
    }
    // An empty tensor's other dimensions count too: what-ifs take them one by one.
    elements = limits::product(elements, std::max<std::int64_t>(dim, 1));
  }
  if (elements > limits::elements) {
    throw InputError("Input Dims", "", "a tensor of more elements than any GPU holds",
                     "at most " + std::to_string(limits::elements));
  }
}

/// Errors: InputError for strides that reach beyond what a tensor may hold.
void check_strides(Integers strides) {
  for (const std::int64_t stride : strides) {
    if (stride >= 0 && stride <= limits::elements) continue;
    throw InputError("Input Strides", "", std::to_string(stride),
                     "strides of 0 to " + std::to_string(limits::elements));
  }
}

// Dimensions beyond the array's size are folded into the first one, so that the count stays right.
TensorShape make_shape(Integers dims, DataType type, std::optional<Integers> strides) {
  check_dims(dims);
  if (strides) check_strides(*strides);
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
  shape.channels_last = has_channels_last(shape);
  return shape;
}

OpTensors tensors_of(const IntegerLists& sizes, const IntegerLists& steps,
                     const std::vector<std::string_view>& types) {
  const bool has_steps = steps.arguments == sizes.arguments;
  OpTensors out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t argument = sizes.arguments[i];
    const std::string_view name = argument < types.size() ? unquote(types[argument]) : "";
    const DataType type = parse_framework_type(name);
    const Integers size = sizes.list(i);
    if (size.empty() && type == DataType::unknown) continue;  // a scalar, a list without shapes
    const auto strides = has_steps ? std::optional(steps.list(i)) : std::nullopt;
    out.add(argument, make_shape(size, type, strides));
  }
  out.shapes.shrink_to_fit();
  out.arguments.shrink_to_fit();
  return out;
}

// Flags of a list are 1 and 0.
template <class Number>
std::optional<Number> element_of(std::string_view text) {
  if (text == "True") return Number{1};
  if (text == "False") return Number{0};
  return plain_number<Number>(text);
}

// "[1, 2]" or "[[1], [2, 3]]", flattened; nothing if there is something else than such numbers.
template <class Number>
std::optional<std::vector<Number>> list_of(std::string_view text) {
  std::vector<Number> out;
  constexpr std::string_view separators = "[], ";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) {
      const auto number = element_of<Number>(text.substr(0, end));
      if (!number) return {};
      out.push_back(*number);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Argument argument_of(std::string_view text) {
  if (text.empty()) return {};
  if (text == "True") return true;
  if (text == "False") return false;
  if (const auto integer = plain_number<std::int64_t>(text)) return *integer;
  if (const auto number = plain_number<double>(text)) return *number;
  if (text.front() == '[') {
    if (auto list = list_of<std::int64_t>(text)) return *std::move(list);
    if (auto list = list_of<double>(text)) return *std::move(list);
  }
  return std::string(text);
}

std::vector<Argument> arguments_of(const std::vector<std::string_view>& tokens) {
  std::vector<Argument> out;
  out.reserve(tokens.size());
  std::string scratch;
  for (const std::string_view token : tokens) {
    out.push_back(argument_of(unescape(token, scratch).value_or(unquote(token))));
  }
  return out;
}

}  // namespace

Operands parse_operands(const OperandTexts& texts) {
  const IntegerLists sizes = read_lists(texts.dims, "Input Dims");
  const IntegerLists steps = read_lists(texts.strides, "Input Strides");
  const auto types = read_texts(texts.types, "Input type");
  Operands out;
  out.tensors = tensors_of(sizes, steps, types);
  out.arguments = arguments_of(read_texts(texts.concrete, "Concrete Inputs"));
  out.has_shapes = !texts.dims.empty();
  out.argument_count = static_cast<std::uint16_t>(
      std::min<std::size_t>(std::max(types.size(), out.arguments.size()), 65'535));
  return out;
}

OperandReader::Known OperandReader::parse(const OperandTexts& texts) {
  if (table_.bytes() > limits::operand_bytes) {
    error_ = "more than 512 MiB of different operands";
    return {};
  }
  try {
    return {table_.intern(parse_operands(texts)), true};
  } catch (const InputError& error) {
    error_ = error.what();
    return {};
  }
}

bool OperandReader::read(const OperandTexts& texts, OperandsId& id) {
  id = {};
  scratch_.clear();
  for (const std::string_view text : {texts.dims, texts.types, texts.strides, texts.concrete}) {
    scratch_.append(text).push_back('\0');
  }
  if (scratch_.size() == 4) return true;  // none recorded
  if (texts_.bytes() > most_text_bytes) {
    texts_ = {};
    known_.clear();
  }
  const StringId text = texts_.intern(scratch_);
  if (text.index() == known_.size()) known_.push_back(parse(texts));
  id = known_[text.index()].id;
  return known_[text.index()].readable;
}

}  // namespace tandem::kineto
