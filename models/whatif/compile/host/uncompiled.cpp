#include "models/whatif/compile/host/uncompiled.h"

#include <algorithm>
#include <set>

#include "models/step/binding/made_tensors.h"
#include "models/step/op_nesting.h"
#include "models/whatif/compile/host/host_reads.h"

namespace tandem {
namespace {

/// What Python does from one cut to the next: the operation that cuts, and those behind it.
struct Segment {
  std::vector<StringId> names;
  std::size_t first = 0;  // of the operations behind the cut
  bool residual = false;  // added among them
};

class Finder {
 public:
  Finder(const Step& step, const Dataflow& flow, std::span<const std::uint32_t> forward)
      : step_(step), flow_(flow), forward_(forward) {
    out_.assign(forward.size(), false);
  }

  std::vector<bool> find(std::span<const std::uint32_t> cuts) {
    find_loops(segments(cuts));
    find_products();
    return std::move(out_);
  }

 private:
  const FlowOp& op(std::size_t at) const { return flow_.ops[forward_[at]]; }
  StringId name(std::uint32_t row) const { return step_.trace.ops.name[row]; }

  std::vector<Segment> segments(std::span<const std::uint32_t> cuts) const {
    const auto& begin = step_.trace.ops.begin;
    std::vector<Segment> out;
    std::size_t at = 0;
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      Segment s;
      s.names.push_back(name(cuts[c]));
      while (at < forward_.size() && begin[op(at).root] <= begin[cuts[c]]) ++at;
      s.first = at;
      for (; at < forward_.size(); ++at) {
        if (c + 1 < cuts.size() && begin[op(at).root] >= begin[cuts[c + 1]]) break;
        s.names.push_back(name(op(at).op));
        s.residual = s.residual || adds_residual(step_, op(at));
      }
      out.push_back(std::move(s));
    }
    return out;
  }

  /// Segments from `first` on that repeat the `size` ones before each.
  static std::size_t repeated(const std::vector<Segment>& all, std::size_t first,
                              std::size_t size) {
    std::size_t end = first + size;
    while (end < all.size() && all[end].names == all[end - size].names && !all[end].residual) ++end;
    return end - first - size;
  }

  void find_loops(const std::vector<Segment>& all) {
    constexpr std::size_t most_cuts = 6;  // of a turn
    for (std::size_t first = 0; first < all.size(); ++first) {
      for (std::size_t size = 1; size <= most_cuts && first + size < all.size(); ++size) {
        const std::size_t again = repeated(all, first, size);
        if (again + 1 < 2 * size) continue;  // the third turn's last cut is followed by the rest
        const std::size_t last = first + size + again;
        mark_loop(all, first, last, size);
        first = last;
        break;
      }
    }
  }

  /// From the operation of the first cut to the last turn's end: as far as it goes like another.
  void mark_loop(const std::vector<Segment>& all, std::size_t first, std::size_t last,
                 std::size_t size) {
    std::size_t end = last < all.size() ? all[last].first : forward_.size();
    if (last < all.size()) {
      const auto &behind = all[last].names, &turn = all[last - size].names;
      const auto to = std::mismatch(behind.begin(), behind.end(), turn.begin(), turn.end()).first;
      end += static_cast<std::size_t>(std::max<std::ptrdiff_t>(to - behind.begin() - 1, 0));
    }
    std::fill(out_.begin() + std::ptrdiff_t(all[first].first), out_.begin() + std::ptrdiff_t(end),
              true);
  }

  void find_products() {
    std::set<std::uint32_t> reading;  // outermost operations inside which the host reads a number
    for (std::uint32_t r = 0; r < step_.trace.ops.size(); ++r) {
      if (flow_.nesting.parent[r] == no_row || !reads_value(step_, r)) continue;
      reading.insert(outermost(flow_.nesting, r));
    }
    if (reading.empty()) return;
    bool around = false;
    for (std::size_t at = 0; at < forward_.size(); ++at) {
      if (!is_product(at) || reading.count(op(at).root) == 0) continue;
      mark_caller(at);
      around = true;
    }
    if (around) mark_functions_around();
  }

  void mark_functions_around() {
    for (std::size_t at = 0; at < forward_.size(); ++at) {
      const bool looks_up = op(at).row != nullptr && op(at).row->layer == Layer::embedding;
      if (looks_up || adds_residual(step_, op(at))) out_[at] = true;
    }
  }

  bool is_product(std::size_t at) const { return op(at).kind == OpKind::matmul; }

  /// The function that calls the product `at`: from the product before to the next residual.
  void mark_caller(std::size_t at) {
    if (out_[at]) return;
    for (std::size_t i = at; i > 0 && !out_[i - 1]; --i) {
      if (is_product(i - 1) || adds_residual(step_, op(i - 1))) break;
      out_[i - 1] = true;
    }
    for (; at < forward_.size() && !adds_residual(step_, op(at)); ++at) out_[at] = true;
  }

  const Step& step_;
  const Dataflow& flow_;
  std::span<const std::uint32_t> forward_;
  std::vector<bool> out_;
};

}  // namespace

bool adds_residual(const Step& step, const FlowOp& op) {
  if (op.row == nullptr || !op.row->is(adds_gradients)) return false;
  const OpTensors& in = operands_of(step.trace, op.op).tensors;
  const TensorShape *a = in.at(0), *b = in.at(1);
  if (a == nullptr || b == nullptr || dims_of(*a) != dims_of(*b)) return false;
  return !is_slice(*a) && !is_slice(*b);
}

std::vector<bool> uncompiled(const Step& step, const Dataflow& flow,
                             std::span<const std::uint32_t> forward,
                             std::span<const std::uint32_t> cuts) {
  return Finder(step, flow, forward).find(cuts);
}

}  // namespace tandem
