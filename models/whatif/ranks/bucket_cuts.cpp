#include "models/whatif/ranks/bucket_cuts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tandem {

namespace {

const std::vector<TensorShape>& operands(const Step& step, const GraphCall& call) {
  return operands_of(step.trace, call.op).tensors.shapes;
}

/// Of those that are not `taken` yet, the gradients of the parameters that `call` is given, the
/// last parameter first.
std::vector<std::size_t> gradients_of_call(const Step& step, const GraphCall& call,
                                           const std::vector<Gradient>& gradients,
                                           std::vector<bool>& taken) {
  std::vector<std::size_t> out;
  for (const TensorShape& shape : operands(step, call)) {
    for (std::size_t g = 0; g < gradients.size(); ++g) {
      if (taken[g] || gradients[g].dims != dims_of(shape)) continue;
      taken[g] = true;
      out.push_back(g);
      break;
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// The first item of piece `k` of `pieces`.
std::size_t first_of_piece(const GraphCall& call, std::size_t k, std::size_t pieces) {
  return k * call.items.size() / pieces;
}

/// The last work that the first `pieces_done` pieces launch, or none.
std::uint32_t last_work(const Step& step, const GraphCall& call, std::size_t pieces_done,
                        std::size_t pieces) {
  for (std::size_t i = first_of_piece(call, pieces_done, pieces); i-- > 0;) {
    const HostItem& item = step.plan.items[call.items[i]];
    if (item.work_count > 0) return item.first_work + item.work_count - 1;
  }
  return no_index;
}

const GraphCall* backward_of(const std::vector<GraphCall>& calls, const GraphCall& forward) {
  const auto found = std::find_if(calls.begin(), calls.end(), [&](const GraphCall& call) {
    return call.backward && call.node == forward.node;
  });
  return found == calls.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::uint32_t> cut_at_buckets(const Step& step, const std::vector<GraphCall>& calls,
                                          const GradientBuckets& buckets,
                                          std::vector<Gradient>& gradients) {
  std::vector<std::uint32_t> entries;
  std::vector<bool> taken(gradients.size(), false);
  for (const GraphCall& forward : calls) {
    if (forward.backward) continue;
    if (entries.empty()) entries.push_back(forward.items.front());
    const GraphCall* const backward = backward_of(calls, forward);
    const auto own = gradients_of_call(step, forward, gradients, taken);
    if (backward == nullptr || own.empty()) continue;
    std::vector<Gradient> of_graph;
    for (const std::size_t g : own) of_graph.push_back(gradients[g]);
    const std::vector<std::size_t> ends = bucket_ends(of_graph, buckets);
    for (std::size_t k = 1; k < ends.size(); ++k) {
      for (const GraphCall* const call : {&forward, backward}) {
        entries.push_back(call->items[first_of_piece(*call, k, ends.size())]);
      }
    }
    for (std::size_t i = 0, k = 0; i < own.size(); ++i) {
      while (i >= ends[k]) ++k;
      const std::uint32_t work = last_work(step, *backward, k + 1, ends.size());
      if (work != no_index) of_graph[i].work = work;
    }
    // In the places of the graph's gradients, in another order.
    std::vector<std::size_t> places = own;
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < own.size(); ++i) gradients[places[i]] = std::move(of_graph[i]);
  }
  std::stable_sort(gradients.begin(), gradients.end(),
                   [](const Gradient& a, const Gradient& b) { return a.work < b.work; });
  return entries;
}

std::vector<std::int64_t> tracked_by_graphs(const Step& step, const std::vector<GraphCall>& calls,
                                            const std::vector<Gradient>& gradients) {
  std::int64_t counters = 0;
  std::map<std::int64_t, std::int64_t> rows;  // by length
  for (const GraphCall& call : calls) {
    if (call.backward) continue;
    for (const TensorShape& shape : operands(step, call)) {
      counters += shape.rank == 0 && shape.type == DataType::int64;
      if (shape.rank == 1 && shape.type == DataType::fp32) ++rows[shape.dims[0]];
    }
  }
  if (counters == 0) return {};
  for (const Gradient& gradient : gradients) {
    if (gradient.dims.size() == 1) --rows[gradient.dims[0]];
  }
  std::vector<std::int64_t> channels;
  for (const auto& [length, count] : rows) {
    for (std::int64_t k = 0; k < count / 2; ++k) channels.push_back(length);
  }
  return channels;
}

}  // namespace tandem
