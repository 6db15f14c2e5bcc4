#include "models/whatif/precision/types/parts.h"

#include <algorithm>

#include "models/step/op_rows.h"

namespace tandem {
namespace {

/// Dimensions agree but for one, which is shorter in the part or missing.
bool may_be_part(const TensorShape& part, const TensorShape& whole) {
  if (part.rank == whole.rank) {
    int shorter = 0;
    for (int d = 0; d < whole.rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      if (part.dims[i] > whole.dims[i]) return false;
      shorter += part.dims[i] < whole.dims[i];
    }
    return shorter == 1;
  }
  if (part.rank + 1 != whole.rank) return false;
  int missing = 0;
  for (int d = 0; d < whole.rank; ++d) {
    const int of_part = d - missing;
    const bool alike = of_part < part.rank && part.dims[static_cast<std::size_t>(of_part)] ==
                                                  whole.dims[static_cast<std::size_t>(d)];
    missing += !alike;
  }
  return missing == 1;
}

}  // namespace

CutViews::CutViews(const Trace& trace) {
  OpRows rows(trace);
  for (std::uint32_t r = 0; r < trace.ops.size(); ++r) {
    if (!rows.of(r).is(cuts)) continue;
    const TensorShape* whole = operands_of(trace, r).tensors.at(0);
    if (whole != nullptr && whole->rank > 0) cuts_.push_back({trace.ops.begin[r], *whole});
  }
  std::stable_sort(cuts_.begin(), cuts_.end(),
                   [](const Whole& a, const Whole& b) { return a.at < b.at; });
}

const CutViews::Whole* CutViews::whole_of(TimePoint at, const TensorShape& part) const {
  constexpr int look_back = 16;
  auto cut = std::lower_bound(cuts_.begin(), cuts_.end(), at,
                              [](const Whole& w, TimePoint t) { return w.at < t; });
  for (int i = 0; i < look_back && cut != cuts_.begin(); ++i) {
    --cut;
    if (may_be_part(part, cut->shape)) return &*cut;
  }
  return nullptr;
}

}  // namespace tandem
