#include "models/ops/op_outputs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/core/bounds/limits.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

using Arguments = std::span<const Argument>;
using Integers = std::vector<std::int64_t>;

struct Call {
  const OpRow& row;
  const OpTensors& operands;
  Arguments arguments;

  const TensorShape* at(std::size_t position) const { return operands.at(position); }
  const TensorShape* at(ArgumentName a) const {
    return row.arguments.has(a) ? operands.at(row.arguments.at(a)) : nullptr;
  }
  /// Integers of an argument; none if the operation has no such argument or it is not recorded.
  std::span<const std::int64_t> integers(std::size_t position) const {
    if (position >= arguments.size()) return {};
    return integers_of(arguments[position]);
  }
  std::span<const std::int64_t> integers(ArgumentName a) const {
    return integers(row.arguments.at(a));
  }
  bool recorded(std::size_t position) const {
    return position < arguments.size() &&
           !std::holds_alternative<std::monostate>(arguments[position]);
  }
  bool recorded(ArgumentName a) const { return recorded(row.arguments.at(a)); }
  bool is_true(std::size_t position) const {
    return position < arguments.size() && arguments[position] == Argument(true);
  }
};

OutputShape of_dims(std::span<const std::int64_t> dims, DataType type) {
  OutputShape out;
  if (dims.size() > out.shape.dims.size()) return {false, {.type = type}};
  out.known = true;
  out.shape.type = type;
  out.shape.rank = static_cast<std::uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out.shape.dims.begin());
  return out;
}

OutputShape like(const TensorShape* t) {
  return t == nullptr ? OutputShape{} : of_dims(dims_of(*t), t->type);
}
OutputShape unshaped(const TensorShape* t) {
  return {false, {.type = t == nullptr ? DataType::unknown : t->type}};
}
OutputShape with_type(OutputShape out, DataType type) {
  out.shape.type = type;
  return out;
}

/// The type that a call asks its result to have, by PyTorch's number of it (c10::ScalarType), or
/// true for FP32 (`half_to_float` of softmax): autocast asks so. Else `own`.
DataType asked_type(const Call& c, DataType own) {
  if (!c.row.arguments.has(ArgumentName::type)) return own;
  const std::size_t position = c.row.arguments.at(ArgumentName::type);
  if (c.is_true(position)) return DataType::fp32;
  if (position >= c.arguments.size()) return own;
  const auto* number = std::get_if<std::int64_t>(&c.arguments[position]);
  if (number == nullptr) return own;
  switch (*number) {
    case 5: return DataType::fp16;
    case 6: return DataType::fp32;
    case 7: return DataType::fp64;
    case 9: return DataType::complex64;
    case 15: return DataType::bf16;
    default: return own;
  }
}

std::int64_t entry(std::span<const std::int64_t> values, std::size_t i, std::int64_t fallback) {
  return values.empty() ? fallback : values[std::min(i, values.size() - 1)];
}

/// Twice a padding, or dilation times kernel, stays far from the largest number.
constexpr std::int64_t most_of_a_window = std::int64_t{1} << 30;

/// How often a window fits; 0 where it does not, or where its numbers are none of a window.
std::int64_t windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                     std::int64_t dilation) {
  if (kernel < 1 || pad < 0 || dilation < 1) return 0;
  if (std::max({kernel, pad, dilation}) > most_of_a_window) return 0;
  const std::int64_t span = dilation * (kernel - 1) + 1;
  return size + 2 * pad < span || stride < 1 ? 0 : (size + 2 * pad - span) / stride + 1;
}

/// Windows of size `kernel` over the spatial dimensions of `x`, with `channels` results each.
OutputShape window_output(const Call& c, const TensorShape& x, std::int64_t channels,
                          std::span<const std::int64_t> kernel) {
  const auto stride = c.integers(ArgumentName::stride), pad = c.integers(ArgumentName::padding),
             dilation = c.integers(ArgumentName::dilation);
  Integers dims = dims_of(x);
  dims[1] = channels;
  for (std::size_t i = 2; i < dims.size(); ++i) {
    const std::int64_t size = entry(kernel, i - 2, 1);
    dims[i] = windows(dims[i], size, entry(stride, i - 2, size), entry(pad, i - 2, 0),
                      entry(dilation, i - 2, 1));
  }
  return of_dims(dims, x.type);
}

/// Images grown by a transposed layer, whose weights are [inputs, outputs a group, window].
OutputShape grown_output(const Call& c, const TensorShape& x, const TensorShape& w) {
  const auto stride = c.integers(ArgumentName::stride), pad = c.integers(ArgumentName::padding),
             dilation = c.integers(ArgumentName::dilation),
             more = c.integers(ArgumentName::output_padding);
  const auto within = [](std::int64_t n) { return n >= 0 && n <= most_of_a_window; };
  Integers dims = dims_of(x);
  dims[1] = limits::product(w.dims[1], entry(c.integers(ArgumentName::groups), 0, 1));
  for (std::size_t i = 2; i < dims.size(); ++i) {
    const std::int64_t s = entry(stride, i - 2, 1), p = entry(pad, i - 2, 0),
                       d = entry(dilation, i - 2, 1), o = entry(more, i - 2, 0);
    if (!within(s) || !within(p) || !within(d) || !within(o)) return unshaped(&x);
    dims[i] = limits::product(dims[i] - 1, s) - 2 * p + d * (w.dims[i] - 1) + o + 1;
    if (dims[i] < 1) return unshaped(&x);
  }
  return of_dims(dims, x.type);
}

OutputShape convolution_output(const Call& c) {
  const TensorShape *x = c.at(ArgumentName::input), *w = c.at(ArgumentName::weight);
  if (x == nullptr || w == nullptr || x->rank < 3 || w->rank != x->rank) return {};
  const bool known = c.recorded(ArgumentName::stride) && c.recorded(ArgumentName::padding);
  if (!known) return unshaped(x);
  const bool grows =
      c.row.is(transposed_convolution) || c.is_true(c.row.arguments.at(ArgumentName::transposed));
  if (grows) return grown_output(c, *x, *w);
  return window_output(c, *x, w->dims[0], Integers(w->dims.begin() + 2, w->dims.begin() + w->rank));
}

OutputShape pooling_output(const Call& c) {
  const TensorShape* x = c.at(0);
  if (x == nullptr || x->rank < 3) return {};
  const auto kernel = c.integers(ArgumentName::kernel);
  return kernel.empty() ? unshaped(x) : window_output(c, *x, x->dims[1], kernel);
}

OutputShape adaptive_output(const Call& c) {
  const TensorShape* x = c.at(0);
  if (x == nullptr || x->rank < 3) return {};
  const auto size = c.integers(ArgumentName::kernel);
  if (size.empty()) return unshaped(x);
  Integers dims = dims_of(*x);
  for (std::size_t i = 2; i < dims.size(); ++i) dims[i] = entry(size, i - 2, 1);
  return of_dims(dims, x->type);
}

/// Sizes of `dims` and of `other`, aligned at the last dimension; a size of 1 gives way.
void broadcast(Integers& dims, const TensorShape& other) {
  if (dims.size() < other.rank) dims.insert(dims.begin(), other.rank - dims.size(), 1);
  const std::size_t first = dims.size() - other.rank;
  for (std::size_t i = 0; i < other.rank; ++i) {
    if (dims[first + i] == 1) dims[first + i] = other.dims[i];
  }
}

/// The wider of two types; floating ones are wider than integers, those than truth values. A tensor
/// without dimensions only counts if its kind of number is wider.
DataType promoted(std::span<const TensorShape> operands) {
  const auto kind = [](DataType t) {
    return t == DataType::unknown ? 0 : t == DataType::boolean ? 1 : is_floating(t) ? 3 : 2;
  };
  const TensorShape* best = nullptr;
  for (const TensorShape& t : operands) {
    if (best == nullptr || kind(t.type) > kind(best->type)) {
      best = &t;
    } else if (kind(t.type) == kind(best->type)) {
      const bool wider = element_bytes(t.type) > element_bytes(best->type);
      if ((t.rank > 0) == (best->rank > 0) ? wider : t.rank > 0) best = &t;
    }
  }
  return best == nullptr ? DataType::unknown : best->type;
}

OutputShape widest(const OpTensors& in) {
  if (in.shapes.empty()) return {};
  Integers dims;
  for (const TensorShape& t : in.shapes) broadcast(dims, t);
  return of_dims(dims, promoted(in.shapes));
}

/// Where _cudnn_rnn(input, weights, ..., bidirectional, ...) names what it computes.
namespace rnn {
constexpr std::size_t mode = 6, hidden = 7, projected = 8, layers = 9, dropout = 11, trains = 12,
                      bidirectional = 13;
constexpr std::int64_t lstm = 2, gru = 3;  // modes; others have no gates
}  // namespace rnn

/// What cuDNN keeps of the steps for their gradients, in bytes: of each layer its gates, what they
/// mix and the state (LSTM: 5 numbers an element, GRU: 6, others: 1), between layers the operand,
/// and a bit for each element that dropout may take. Measured exactly so on an H100 with cuDNN 9,
/// 75 layers of three modes, three types, one to three layers.
std::int64_t kept_of_steps(const Call& c, std::int64_t elements, DataType type) {
  constexpr std::int64_t header = 256, most_layers = 1 << 10;
  const std::int64_t layers =
      std::clamp<std::int64_t>(entry(c.integers(rnn::layers), 0, 1), 1, most_layers);
  const std::int64_t mode = entry(c.integers(rnn::mode), 0, 0);
  const std::int64_t kept = mode == rnn::lstm ? 5 : mode == rnn::gru ? 6 : 1;
  const auto bounded = [](std::int64_t a, std::int64_t b) {
    return std::min(limits::product(a, b), std::numeric_limits<std::int64_t>::max() / 4);
  };
  std::int64_t bytes = bounded(bounded(elements, element_bytes(type)), (kept + 1) * layers - 1);
  const auto* share =
      rnn::dropout < c.arguments.size() ? std::get_if<double>(&c.arguments[rnn::dropout]) : nullptr;
  if (share != nullptr && *share > 0) {
    const std::int64_t directions = c.is_true(rnn::bidirectional) ? 2 : 1;
    bytes += bounded(elements, (layers - 1) * directions) / 8;
  }
  return bytes + header;
}

/// The last dimension of the input, which is of steps and sequences, gives way to the state; in
/// training with what is kept for the gradients.
std::vector<OutputShape> steps_output(const Call& c) {
  const TensorShape* x = c.at(0);
  const std::int64_t size = entry(c.integers(rnn::hidden), 0, 0);
  if (x == nullptr || x->rank == 0 || size < 1 || size > most_of_a_window) return {unshaped(x)};
  const std::int64_t narrow = entry(c.integers(rnn::projected), 0, 0);
  Integers dims = dims_of(*x);
  const std::int64_t directions = c.is_true(rnn::bidirectional) ? 2 : 1;
  dims.back() = size * directions;
  const std::int64_t states = of_dims(dims, x->type).elements();
  if (narrow > 0 && narrow < size) dims.back() = narrow * directions;
  std::vector<OutputShape> out{of_dims(dims, x->type)};
  if (c.is_true(rnn::trains)) {
    out.push_back(of_dims(std::array{kept_of_steps(c, states, x->type)}, DataType::int8));
  }
  return out;
}

/// Elements left after a sum over the dimensions that the arguments list; all without a list. The
/// argument behind the list says whether the dimensions stay, of size 1. max and min of two tensors
/// compare them element by element.
OutputShape reduction_output(const Call& c) {
  const TensorShape* x = c.at(0);
  if (x == nullptr) return {};
  if (c.operands.shapes.size() > 1) return widest(c.operands);
  if (c.arguments.empty()) return unshaped(x);
  const std::size_t position = c.row.arguments.at(ArgumentName::dims);
  const auto list = c.integers(ArgumentName::dims);
  const bool keep = c.is_true(position + 1);
  Integers dims = dims_of(*x);
  std::vector<bool> reduced(dims.size(), list.empty());
  for (const std::int64_t d : list) {
    const std::int64_t at = from_front(d, x->rank);
    if (at >= 0 && at < x->rank) reduced[static_cast<std::size_t>(at)] = true;
  }
  Integers left;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i]) left.push_back(dims[i]);
    if (reduced[i] && keep) left.push_back(1);
  }
  return of_dims(left, asked_type(c, x->type));
}

/// [..., m, k] x [..., k, n]; a layer's weight is stored as [n, k].
OutputShape product_output(const Call& c) {
  const bool layer = is_layer_product(c.row);
  const TensorShape* a = c.at(layer ? ArgumentName::input : ArgumentName::left);
  const TensorShape* b = c.at(layer ? ArgumentName::weight : ArgumentName::right);
  if (a == nullptr || b == nullptr || a->rank == 0 || b->rank == 0) return {};
  const TensorShape& longer = b->rank > a->rank ? *b : *a;
  Integers dims(longer.dims.begin(), longer.dims.begin() + std::max(0, longer.rank - 2));
  if (a->rank > 1) dims.push_back(a->dims[a->rank - 2U]);
  if (b->rank > 1) dims.push_back(b->dims[b->rank - (layer ? 2U : 1U)]);
  return of_dims(dims, a->type);
}

/// Rows of a table that an index picks, along the dimension of argument 1 if the index is further
/// behind.
OutputShape rows_output(const Call& c) {
  const TensorShape *table = c.at(0), *index = c.at(ArgumentName::index);
  if (table == nullptr || index == nullptr) return unshaped(table);
  if (table->rank < 2) return of_dims(dims_of(*index), table->type);
  const bool has_dim = c.row.arguments.at(ArgumentName::index) == 2;
  const std::int64_t dim = from_front(has_dim ? entry(c.integers(1), 0, 0) : 0, table->rank);
  Integers dims = dims_of(*table);
  if (dim < 0 || dim >= table->rank) return unshaped(table);
  const auto at = dims.erase(dims.begin() + dim);
  dims.insert(at, index->dims.begin(), index->dims.begin() + index->rank);
  return of_dims(dims, table->type);
}

/// The table that gradients of rows are added to; how many rows it has stands among the arguments.
OutputShape table_output(const Call& c) {
  const TensorShape* grad = c.at(0);
  if (grad == nullptr || grad->rank == 0) return like(grad);
  const auto rows = c.integers(ArgumentName::rows);
  if (rows.empty()) return like(grad);
  return of_dims(std::array{rows[0], grad->dims[grad->rank - 1U]}, grad->type);
}

/// Among equals the widest floating type.
OutputShape largest(const OpTensors& in) {
  const TensorShape* best = nullptr;
  for (const TensorShape& t : in.shapes) {
    if (best == nullptr || t.elements() > best->elements()) {
      best = &t;
    } else if (t.elements() == best->elements() && is_floating(t.type)) {
      const bool wider = element_bytes(t.type) > element_bytes(best->type);
      if (!is_floating(best->type) || wider) best = &t;
    }
  }
  return like(best);
}

/// The operands of a list, one behind the other along the dimension of argument 1, in the widest of
/// their types.
OutputShape joined(const Call& c) {
  const TensorShape* first = c.at(0);
  if (first == nullptr) return {};
  const std::int64_t dim = from_front(entry(c.integers(1), 0, 0), first->rank);
  if (dim < 0 || dim >= first->rank) return unshaped(first);
  Integers dims = dims_of(*first);
  dims[static_cast<std::size_t>(dim)] = 0;
  DataType type = first->type;
  for (const TensorShape& t : c.operands.shapes) {
    dims[static_cast<std::size_t>(dim)] += t.dims[static_cast<std::size_t>(dim)];
    if (element_bytes(t.type) > element_bytes(type)) type = t.type;
  }
  return of_dims(dims, type);
}

/// Index tensors broadcast to each other. Where the trace does not tell their types, some may be
/// missing from the list; masks pick as many as are set.
OutputShape indexed(const Call& c) {
  const TensorShape* x = c.at(0);
  Integers dims;
  std::size_t indices = 0;
  for (std::size_t i = 0; i < c.operands.shapes.size(); ++i) {
    if (c.operands.arguments[i] != 1) continue;
    const TensorShape& t = c.operands.shapes[i];
    if (t.type != DataType::int64 && t.type != DataType::int32) return unshaped(x);
    broadcast(dims, t);
    ++indices;
  }
  if (x == nullptr || indices == 0 || indices > x->rank) return unshaped(x);
  dims.insert(dims.end(), x->dims.begin() + indices, x->dims.begin() + x->rank);
  return of_dims(dims, x->type);
}

OutputShape padded(const Call& c) {
  const TensorShape* x = c.at(0);
  const auto pairs = c.integers(1);
  if (x == nullptr || pairs.empty() || pairs.size() % 2 != 0) return unshaped(x);
  if (pairs.size() / 2 > x->rank) return unshaped(x);
  Integers dims = dims_of(*x);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::int64_t& size = dims[dims.size() - 1 - i / 2];
    if (pairs[i] < -most_of_a_window || pairs[i] > most_of_a_window) return unshaped(x);
    size += pairs[i];
    if (size < 0) return unshaped(x);
  }
  return of_dims(dims, x->type);
}

OutputShape sized(const Call& c, std::size_t argument) {
  const TensorShape* x = c.at(0);
  return x != nullptr && c.recorded(argument) ? of_dims(c.integers(argument), x->type)
                                              : unshaped(x);
}

/// Images and channels stay. A list of scales is shorter or no list of integers.
OutputShape resized(const Call& c) {
  constexpr int places = 2;  // images, channels
  const TensorShape* x = c.at(0);
  const auto size = c.integers(1);
  if (x == nullptr || x->rank <= places || size.size() != std::size_t(x->rank) - places) {
    return unshaped(x);
  }
  Integers dims(x->dims.begin(), x->dims.begin() + places);
  dims.insert(dims.end(), size.begin(), size.end());
  return of_dims(dims, x->type);
}

/// Places are listed as (images, rows, columns, coordinates): one pixel for each, of each channel.
OutputShape sampled(const Call& c) {
  const TensorShape *x = c.at(0), *places = c.at(1);
  if (x == nullptr || places == nullptr || x->rank < 3 || places->rank != x->rank) {
    return unshaped(x);
  }
  Integers dims{x->dims[0], x->dims[1]};
  dims.insert(dims.end(), places->dims.begin() + 1, places->dims.begin() + places->rank - 1);
  return of_dims(dims, x->type);
}

/// Of a window's two sides, at most; 0 where it is none of a window.
std::int64_t taps_of(std::span<const std::int64_t> window) {
  const std::int64_t high = entry(window, 0, 0), wide = entry(window, 1, 0);
  return std::min(high, wide) < 1 || std::max(high, wide) > most_of_a_window ? 0 : high * wide;
}

/// im2col(image, window, dilation, padding, stride)
OutputShape unfolded(const Call& c) {
  const TensorShape* x = c.at(0);
  const std::int64_t taps = taps_of(c.integers(1));
  if (x == nullptr || x->rank != image_rank || taps == 0 || !c.recorded(4)) return unshaped(x);
  std::int64_t places = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    places = limits::product(
        places, windows(x->dims[2 + i], entry(c.integers(1), i, 1), entry(c.integers(4), i, 1),
                        entry(c.integers(3), i, 0), entry(c.integers(2), i, 1)));
  }
  if (places == 0) return unshaped(x);
  return of_dims(std::array{x->dims[0], limits::product(x->dims[1], taps), places}, x->type);
}

/// col2im(columns, size of the image, window, dilation, padding, stride)
OutputShape folded(const Call& c) {
  const TensorShape* x = c.at(0);
  const auto size = c.integers(1);
  const std::int64_t taps = taps_of(c.integers(2));
  if (x == nullptr || x->rank != 3 || taps == 0 || taps_of(size) == 0 || size.size() != 2) {
    return unshaped(x);
  }
  return of_dims(std::array{x->dims[0], x->dims[1] / taps, size[0], size[1]}, x->type);
}

/// embedding_bag(table, indices, offsets, ...): indices of one dimension are cut at the offsets.
OutputShape bags(const Call& c) {
  const TensorShape *table = c.at(0), *indices = c.at(1), *offsets = c.at(2);
  const bool cut = indices != nullptr && indices->rank == 1;
  const TensorShape* bags = cut ? offsets : indices;
  if (table == nullptr || table->rank != 2 || bags == nullptr || bags->rank == 0) {
    return unshaped(table);
  }
  return of_dims(std::array{bags->dims[0], table->dims[1]}, table->type);
}

/// _fft_r2c(x, dimensions, norm, one-sided), _fft_c2r(x, dimensions, norm, last size), _fft_c2c. A
/// spectrum has complex numbers, two FP32 each; of real values half of it tells all.
OutputShape spectrum(const Call& c) {
  constexpr std::size_t dimensions = 1, sides = 3;
  const TensorShape* x = c.at(0);
  const auto along = c.integers(dimensions);
  if (x == nullptr || along.empty() || !c.recorded(sides)) return unshaped(x);
  const std::int64_t last = from_front(along.back(), x->rank);
  if (last < 0 || last >= x->rank) return unshaped(x);
  Integers dims = dims_of(*x);
  std::int64_t& size = dims[static_cast<std::size_t>(last)];
  if (const auto whole = c.integers(sides); !whole.empty()) {
    size = whole[0];
    return size < 1 ? unshaped(x) : of_dims(dims, DataType::fp32);
  }
  if (x->type != DataType::fp32) return like(x);
  if (c.is_true(sides)) size = size / 2 + 1;
  return of_dims(dims, DataType::complex64);
}

OutputShape running(const TensorShape* x) {
  const OutputShape out = like(x);
  return x == nullptr || is_floating(x->type) ? out : with_type(out, DataType::int64);
}

/// Operands that the forward operation read: a gradient for each.
std::vector<OutputShape> gradients(const Call& c) {
  std::vector<OutputShape> out;
  for (std::size_t i = 0; i < 16; ++i) {
    if (contains(c.row.arguments.saved_inputs, i)) out.push_back(like(c.at(i)));
  }
  return out;
}

}  // namespace

std::vector<OutputShape> output_shapes(const OpRow& row, std::string_view name, const OpTensors& in,
                                       Arguments arguments) {
  const Call c{row, in, arguments};
  switch (row.output) {
    case OutputRule::none: return {};
    case OutputRule::same: {
      const OutputShape out = like(c.at(0));
      return {with_type(out, asked_type(c, out.shape.type))};
    }
    case OutputRule::widest: return {is_in_place(name) ? like(c.at(0)) : widest(in)};
    case OutputRule::comparison:
      return {with_type(is_in_place(name) ? like(c.at(0)) : widest(in), DataType::boolean)};
    case OutputRule::largest: return {is_in_place(name) ? like(c.at(0)) : largest(in)};
    case OutputRule::joined: return {joined(c)};
    case OutputRule::bags: return {bags(c)};
    case OutputRule::spectrum: return {spectrum(c)};
    case OutputRule::running: return {running(c.at(0))};
    case OutputRule::sizes: return {sized(c, 1)};
    case OutputRule::resized: return {resized(c)};
    case OutputRule::resized_back: return {sized(c, 2)};
    case OutputRule::sampled: return {sampled(c)};
    case OutputRule::unfolded: return {unfolded(c)};
    case OutputRule::folded: return {folded(c)};
    case OutputRule::indexed: return {indexed(c)};
    case OutputRule::masked: return {like(c.at(0)), with_type(like(c.at(0)), DataType::boolean)};
    case OutputRule::channels: {
      const TensorShape* x = c.at(0);
      if (x == nullptr || x->rank < 2) return {unshaped(x)};
      return {of_dims(std::array{x->dims[1]}, x->type)};
    }
    case OutputRule::gradients: return gradients(c);
    case OutputRule::norm_gradients: {
      const OutputShape weight = like(c.at(ArgumentName::weight));
      return {like(c.at(ArgumentName::input)), weight, weight};
    }
    case OutputRule::product: return {product_output(c)};
    case OutputRule::convolution: return {convolution_output(c)};
    case OutputRule::pooling: return {pooling_output(c)};
    case OutputRule::adaptive_pooling: return {adaptive_output(c)};
    case OutputRule::twice: return {like(c.at(0)), like(c.at(0))};
    case OutputRule::padded: return {padded(c)};
    case OutputRule::steps: return steps_output(c);
    case OutputRule::reduction: return {reduction_output(c)};
    case OutputRule::truths: return {with_type(reduction_output(c), DataType::boolean)};
    case OutputRule::positions: return {with_type(reduction_output(c), DataType::int64)};
    case OutputRule::rows: return {rows_output(c)};
    case OutputRule::elements: {
      const TensorShape *table = c.at(0), *index = c.at(ArgumentName::index);
      if (table == nullptr || index == nullptr) return {unshaped(table)};
      return {with_type(like(index), table->type)};
    }
    case OutputRule::table: return {table_output(c)};
    case OutputRule::type_only: return {unshaped(c.at(0))};
  }
  return {};
}

}  // namespace tandem
