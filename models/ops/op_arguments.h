// The arguments of an operation by position: which hold activations or parameters, what a backward
// operation finds kept from forward, and where strides, paddings and the like stand.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tandem {

/// Arguments of an operation as a bit set; bit i: argument i. The last one stands for all behind.
using ArgumentSet = std::uint16_t;

/// Arguments that models look for by what they are.
enum class ArgumentName : std::uint8_t {
  input,
  grad,
  weight,
  left,
  right,
  query,
  key,
  state,
  index,
  stride,
  padding,
  output_padding,
  dilation,
  groups,
  transposed,
  kernel,
  dims,
  causal,
  scale,    // of the scores; nothing: that of the head's width
  dropout,  // probability
  mask,     // added to the scores of attention
  asked,    // which gradients are: 0 or 1 for each of query, key, value and mask
  mode,
  type,  // that the result is asked to have: a ScalarType, or true for FP32
  rows,
};
inline constexpr std::size_t argument_name_count = static_cast<std::size_t>(ArgumentName::rows) + 1;
inline constexpr std::uint8_t no_argument = 255;

/// A signature, written as one word an argument:
///   tensor        an activation or a parameter: shapes decide
///   input grad    activations, whatever their shape
///   saved         input of the forward operation, that its backward operation reads
///   saved_weight  ... if it is a parameter
///   result        output of the forward operation, that its backward operation reads
///   weight        parameter; the step may make it: autocast's copy in 16 bits
///   parameter     parameter as it is stored
///   index         picks rows or places; comes from outside of the model
///   fixed         a tensor that no operation of the step makes
///   output        where the result is written, if the caller gives a place
///   left right    factors of a product (right_weight: the factor is a parameter)
///   query key value mask state
///   -             no tensor; other words (stride, padding, ...) are positions of such
///   ...           further tensors
struct OpArguments {
  ArgumentSet made = 0;         // an operation of the step may have made it
  ArgumentSet activations = 0;  // holds activations for certain
  ArgumentSet parameters = 0;
  ArgumentSet saved_inputs = 0;   // of a backward operation: read by its forward operation
  ArgumentSet saved_outputs = 0;  // ... made by it
  std::array<std::uint8_t, argument_name_count> positions = {};

  /// Position of the first argument of that meaning, or no_argument.
  constexpr std::uint8_t at(ArgumentName a) const { return positions[static_cast<std::size_t>(a)]; }
  constexpr bool has(ArgumentName a) const { return at(a) != no_argument; }
};

constexpr bool contains(ArgumentSet set, std::size_t argument) {
  return (set >> (argument < 15 ? argument : 15) & 1U) != 0;
}

/// Whether the caller gives it for the result: nothing is read there.
constexpr bool is_place(const OpArguments& arguments, std::uint8_t argument) {
  return contains(arguments.activations, argument) && !contains(arguments.made, argument) &&
         argument != arguments.at(ArgumentName::index);
}

namespace signature {

enum Role : std::uint8_t {
  none = 0,
  made = 1,
  activation = 2,
  parameter = 4,
  saved_input = 8,
  saved_output = 16,
};
struct Word {
  std::string_view text;
  std::uint8_t roles;
  ArgumentName position = ArgumentName::rows;
  bool has_position = true;
};
inline constexpr Word words[] = {
    {"tensor", made, {}, false},
    {"input", made | activation, ArgumentName::input},
    {"grad", made | activation, ArgumentName::grad},
    {"saved", made | activation | saved_input, ArgumentName::input},
    {"saved_weight", made | parameter | saved_input, ArgumentName::weight},
    {"result", made | activation | saved_output, {}, false},
    {"weight", made | parameter, ArgumentName::weight},
    {"parameter", parameter, ArgumentName::weight},
    {"index", activation, ArgumentName::index},
    {"fixed", none, {}, false},
    {"output", activation, {}, false},
    {"left", made, ArgumentName::left},
    {"right", made, ArgumentName::right},
    {"right_weight", made | parameter, ArgumentName::right},
    {"query", made, ArgumentName::query},
    {"key", made, ArgumentName::key},
    {"value", made, {}, false},
    {"mask", made, ArgumentName::mask},
    {"saved_query", made | saved_input, ArgumentName::query},
    {"saved_key", made | saved_input, ArgumentName::key},
    {"saved_value", made | saved_input, {}, false},
    {"state", made, ArgumentName::state},
    {"-", none, {}, false},
    {"stride", none, ArgumentName::stride},
    {"padding", none, ArgumentName::padding},
    {"output_padding", none, ArgumentName::output_padding},
    {"dilation", none, ArgumentName::dilation},
    {"groups", none, ArgumentName::groups},
    {"transposed", none, ArgumentName::transposed},
    {"kernel", none, ArgumentName::kernel},
    {"dims", none, ArgumentName::dims},
    {"causal", none, ArgumentName::causal},
    {"scale", none, ArgumentName::scale},
    {"dropout", none, ArgumentName::dropout},
    {"asked", none, ArgumentName::asked},
    {"mode", none, ArgumentName::mode},
    {"type", none, ArgumentName::type},
    {"rows", none, ArgumentName::rows},
};

consteval void add(OpArguments& out, const Word& word, std::size_t position) {
  const auto bit = static_cast<ArgumentSet>(1U << position);
  if (word.roles & made) out.made |= bit;
  if (word.roles & activation) out.activations |= bit;
  if (word.roles & parameter) out.parameters |= bit;
  if (word.roles & saved_input) out.saved_inputs |= bit;
  if (word.roles & saved_output) out.saved_outputs |= bit;
  if (!word.has_position) return;
  std::uint8_t& known = out.positions[static_cast<std::size_t>(word.position)];
  if (known == no_argument) known = static_cast<std::uint8_t>(position);
}

}  // namespace signature

/// Reads a signature. A word that is not in the list does not compile.
consteval OpArguments arguments(std::string_view text) {
  OpArguments out;
  out.positions.fill(no_argument);
  std::size_t position = 0;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == text.npos ? std::string_view{} : text.substr(end + 1);
    if (position > 15) throw "a signature has at most 16 arguments";
    if (word == "...") {
      out.made |= static_cast<ArgumentSet>(0xffffU << position);
      break;
    }
    bool known = false;
    for (const signature::Word& w : signature::words) {
      if (w.text != word) continue;
      signature::add(out, w, position);
      known = true;
    }
    if (!known) throw "unknown word in a signature";
    ++position;
  }
  return out;
}

}  // namespace tandem
