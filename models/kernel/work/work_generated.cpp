// Work of generated (Triton) kernels: operands in the order of their arguments, the result last.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "models/kernel/classify/classify.h"
#include "models/kernel/work/operand_bytes.h"
#include "models/kernel/work/work.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

/// The dimension that lanes walk along, and its size.
std::size_t inner_dimension(const TensorShape& t) {
  for (std::size_t i = t.rank; i-- > 0;) {
    if (t.strides[i] == 1 && t.dims[i] > 1) return i;
  }
  return t.rank == 0 ? 0 : t.rank - 1U;
}
std::int64_t inner_size(const TensorShape& t) {
  return t.rank == 0 ? 1 : t.dims[inner_dimension(t)];
}

/// A sum over all but the inner dimension leaves a part for each of its places, in some pieces.
/// What has lost that dimension is a value for each row, also where there are as many rows as
/// places.
bool sums_down(std::span<const TensorShape> shapes, const TensorShape& main) {
  const std::size_t place = inner_dimension(main);
  const std::int64_t inner = inner_size(main);
  return std::any_of(shapes.begin(), shapes.end(), [&](const TensorShape& t) {
    const std::int64_t elements = t.elements();
    const bool last = place + 1 == main.rank && t.rank > 0;
    const bool of_rows =
        last ? t.dims[t.rank - 1U] == 1 : t.rank == main.rank && t.dims[place] == 1;
    return elements > inner && elements < main.elements() && elements % inner == 0 &&
           inner_size(t) == inner && !of_rows;
  });
}

/// What a kernel sums: each row along the inner dimension, or all rows down the columns.
enum class Sums : std::uint8_t { nothing, rows, columns };

/// How a kernel walks over its largest tensor.
struct Walk {
  const TensorShape& main;
  DataType data;  // of operands that state no type
  double warps = 0;
  double held = 1;  // neighbouring elements that a lane holds
  Sums sums = Sums::nothing;
};

/// As many of the narrowest operand as a lane can load at once, no more than the block has for it,
/// and where rows are walked along, no more than all rows begin at a multiple of; reductions that
/// loop over their rows hold four.
double elements_of_lane(const OpContext& context, const TensorShape& main, const KernelTraits& t,
                        Sums sums) {
  constexpr double of_loops = 4;
  double narrowest = widest_access;
  for (const TensorShape& shape : context.tensors.shapes) {
    if (same_dims(shape, main)) narrowest = std::min<double>(narrowest, width_of(shape, t.data));
  }
  const double share = static_cast<double>(main.elements()) / threads(context.geometry);
  double loaded = widest_access / narrowest;
  if (sums == Sums::rows) {
    const auto inner = static_cast<std::uint64_t>(inner_size(main));
    loaded = std::min(loaded, double(std::uint64_t{1} << std::countr_zero(inner)));
  }
  const bool loops = t.kind == Kind::triton_reduction;
  const double most = std::clamp(share, 1.0, loops ? std::min(loaded, of_loops) : loaded);
  return std::exp2(std::ceil(std::log2(most) - 1e-9));
}

Sums sums_of(const KernelTraits& traits, const OpContext& context, const TensorShape& main) {
  if (traits.kind == Kind::triton_pointwise) return Sums::nothing;
  return sums_down(context.tensors.shapes, main) ? Sums::columns : Sums::rows;
}

/// How an operand that is smaller than the tensor walked over lies in it.
enum class Lies : std::uint8_t {
  once,    // a part of it, or something else: each element is loaded once
  along,   // one value for each place of the inner dimension
  across,  // one value for a run of inner places
};

Lies lies(const TensorShape& t, const TensorShape& main) {
  const std::int64_t inner = inner_size(main);
  const std::int64_t elements = t.elements();
  if (elements <= 1 || elements >= main.elements()) return Lies::once;
  if (elements == inner) return Lies::along;
  if (elements == main.elements() / inner) return Lies::across;
  const auto dims = dims_of(main);
  const bool of_one = std::find(dims.begin(), dims.end(), elements) != dims.end();
  return of_one ? Lies::across : Lies::once;
}

/// Warp-wide requests for an operand, the bytes of the sectors that they touch and the elements
/// that they bring.
struct Access {
  double requests = 0, bytes = 0, elements = 0;
};

double sectors(double bytes) { return std::ceil(bytes / sector_bytes) * sector_bytes; }

/// What the lanes hold is asked for in as many requests as its width takes, each of which touches
/// all the sectors of its warp; a broadcast operand is loaded for every element, from as many
/// sectors as the warp meets of it. A reduction keeps what stays the same while it loops: down the
/// columns their values, along a row that of the row.
Access access(const TensorShape& t, const Walk& walk) {
  const double width = width_of(t, walk.data);
  const double requests = std::max(1.0, std::ceil(width * walk.held / widest_access));
  const double window = lanes_per_warp * walk.held;  // neighbouring elements of a warp
  const auto inner = static_cast<double>(inner_size(walk.main));
  const auto elements = static_cast<double>(walk.main.elements());
  const double windows = elements / window;
  const double met = sectors(std::min(inner, window) * width);
  switch (lies(t, walk.main)) {
    case Lies::once:
      return {unique_elements(t) / window * requests, bytes_of(t, walk.data) * requests,
              unique_elements(t)};
    case Lies::along:
      if (walk.sums == Sums::columns)
        return {walk.warps, walk.warps * met, walk.warps * lanes_per_warp};
      return {windows * requests, windows * requests * met, elements};
    case Lies::across: {
      if (walk.sums == Sums::rows)
        return {walk.warps, walk.warps * sector_bytes, walk.warps * lanes_per_warp};
      if (walk.sums == Sums::columns) {
        const double each = elements / lanes_per_warp;
        return {each, each * sector_bytes, elements};
      }
      return {windows, windows * sectors(std::ceil(window / inner) * width), elements};
    }
  }
  return {};
}

/// Triton lays a row over lanes first, then over warps, and what is left of both over the rows of a
/// block. A result of a row is passed on between its lanes and its warps in the logarithm of their
/// number of steps, for each row that a lane has a part of.
double passed(const Walk& walk, const LaunchGeometry& geometry) {
  const double blocks = static_cast<double>(blocks_of(geometry));
  const auto inner =
      static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(inner_size(walk.main))));
  if (walk.sums != Sums::rows || blocks <= 0) return 0;
  const double all_rows = static_cast<double>(walk.main.elements() / inner_size(walk.main));
  const auto rows =
      static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(std::ceil(all_rows / blocks))));
  const double warps = std::max(1.0, walk.warps / blocks);
  const double lanes = std::clamp(inner / walk.held, 1.0, double(lanes_per_warp));
  const double warps_of_row = std::clamp(inner / (walk.held * lanes), 1.0, warps);
  const double rows_beside = warps / warps_of_row * lanes_per_warp / lanes;
  return walk.warps * std::max(1.0, rows / rows_beside) * std::log2(lanes * warps_of_row);
}

/// Whether an operand as large as the tensor walked over has another inner dimension: its places
/// are computed for every element.
bool turned(std::span<const TensorShape> shapes, const TensorShape& main) {
  return std::any_of(shapes.begin(), shapes.end(), [&](const TensorShape& t) {
    return t.elements() == main.elements() && inner_size(t) != inner_size(main);
  });
}

/// Whether the result takes the place of the first operand: the last one, which a result of its own
/// would be, is a broadcast one, or there is no other. A kernel of one operand may also fill it.
bool in_place(const KernelTraits& traits, std::span<const TensorShape> shapes,
              const TensorShape& main) {
  const bool pointwise = traits.kind == Kind::triton_pointwise;
  if (shapes.size() == 1) return !pointwise || !fills(traits.fused);
  const TensorShape& last = shapes.back();
  return pointwise && shapes.front().elements() == main.elements() &&
         (last.elements() == 1 || lies(last, main) != Lies::once);
}

}  // namespace

KernelWork generated_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const std::span<const TensorShape> shapes = context.tensors.shapes;
  const DataType data = kernel.traits.data;
  const TensorShape* main = nullptr;
  for (const TensorShape& t : shapes) {
    work.read_bytes += bytes_of(t, data);
    if (main == nullptr || t.elements() > main->elements()) main = &t;
  }
  if (main == nullptr || main->elements() == 0) return work;
  work.elements = static_cast<double>(main->elements());
  if (turned(shapes, *main)) work.index_dims = 2;
  work.in_place = in_place(kernel.traits, shapes, *main);
  const std::size_t result = work.in_place ? 0 : shapes.size() - 1;
  work.write_bytes = bytes_of(shapes[result], data);
  if (!work.in_place) work.read_bytes -= work.write_bytes;
  work.exact = true;
  const Sums sums = sums_of(kernel.traits, context, *main);
  const Walk walk{*main, data, threads(context.geometry) / lanes_per_warp,
                  elements_of_lane(context, *main, kernel.traits, sums), sums};
  if (kernel.traits.kind == Kind::triton_persistent) {
    work.passed = row_results(kernel.traits.fused) * passed(walk, context.geometry);
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Access a = access(shapes[i], walk);
    const double times = work.in_place && i == result ? 2 : 1;  // loaded and stored
    work.accesses += times * a.requests;
    if (width_of(shapes[i], data) != element_bytes(DataType::fp32)) {
      work.converted += times * a.elements;
    }
    if (work.in_place || i != result) work.l1_read_bytes += a.bytes;
  }
  return work;
}

}  // namespace tandem
