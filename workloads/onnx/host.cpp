// Numbers that the host knows before the step: shapes and what exporters compute of them. The
// framework computes them in Python or not at all, so they launch nothing.
#include <algorithm>
#include <cmath>

#include "sim/core/tensors/data_type.h"
#include "workloads/onnx/ops.h"
#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

constexpr std::size_t most_numbers = 64;

using Number = std::optional<Expression>;

Expression truth(bool value) { return value ? one : zero; }

/// Sizes are positive, so that a formula with symbols exceeds what is negative or 0. Nothing where
/// that does not decide.
std::optional<bool> is_less(const Expression& a, const Expression& b) {
  const auto x = a.number(), y = b.number();
  if (x && y) return *x < *y;
  if (a == b) return false;
  if (y && *y <= 0) return false;
  if (x && *x <= 0) return true;
  return {};
}

Number quotient(const Expression& a, const Expression& b) {
  const auto x = a.number(), y = b.number();
  if (y && *y == 0) return {};
  if (auto whole = a.divided_by(b)) return whole;
  if (x && y && *y != -1) return Expression(*x / *y);
  return {};
}

Number combine(std::string_view op, const Expression& a, const Expression& b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return quotient(a, b);
  if (op == "Equal") return truth(a == b);
  if (op == "And") return truth(a != zero && b != zero);
  if (op == "Or") return truth(a != zero || b != zero);
  if (op == "Mod") {
    const auto whole = quotient(a, b);
    return whole ? Number(a - *whole * b) : Number();
  }
  const auto less = is_less(a, b), more = is_less(b, a);
  if (!less || !more) return {};
  if (op == "Less") return truth(*less);
  if (op == "Greater") return truth(*more);
  if (op == "LessOrEqual") return truth(!*more);
  if (op == "GreaterOrEqual") return truth(!*less);
  if (op == "Min") return *less ? a : b;
  if (op == "Max") return *less ? b : a;
  return {};
}

/// The number for a result's element: the only one, or the one at its place.
const Expression& at(const Dims& numbers, std::size_t i) {
  return numbers.size() == 1 ? numbers[0] : numbers[i];
}

bool pairs(Call& call) {
  if (call.inputs.size() < 2 || !call.input(0).numbers || !call.input(1).numbers) return false;
  const Dims &a = *call.input(0).numbers, &b = *call.input(1).numbers;
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return false;
  Dims out;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const Number number = combine(call.node.type, at(a, i), at(b, i));
    if (!number) return false;
    out.push_back(*number);
  }
  call.on_host(call.input(0).type, broadcast(call, call.dims(0), call.dims(1)), std::move(out));
  return true;
}

/// A fraction of an operand that is one, or a whole number; not a number where symbols are in it.
double fraction_of(const Value& value) {
  if (value.fraction) return *value.fraction;
  if (!value.numbers || value.numbers->size() != 1) return std::nan("");
  const auto number = value.numbers->front().number();
  return number ? static_cast<double>(*number) : std::nan("");
}

bool is_single(const Value& value) {
  return value.fraction || (value.numbers && value.numbers->size() == 1);
}

bool fractions(Call& call) {
  const std::string_view op = call.node.type;
  for (const Value* v : call.inputs) {
    if (v == nullptr || !is_single(*v)) return false;
  }
  const double a = fraction_of(call.input(0));
  double out = 0;
  if (call.inputs.size() == 2) {
    const double b = fraction_of(call.input(1));
    if (op == "Add")
      out = a + b;
    else if (op == "Sub")
      out = a - b;
    else if (op == "Mul")
      out = a * b;
    else if (op == "Div")
      out = a / b;
    else if (op == "Pow")
      out = std::pow(a, b);
    else
      return false;
  } else {
    if (op == "Sqrt")
      out = std::sqrt(a);
    else if (op == "Neg")
      out = -a;
    else if (op == "Reciprocal")
      out = 1 / a;
    else if (op == "Floor")
      out = std::floor(a);
    else
      return false;
  }
  const Dims& dims = call.dims(0);
  call.on_host(DataType::fp32, dims, out);
  return true;
}

bool negated(Call& call) {
  Dims out;
  for (const Expression& e : call.numbers(0))
    out.push_back(call.node.type == "Not" ? truth(e == zero) : zero - e);
  call.on_host(call.input(0).type, call.dims(0), std::move(out));
  return true;
}

bool converted(Call& call) {
  const DataType type = element_type(call.number("to", 1));
  const Value& x = call.input(0);
  if (is_floating(type)) {
    if (!is_single(x)) return false;
    call.on_host(type, x.dims, fraction_of(x));
    return true;
  }
  if (x.fraction) {
    if (!std::isfinite(*x.fraction) || std::abs(*x.fraction) > 1e15) return false;
    call.on_host(type, x.dims, {Expression(static_cast<std::int64_t>(*x.fraction))});
    return true;
  }
  call.on_host(type, x.dims, *x.numbers);
  return true;
}

bool chosen(Call& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!call.input(i).numbers) return false;
  }
  const Dims &mask = call.numbers(0), &a = call.numbers(1), &b = call.numbers(2);
  const std::size_t count = std::max({mask.size(), a.size(), b.size()});
  Dims out;
  for (const Dims* list : {&mask, &a, &b}) {
    if (list->size() != count && list->size() != 1) return false;
  }
  for (std::size_t i = 0; i < count; ++i) out.push_back(at(mask, i) != zero ? at(a, i) : at(b, i));
  const Dims dims = broadcast(call, call.dims(0), broadcast(call, call.dims(1), call.dims(2)));
  call.on_host(call.input(1).type, dims, std::move(out));
  return true;
}

bool gathered(Call& call) {
  if (!call.input(0).numbers || !call.input(1).numbers || call.dims(0).size() != 1) return false;
  const Dims& from = call.numbers(0);
  Dims out;
  for (const std::int64_t position : call.integers(1))
    out.push_back(from[call.axis(position, from.size())]);
  call.on_host(call.input(0).type, call.dims(1), std::move(out));
  return true;
}

/// Where a slice of a list begins or ends, `size` long; -1 before the first, where it runs
/// backwards.
std::int64_t inside(std::int64_t at, std::int64_t size, bool backwards) {
  if (at < 0) at = at < -size ? -1 : at + size;
  return backwards ? std::clamp<std::int64_t>(at, -1, size - 1)
                   : std::clamp<std::int64_t>(at, 0, size);
}

/// Elements of a list, or rows of a table.
bool sliced(Call& call) {
  if (!call.input(0).numbers || call.dims(0).empty()) return false;
  const Dims& from = call.numbers(0);
  const auto size = call.dims(0)[0].number();
  const auto begins = call.integers(1), ends = call.integers(2);
  const auto axes = call.has(3) ? call.integers(3) : std::vector<std::int64_t>{0};
  const auto every = call.has(4) ? call.integers(4) : std::vector<std::int64_t>{1};
  const bool simple =
      begins.size() == 1 && ends.size() == 1 && every.size() == 1 && axes.size() == 1;
  if (!simple || !size || *size < 1 || call.axis(axes[0], call.dims(0).size()) != 0) return false;
  const std::int64_t step = std::clamp<std::int64_t>(every[0], -*size, *size);
  if (step == 0) return false;
  const std::int64_t end = inside(ends[0], *size, step < 0),
                     row = static_cast<std::int64_t>(from.size()) / *size;
  Dims out;
  std::int64_t count = 0;
  for (std::int64_t i = inside(begins[0], *size, step < 0); step > 0 ? i < end : i > end;
       i += step, ++count) {
    out.insert(out.end(), from.begin() + i * row, from.begin() + (i + 1) * row);
  }
  Dims dims = call.dims(0);
  dims[0] = Expression(count);
  call.on_host(call.input(0).type, std::move(dims), std::move(out));
  return true;
}

/// A table with rows and columns exchanged; lists stay.
bool transposed(Call& call) {
  if (call.dims(0).size() != 2) return false;
  const Dims& from = call.numbers(0);
  const auto rows = call.dims(0)[0].number(), columns = call.dims(0)[1].number();
  if (!rows || !columns || *rows * *columns != static_cast<std::int64_t>(from.size())) return false;
  const auto given = call.attribute_numbers("perm");
  if (!given.empty() && given != std::vector<std::int64_t>{1, 0}) return false;
  Dims out;
  for (std::int64_t c = 0; c < *columns; ++c) {
    for (std::int64_t r = 0; r < *rows; ++r)
      out.push_back(from[static_cast<std::size_t>(r * *columns + c)]);
  }
  call.on_host(call.input(0).type, {call.dims(0)[1], call.dims(0)[0]}, std::move(out));
  return true;
}

bool joined(Call& call) {
  Dims out;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i) || !call.input(i).numbers || call.dims(i).size() != 1) return false;
    const Dims& part = call.numbers(i);
    out.insert(out.end(), part.begin(), part.end());
  }
  if (out.size() > most_numbers) return false;
  const auto count = static_cast<std::int64_t>(out.size());
  call.on_host(call.input(0).type, {Expression(count)}, std::move(out));
  return true;
}

/// Reshape, Squeeze, Unsqueeze, Identity: the same numbers under other sizes.
bool relabelled(Call& call) {
  const Value x = call.input(0);
  if (call.node.type == "Identity") {
    call.outputs.push_back(x);
    return true;
  }
  if (call.inputs.size() > 1 && call.has(1) && !call.input(1).numbers) return false;
  const auto count = static_cast<std::int64_t>(x.numbers ? x.numbers->size() : 1);
  Dims dims;
  if (call.node.type == "Unsqueeze" && count == 1) {
    dims.assign(
        x.dims.size() + call.numbers_of(1, "axes").value_or(std::vector<std::int64_t>()).size(),
        one);
  } else if (call.node.type == "Reshape" && call.has(1) && call.numbers(1).size() == 2) {
    const auto columns = call.numbers(1)[1].number();
    if (!columns || *columns < 1 || count % *columns != 0) return false;
    dims = {Expression(count / *columns), Expression(*columns)};
  } else if (call.node.type == "Reshape" || x.dims.size() == 1) {
    const bool to_scalar =
        count == 1 && (call.node.type == "Squeeze" || (call.has(1) && call.numbers(1).empty()));
    if (!to_scalar) dims = {Expression(count)};
  } else if (count != 1) {
    return false;
  }
  Value out = x;
  out.dims = std::move(dims);
  call.outputs.push_back(std::move(out));
  return true;
}

/// ConstantOfShape and Expand, of short results.
bool repeated(Call& call) {
  const bool fills = call.node.type == "ConstantOfShape";
  const Value& x = call.input(0);
  if (!fills && (!x.numbers || x.numbers->size() != 1)) return false;
  const Dims dims = fills ? call.numbers(0) : broadcast(call, x.dims, call.numbers(1));
  const auto count = count_of(dims).number();
  if (!count || *count < 0 || *count > static_cast<std::int64_t>(most_numbers)) return false;
  Expression number = zero;
  DataType type = x.type;
  if (fills) {
    const auto value = call.node.attributes.find("value");
    if (value == call.node.attributes.end() || !value->second.tensor) return false;
    const StoredTensor& tensor = *value->second.tensor;
    if (!tensor.numbers || tensor.numbers->size() != 1) return false;
    number = Expression(tensor.numbers->front());
    type = tensor.type;
  } else {
    number = x.numbers->front();
  }
  call.on_host(type, dims, Dims(static_cast<std::size_t>(*count), number));
  return true;
}

bool product_of(Call& call) {
  call.on_host(call.input(0).type, call.number("keepdims", 1) != 0 ? Dims{one} : Dims{},
               Dims{count_of(call.numbers(0))});
  return true;
}

struct HostRow {
  std::string_view onnx;
  bool (*run)(Call&);
};

constexpr HostRow rows[] = {
    {"Add", pairs},
    {"Sub", pairs},
    {"Mul", pairs},
    {"Div", pairs},
    {"Mod", pairs},
    {"Min", pairs},
    {"Max", pairs},
    {"Equal", pairs},
    {"Less", pairs},
    {"Greater", pairs},
    {"LessOrEqual", pairs},
    {"GreaterOrEqual", pairs},
    {"And", pairs},
    {"Or", pairs},
    {"Neg", negated},
    {"Not", negated},
    {"Cast", converted},
    {"Where", chosen},
    {"Transpose", transposed},
    {"Gather", gathered},
    {"Slice", sliced},
    {"Concat", joined},
    {"Reshape", relabelled},
    {"Squeeze", relabelled},
    {"Unsqueeze", relabelled},
    {"Identity", relabelled},
    {"ConstantOfShape", repeated},
    {"Expand", repeated},
    {"ReduceProd", product_of},
};

/// A stored tensor as a value that the host knows.
bool as_value(Call& call, const StoredTensor& tensor) {
  Value value;
  value.type = tensor.type;
  for (const std::int64_t d : tensor.dims) value.dims.emplace_back(d);
  if (tensor.numbers) value.numbers = Dims(tensor.numbers->begin(), tensor.numbers->end());
  if (tensor.fractions && tensor.fractions->size() == 1) value.fraction = tensor.fractions->front();
  // What is too long for the host to look at is a tensor of the device that was there before.
  if (!value.on_host())
    value = call.step.value(call.step.make(value.type, value.dims, StorageKind::buffer));
  call.outputs.push_back(std::move(value));
  return true;
}

bool stored_constant(Call& call) {
  const auto& attributes = call.node.attributes;
  if (const auto tensor = attributes.find("value");
      tensor != attributes.end() && tensor->second.tensor) {
    return as_value(call, *tensor->second.tensor);
  }
  if (attributes.count("value_int") > 0) {
    call.on_host(DataType::int64, {}, {Expression(call.number("value_int", 0))});
  } else if (attributes.count("value_ints") > 0) {
    const auto numbers = call.attribute_numbers("value_ints");
    call.on_host(DataType::int64, {Expression(static_cast<std::int64_t>(numbers.size()))},
                 Dims(numbers.begin(), numbers.end()));
  } else if (attributes.count("value_float") > 0) {
    call.on_host(DataType::fp32, {}, call.fraction("value_float", 0));
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool run_on_host(Call& call) {
  if (call.node.type == "Constant") return stored_constant(call);
  bool whole = !call.inputs.empty();
  for (const Value* v : call.inputs) {
    if (v != nullptr && !v->on_host()) return false;
    whole = whole && (v == nullptr || v->numbers.has_value());
  }
  if (call.inputs.empty() || call.inputs[0] == nullptr) return false;
  for (const HostRow& row : rows) {
    if (row.onnx != call.node.type) continue;
    const bool any_type = row.run == converted || row.run == relabelled;
    if ((whole || any_type) && row.run(call)) return true;
  }
  return fractions(call);
}

}  // namespace tandem::onnx
