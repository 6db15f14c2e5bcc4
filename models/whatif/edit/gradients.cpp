#include "models/whatif/edit/gradients.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/step/memory/trained_parameters.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/launch_order.h"

namespace tandem {

namespace {

/// Autograd numbers of the nodes that a thread runs, in the order of time.
class NodeNumbers {
 public:
  explicit NodeNumbers(const Trace& trace) : by_thread_(trace.threads.size()) {
    for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
      if (trace.ops.sequence[op] < 0 || !trace.ops.thread[op].valid()) continue;
      by_thread_[trace.ops.thread[op].index()].emplace_back(trace.ops.begin[op],
                                                            trace.ops.sequence[op]);
    }
    for (auto& list : by_thread_) std::sort(list.begin(), list.end());
  }
  /// Of the last one that began before `at`; -1: none did.
  std::int64_t before(ThreadId thread, TimePoint at) const {
    const auto& list = by_thread_[thread.index()];
    const auto it = std::partition_point(list.begin(), list.end(),
                                         [&](const auto& one) { return one.first < at; });
    return it == list.begin() ? -1 : std::prev(it)->second;
  }

 private:
  std::vector<std::vector<std::pair<TimePoint, std::int64_t>>> by_thread_;
};

}  // namespace

std::vector<Gradient> gradients_of(const Step& step, const OpNesting& nesting) {
  const Trace& trace = step.trace;
  OpRows rows(trace);
  const LaunchOrder launches(step);
  const NodeNumbers nodes(trace);
  std::vector<std::pair<TimePoint, Gradient>> found;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (!rows.of(op).is(stores_gradients) || !trace.ops.thread[op].valid()) continue;
    const OpTensors& tensors = operands_of(trace, op).tensors;
    const std::uint32_t parent = nesting.parent[op];
    // The engine's range around the node has no operands.
    if (tensors.shapes.empty() || (parent != no_row && rows.of(parent).kind == OpKind::collective))
      continue;
    const TimePoint end = trace.ops.begin[op] + trace.ops.duration[op];
    const std::uint32_t work = launches.before(trace.ops.thread[op], end);
    if (work == no_index) continue;
    const TensorShape& shape = tensors.shapes.front();
    const int recorded = element_bytes(shape.type);
    const int width = recorded > 0 ? recorded : element_bytes(DataType::fp32);
    const std::int64_t node = nodes.before(trace.ops.thread[op], trace.ops.begin[op]);
    found.push_back(
        {end, {work, static_cast<double>(shape.elements()) * width, dims_of(shape), node}});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Gradient> out;
  for (const auto& [end, gradient] : found) out.push_back(gradient);
  return out;
}

std::vector<Gradient> last_gradients_of(const Step& step, const OpNesting& nesting) {
  std::vector<Gradient> all = gradients_of(step, nesting);
  const std::int64_t passes = TrainedParameters(step.trace, step.links.steps.back()).passes();
  const std::size_t one = all.size() / static_cast<std::size_t>(std::max<std::int64_t>(passes, 1));
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(one));
  return all;
}

bool updates_rows(const Trace& trace) {
  const std::vector<bool> in_optimizer = ops_of_optimizer(trace);
  OpRows rows(trace);
  for (std::uint32_t op = 0; op < in_optimizer.size(); ++op) {
    if (in_optimizer[op] && rows.of(op).is(adds_rows)) return true;
  }
  return false;
}

std::vector<std::size_t> bucket_ends(const std::vector<Gradient>& gradients,
                                     const GradientBuckets& buckets) {
  std::vector<std::size_t> ends;
  double bytes = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    bytes += gradients[i].bytes;
    const double limit = ends.empty() ? buckets.first_bytes : buckets.further_bytes;
    if (bytes < limit && i + 1 < gradients.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  return ends;
}

}  // namespace tandem
