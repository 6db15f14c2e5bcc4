// Work of generated (Triton) kernels: operands in the order of their arguments, the result last.
#include <algorithm>
#include <cmath>

#include "models/kernel/work/operand_bytes.h"
#include "models/kernel/work/work.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

/// Size of the dimension that lanes walk along.
std::int64_t inner_size(const TensorShape& t) {
  for (std::size_t i = t.rank; i-- > 0;) {
    if (t.strides[i] == 1 && t.dims[i] > 1) return t.dims[i];
  }
  return t.rank == 0 ? 1 : t.dims[t.rank - 1U];
}

/// Neighbouring elements that a lane holds: as many of the narrowest operand as it can load at
/// once, and no more than the block has for it.
double elements_of_lane(const OpContext& context, const TensorShape& main, DataType data) {
  double narrowest = widest_access;
  for (const TensorShape& t : context.tensors.shapes) {
    if (same_dims(t, main)) narrowest = std::min<double>(narrowest, width_of(t, data));
  }
  const double share = static_cast<double>(main.elements()) / threads(context.geometry);
  const double most = std::clamp(share, 1.0, widest_access / narrowest);
  return std::exp2(std::ceil(std::log2(most) - 1e-9));
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

/// Warp-wide requests for an operand and the bytes of the sectors that they touch.
struct Access {
  double requests = 0, bytes = 0;
};

/// What the lanes hold is asked for in as many requests as its width takes, each of which touches
/// all the sectors of its warp; a broadcast operand is loaded for every element, from as many
/// sectors as the warp meets of it.
Access access(const TensorShape& t, const TensorShape& main, double held, DataType data) {
  const double width = width_of(t, data);
  const double requests = std::max(1.0, std::ceil(width * held / widest_access));
  const double window = lanes_per_warp * held;  // neighbouring elements of a warp
  const auto inner = static_cast<double>(inner_size(main));
  const double windows = static_cast<double>(main.elements()) / window;
  const auto sectors = [](double bytes) { return std::ceil(bytes / sector_bytes) * sector_bytes; };
  switch (lies(t, main)) {
    case Lies::once: return {unique_elements(t) / window * requests, bytes_of(t, data) * requests};
    case Lies::along: {
      const double met = sectors(std::min(inner, window) * width);
      return {windows * requests, windows * requests * met};
    }
    case Lies::across: return {windows, windows * sectors(std::ceil(window / inner) * width)};
  }
  return {};
}

}  // namespace

KernelWork generated_work(const KernelClass& kernel, const OpContext& context) {
  KernelWork work;
  const auto& shapes = context.tensors.shapes;
  const DataType data = kernel.traits.data;
  const TensorShape* main = nullptr;
  for (const TensorShape& t : shapes) {
    work.read_bytes += bytes_of(t, data);
    if (main == nullptr || t.elements() > main->elements()) main = &t;
  }
  if (main == nullptr || main->elements() == 0) return work;
  work.elements = static_cast<double>(main->elements());
  work.write_bytes = bytes_of(shapes.back(), data);
  work.read_bytes -= work.write_bytes;
  work.exact = true;
  const double held = elements_of_lane(context, *main, data);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Access a = access(shapes[i], *main, held, data);
    work.accesses += a.requests;
    if (i + 1 < shapes.size()) work.l1_read_bytes += a.bytes;
  }
  return work;
}

}  // namespace tandem
