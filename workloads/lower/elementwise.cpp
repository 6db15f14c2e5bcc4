// Kernels whose threads take an element each: arithmetic, copies, fills, concatenation.
#include <algorithm>
#include <cmath>
#include <variant>

#include "models/kernel/time/l2_kept.h"
#include "models/kernel/time/rates.h"
#include "sim/core/tensors/data_type.h"
#include "sim/core/units.h"
#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

/// Of the tensors that an elementwise kernel walks over, the widest element decides how many a
/// thread takes (memory access of the framework: 16 bytes at once).
int widest_bytes(const Context& c) {
  int bytes = 1;
  for (const TensorShape& t : c.operands.tensors.shapes) {
    if (t.rank > 0) bytes = std::max(bytes, element_bytes(t.type));
  }
  for (const TensorShape& t : c.outputs) bytes = std::max(bytes, element_bytes(t.type));
  return bytes;
}

/// Places are the same in memory: equal sizes and strides, or a single element.
bool same_places(const TensorShape& a, const TensorShape& b) {
  return same_dims(a, b) && a.strides == b.strides;
}

bool is_dense(const TensorShape& shape) {
  return unique_elements(shape) == static_cast<double>(shape.elements()) &&
         (is_contiguous(shape) || shape.channels_last);
}

/// The dimension that a kernel walks along first: the framework sorts them by the result's strides.
std::size_t walked_first(const TensorShape& result) {
  std::size_t first = 0;
  for (std::size_t d = 1; d < result.rank; ++d) {
    const bool wide = result.dims[d] > 1;
    if (wide && (result.dims[first] == 1 || result.strides[d] <= result.strides[first])) first = d;
  }
  return first;
}

/// Bytes of the sectors that a warp reads of an operand whose neighbours along `dim` lie apart: one
/// for each element, of which others of it are read much later.
double scattered_bytes(const TensorShape& operand, const TensorShape& result, std::size_t dim) {
  if (!same_dims(operand, result) || operand.rank == 0) return 0;
  const std::int64_t apart = operand.strides[dim] * element_bytes(operand.type);
  if (apart <= element_bytes(operand.type)) return 0;
  return unique_elements(operand) * std::min(static_cast<double>(apart), sector_bytes);
}

struct Walk {
  bool contiguous = true;
  bool one_type = true;
  double elements = 0;
  double bytes = 0;
  double scattered = 0;  // bytes
  int tensors = 0;       // results first
  DataType type = DataType::unknown;
};

Walk walk_of(const Context& c) {
  Walk w;
  const TensorShape* result = c.outputs.empty() ? nullptr : &c.outputs[0];
  if (result == nullptr && !c.operands.tensors.shapes.empty()) {
    result = &c.operands.tensors.shapes[0];
  }
  if (result == nullptr) return w;
  w.type = result->type;
  w.elements = static_cast<double>(result->elements());
  w.contiguous = is_dense(*result);
  const std::size_t first = walked_first(*result);
  const auto visit = [&](const TensorShape& t) {
    w.bytes += bytes_of(t);
    w.scattered += scattered_bytes(t, *result, first);
    ++w.tensors;
    if (!same_places(t, *result)) w.contiguous = false;
    if (element_bytes(t.type) != element_bytes(result->type)) w.one_type = false;
  };
  for (const TensorShape& t : c.outputs) visit(t);
  for (const TensorShape& t : c.operands.tensors.shapes) visit(t);
  return w;
}

LoweredKernel walk_kernel(const Context& c, const Walk& w, std::size_t form) {
  const KernelTemplate& row = c.kernel(form);
  const double bytes = widest_bytes(c);
  // Rows state the elements of a block for elements of four bytes; wider ones are fewer, narrower
  // ones more where a thread loads 16 bytes.
  double per_block = row.per_block;
  if (bytes > 4) per_block /= 2;
  if (bytes < 4 && form != 1) per_block *= 2;
  if (bytes == 2 && form == 1) per_block *= 2;
  LoweredKernel out;
  const int width = bytes > 4 ? 2 : bytes < 4 ? 8 : 4;
  out.name = name_of(c, row, w.type, w.tensors, width);
  out.geometry = geometry_of(row, {static_cast<std::int64_t>(std::ceil(w.elements / per_block))});
  const double moved_us = reached_us(c, row, law_us(c, out.name, out.geometry, w.bytes));
  // Computing the place of an element takes lanes, whatever its operands move.
  const double cycles = w.elements * row.block_cycles / row.per_block;
  const double lanes_us = all_sms_us(c.gpu(), cycles);
  const double sectors_us =
      row.sector_share > 0 ? w.scattered / (row.sector_share * c.gpu().l2_read_gbps * 1e3) : 0;
  out.duration_us = c.gpu().graph_kernel_period_us + std::max({moved_us, lanes_us, sectors_us});
  return out;
}

/// A copy of plain memory that reads and writes so many bytes.
LoweredKernel memory_copy(const Context& c, const KernelTemplate& row, double bytes) {
  LoweredKernel copy;
  copy.kind = ActivityKind::memcpy;
  copy.name = row.name;
  copy.bytes = static_cast<std::int64_t>(bytes / 2);
  copy.duration_us = stream_time_us(c, bytes);
  return copy;
}

}  // namespace

void lower_elementwise(const Context& c, Kernels& out) {
  const Walk w = walk_of(c);
  if (w.elements <= 0) return;
  const std::size_t form = !w.contiguous ? 1 : !w.one_type && c.has_kernel(2) ? 2 : 0;
  const bool copies = c.has_kernel(3) && !c.outputs.empty();
  if (copies) out.push_back(memory_copy(c, c.kernel(3), 2 * bytes_of(c.outputs[0])));
  out.push_back(walk_kernel(c, w, form));
}

void lower_copy(const Context& c, Kernels& out) {
  const Walk w = walk_of(c);
  if (w.elements <= 0) return;
  if (w.contiguous && w.one_type && c.has_kernel(3)) {
    out.push_back(memory_copy(c, c.kernel(3), w.bytes));
    return;
  }
  // Forms 0 and 2: a cast of contiguous data down to half types, and any other.
  const bool down = !w.one_type && w.contiguous && is_half(w.type);
  out.push_back(walk_kernel(c, w, down ? 0 : !w.one_type ? 2 : 1));
}

void lower_fill(const Context& c, Kernels& out) {
  const TensorShape* result = !c.outputs.empty() ? &c.outputs[0] : c.tensor(0);
  if (result == nullptr || result->elements() == 0) return;
  Walk w;
  w.type = result->type;
  w.elements = static_cast<double>(result->elements());
  w.bytes = bytes_of(*result);
  w.tensors = 1;
  out.push_back(walk_kernel(c, w, 0));
}

namespace {

double size_over(const Context& c, Over over) {
  const auto elements = [](const TensorShape* t) {
    return t == nullptr ? 1.0 : static_cast<double>(t->elements());
  };
  switch (over) {
    case Over::rows: {
      const TensorShape* t = c.tensor(0);
      if (t == nullptr || t->rank == 0) return 1;
      return elements(t) / static_cast<double>(std::max<std::int64_t>(t->dims[t->rank - 1U], 1));
    }
    case Over::largest: {
      double most = 1;
      for (const TensorShape& t : c.operands.tensors.shapes) most = std::max(most, elements(&t));
      for (const TensorShape& t : c.outputs) most = std::max(most, elements(&t));
      return most;
    }
    case Over::one: return 1;
    default: return elements(c.shared_out(over));
  }
}

}  // namespace

void add_sized(const Context& c, const KernelTemplate& row, Kernels& out) {
  if (row.through != Through::nothing) return add_walk(c, row, out);
  const double size = size_over(c, row.over);
  if (size <= 0) return;
  double blocks = std::ceil(size / row.per_block);
  if (row.blocks_per_sm > 0) blocks = std::min(blocks, row.blocks_per_sm * c.gpu().sm_count);
  // A row is read whole.
  double bytes = row.over == Over::rows && c.tensor(0) != nullptr
                     ? bytes_of(*c.tensor(0))
                     : size / size_over(c, Over::largest) * all_bytes(c);
  if (row.fills > 0 && !c.outputs.empty()) bytes = bytes_of(c.outputs[0]);
  if (c.rule.accesses > 0) bytes = c.rule.accesses * size * element_bytes(float_type(c));
  LoweredKernel kernel = make(c, row, float_type(c), {static_cast<std::int64_t>(blocks)}, bytes);
  kernel.duration_us += row.step_us * size;
  out.push_back(std::move(kernel));
}

void lower_sequence(const Context& c, Kernels& out) {
  for (std::size_t k = 0; k < c.rule.kernels.size(); ++k) add_sized(c, c.kernel_in_order(k), out);
}

// Loss.cu: one block reduces the losses of all rows, or each has a thread of its own.
void lower_picked_loss(const Context& c, Kernels& out) {
  const bool backward = c.op.phase == Phase::backward;
  const auto reduction = integers_of(c.operands.argument(backward ? 4 : 3));
  const bool kept = !reduction.empty() && reduction[0] == 0;
  if (backward) add_sized(c, c.kernel(2), out);
  add_sized(c, c.kernel(kept ? 1 : 0), out);
}

// Along another dimension than the last a thread walks over each line of elements, one after the
// other (aten/src/ATen/native/cuda/ScanUtils.cuh).
void lower_running(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  const auto stated = integers_of(c.operands.argument(1));
  if (in == nullptr || in->elements() == 0) return;
  const std::int64_t dim = from_front(stated.empty() ? -1 : stated[0], in->rank);
  const bool last = dim < 0 || dim + 1 >= in->rank || in->dims[in->rank - 1U] == 1;
  if (last) return add_sized(c, c.kernel(0), out);
  const KernelTemplate& row = c.kernel(1);
  const double length = static_cast<double>(in->dims[static_cast<std::size_t>(dim)]);
  const double lines = static_cast<double>(in->elements()) / length;
  const auto blocks = static_cast<std::int64_t>(std::ceil(lines / row.threads));
  LoweredKernel kernel = make(c, row, in->type, {blocks}, all_bytes(c));
  const double at_once = static_cast<double>(c.gpu().sm_count) * c.gpu().max_threads_per_sm;
  lasts_at_least(c, row.step_us * length * std::ceil(lines / at_once), kernel);
  out.push_back(std::move(kernel));
}

// The library passes over the tensor once for each dimension; PyTorch scales the result behind it.
void lower_fourier(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || c.outputs.empty() || in->elements() == 0) return;
  const TensorShape& result = c.outputs[0];
  if (c.has_kernel(2)) out.push_back(memory_copy(c, c.kernel(2), 2 * bytes_of(*in)));
  const auto dims = integers_of(c.operands.argument(1));
  const KernelTemplate& pass = c.kernel(0);
  const auto blocks =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(in->elements()) / pass.per_block));
  for (std::size_t d = 0; d < std::max<std::size_t>(dims.size(), 1); ++d) {
    out.push_back(make(c, pass, float_type(c), {blocks}, bytes_of(*in) + bytes_of(result)));
  }
  const auto normal = integers_of(c.operands.argument(2));
  if (normal.empty() || normal[0] == 0) return;
  out.push_back(
      make(c, c.kernel(1), result.type, {ceil_div(result.elements(), 1024)}, 2 * bytes_of(result)));
}

namespace {

/// Whether the index names rows: the values have its dimensions first and those of a row behind.
bool names_rows(const TensorShape* index, const TensorShape* values) {
  if (index == nullptr || values == nullptr || values->rank <= index->rank) return false;
  const auto first = values->dims.begin();
  return std::equal(first, first + index->rank, index->dims.begin());
}

}  // namespace

// Indexing.cu: a kernel for places of single elements, another for those of whole rows.
void lower_put(const Context& c, Kernels& out) {
  const bool rows = names_rows(c.tensor(1), c.tensor(2));
  add_sized(c, c.kernel_in_order(0), out);
  add_sized(c, c.kernel_in_order(rows ? 2 : 1), out);
}

namespace {

/// Extra time where tensors lie side by side a few elements at a time: each writes its own part of
/// sectors that others share, and a sector written in part is read and written whole, in L2 and,
/// where the result does not stay there, in DRAM, by accesses of 64 bytes. Pieces of 16 bytes are
/// copied in step, so that halves of a sector meet. Measured: bench/capture/narrow_cats.py.
double partial_sectors_us(const Context& c, std::int64_t tensors) {
  constexpr std::size_t dim_argument = 1;
  constexpr double access = 64, vector_piece = 16;
  const TensorShape& out = c.outputs[0];
  const auto* stated = std::get_if<std::int64_t>(&c.operands.argument(dim_argument));
  const std::int64_t dim = from_front(stated == nullptr ? 0 : *stated, out.rank);
  if (dim < 0 || dim >= out.rank || tensors < 2) return 0;
  double row = element_bytes(out.type);
  for (std::int64_t d = dim; d < out.rank; ++d) row *= double(out.dims[d]);
  const double piece = row / double(tensors);
  if (piece >= sector_bytes) return 0;
  const double rows = bytes_of(out) / row;
  const bool in_step = std::fmod(piece, vector_piece) == 0;
  const double touched =
      double(tensors) * rows * std::min(1.0, row / sector_bytes) / (in_step ? 2 : 1);
  const double moved = 2 * access * touched;
  return moved / (c.gpu().l2_read_gbps * 1e3) +
         copied_us(c.gpu(), l2_missed(c.gpu(), bytes_of(out)) * moved);
}

}  // namespace

// Shape.cu: tensors in order are copied in vectors, of others each element's place is computed.
void lower_concatenation(const Context& c, Kernels& out) {
  if (c.outputs.empty() || c.outputs[0].elements() == 0) return;
  // Metadata of so many tensors fits the arguments of a launch.
  constexpr std::int64_t tensors_a_launch = 128;
  std::int64_t left = 0;
  double largest = 0;
  bool in_order = true;
  for (const TensorShape& t : c.operands.tensors.shapes) {
    left += t.elements() > 0;
    largest = std::max(largest, static_cast<double>(t.elements()));
    in_order &= t.channels_last || is_contiguous(t);
  }
  KernelTemplate row = c.kernel(in_order ? 0 : 1);
  const double element_cycles = row.block_cycles / row.per_block;
  const auto all = static_cast<double>(left);
  const double partial_us = partial_sectors_us(c, left);
  for (; left > 0; left -= tensors_a_launch) {
    const std::int64_t tensors = std::min(left, tensors_a_launch);
    double blocks = std::ceil(largest / row.per_block);
    if (row.blocks_per_sm > 0) blocks = std::min(blocks, row.blocks_per_sm * c.gpu().sm_count);
    const double part = static_cast<double>(tensors) / all;
    const double bytes = 2 * bytes_of(c.outputs[0]) * part;
    const double elements = static_cast<double>(c.outputs[0].elements()) * part;
    row.block_cycles = element_cycles * elements / (blocks * static_cast<double>(tensors));
    out.push_back(
        make(c, row, c.outputs[0].type, {static_cast<std::int64_t>(blocks), tensors}, bytes));
    out.back().duration_us += partial_us * part;
  }
}

}  // namespace tandem::lowering
