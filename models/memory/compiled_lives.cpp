#include "models/memory/compiled_lives.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/memory/buffer_reuse.h"
#include "models/memory/compiled_values.h"

namespace tandem {
namespace {

/// Whether the call that runs the operation allocates its results itself.
bool allocates_results(const GraphOp& op) {
  switch (op.row->kind) {
    case OpKind::convolution:
    case OpKind::convolution_backward:
    case OpKind::attention:
    case OpKind::attention_backward: return true;
    default: return false;
  }
}

class Lives {
 public:
  explicit Lives(GraphValues values) : graph_(std::move(values)) {}
  void find_late_gradients();
  /// `reuses`: some values take the memory that others leave.
  std::vector<Life> add_up(bool reuses) const;

 private:
  /// Values of one graph of a pass, forward or backward.
  struct Members {
    std::vector<std::uint32_t> given, made;
  };

  std::vector<std::uint32_t> makers_of(const GraphValue& v) const;
  std::uint32_t end_of_pass(std::uint32_t op) const;
  void make_late(GraphValue& gradient);
  std::int64_t last_of(const GraphValue& v) const;
  std::uint32_t take_place(const GraphValue& v, std::vector<std::int64_t>& last) const;
  std::vector<std::uint32_t> kernels_of(const std::vector<std::int64_t>& last) const;
  bool leaves_graph(const GraphValue& v) const;
  std::vector<Members> graphs(const std::vector<std::int64_t>& read) const;
  void wait_for_takers(const std::vector<std::int64_t>& read,
                       const std::vector<std::uint32_t>& over,
                       std::vector<std::int64_t>& last) const;

  GraphValues graph_;
};

/// The operation that makes a value, and those before it of which nothing else is read.
std::vector<std::uint32_t> Lives::makers_of(const GraphValue& v) const {
  std::vector<std::uint32_t> makers{v.producer};
  for (std::size_t k = 0; k < makers.size(); ++k) {
    for (const std::uint32_t n : graph_.inputs[makers[k]]) {
      const GraphValue& input = graph_.values[n];
      const bool alone = input.producer != no_value && input.readers.size() == 1 &&
                         graph_.ops[input.producer].phase == GraphPhase::backward &&
                         graph_.outputs[input.producer].size() == 1;
      if (alone) makers.push_back(input.producer);
    }
  }
  return makers;
}

/// The last operation of the backward pass that `op` is of.
std::uint32_t Lives::end_of_pass(std::uint32_t op) const {
  auto end = static_cast<std::uint32_t>(graph_.ops.size()) - 1;
  while (end > op && (graph_.ops[end].phase != GraphPhase::backward ||
                      graph_.ops[end].pass != graph_.ops[op].pass)) {
    --end;
  }
  return end;
}

/// Where the gradient is larger than what its operations are the last to read.
void Lives::make_late(GraphValue& gradient) {
  const std::vector<std::uint32_t> makers = makers_of(gradient);
  std::vector<std::uint32_t> kept;
  std::int64_t bytes = 0;
  for (const std::uint32_t op : makers) {
    for (const std::uint32_t n : graph_.inputs[op]) {
      const GraphValue& input = graph_.values[n];
      const bool between = std::find(makers.begin(), makers.end(), input.producer) != makers.end();
      if (between || input.last_backward != op) continue;
      kept.push_back(n);
      bytes += input.bytes;
    }
  }
  if (graph_.storages[gradient.storage].bytes.bytes() <= double(bytes)) return;
  gradient.first = end_of_pass(gradient.producer);
  for (const std::uint32_t n : kept) graph_.values[n].last_backward = gradient.first;
  // What lies between is there for a moment at the end, of one gradient at a time.
  for (const std::uint32_t op : makers) {
    for (const std::uint32_t n : graph_.outputs[op]) {
      if (&graph_.values[n] != &gradient) graph_.values[n].bytes = 0;
    }
  }
}

/// Gradients of parameters that nothing of their pass reads wait for its end where that takes less
/// memory than to make them at once (TorchInductor orders kernels for the least peak:
/// torch/_inductor/memory.py, reorder_for_peak_memory). Library kernels that make a gradient beside
/// another result do not wait.
void Lives::find_late_gradients() {
  for (std::size_t n = graph_.values.size(); n-- > 0;) {
    GraphValue& v = graph_.values[n];
    const bool made =
        v.producer != no_value && graph_.ops[v.producer].phase == GraphPhase::backward;
    if (!made || !graph_.storages[v.storage].gradient || graph_.outputs[v.producer].size() != 1)
      continue;
    const bool read = std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return graph_.ops[r].phase == GraphPhase::backward;
    });
    if (!read && v.overwritten < 0) make_late(v);
  }
}

/// The operation that needs it last in memory; -1: it is never there.
std::int64_t Lives::last_of(const GraphValue& v) const {
  if (v.bytes == 0) return -1;
  const std::int64_t first = v.first;
  std::int64_t last = v.inside ? -1 : std::max(first, v.last_backward);
  if (graph_.is_forward(v)) {
    last = v.inside ? (v.saved ? first : -1) : std::max(first, v.last_forward);
    last = std::max(last, v.saved ? v.last_backward : -1);
  }
  // What is written in place takes the place of what it was, if nobody needs that any longer.
  return last > first && last == v.overwritten ? last - 1 : last;
}

/// Generated code writes its result over an operand of the same size that nobody needs any longer,
/// also one that it reads through values inside of the kernel: that value, `no_value` without one.
std::uint32_t Lives::take_place(const GraphValue& v, std::vector<std::int64_t>& last) const {
  std::vector<std::uint32_t> kernel{v.producer};  // its operations
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    if (graph_.ops[kernel[k]].row->kind == OpKind::cast)
      continue;  // a copy of the same size reorders
    for (const std::uint32_t n : graph_.inputs[kernel[k]]) {
      const GraphValue& operand = graph_.values[n];
      if (operand.producer == no_value) continue;
      const bool fits =
          operand.bytes == v.bytes && operand.wide == v.wide && operand.padded == v.padded;
      if (last[n] == v.first && operand.first < v.first && fits) {
        last[n] = v.first - 1;
        return n;
      }
      const bool inside =
          last[n] < 0 && operand.inside && !operand.wide && operand.producer < kernel[k];
      if (inside && std::find(kernel.begin(), kernel.end(), operand.producer) == kernel.end()) {
        kernel.push_back(operand.producer);
      }
    }
  }
  return no_value;
}

/// The kernel that each operation runs in: one for each of the library, one for all operations of a
/// level that follow each other. Those that leave nothing in memory belong to the next one.
std::vector<std::uint32_t> Lives::kernels_of(const std::vector<std::int64_t>& last) const {
  std::vector<std::uint32_t> out(graph_.ops.size(), 0);
  std::uint32_t kernel = 0;
  bool opened = false;
  for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
    const bool joins = i > 0 && graph_.written(i) && graph_.written(i - 1) &&
                       graph_.level[i] == graph_.level[i - 1];
    if (opened && !joins) ++kernel, opened = false;
    out[i] = kernel;
    opened |= !graph_.written(i) || std::any_of(graph_.outputs[i].begin(), graph_.outputs[i].end(),
                                                [&](std::uint32_t n) { return last[n] >= 0; });
  }
  return out;
}

/// Whether others than the operations of its graph read it, or nobody does.
bool Lives::leaves_graph(const GraphValue& v) const {
  const GraphOp& made = graph_.ops[v.producer];
  return v.readers.empty() || graph_.storages[v.storage].gradient ||
         std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
           return graph_.ops[r].row == nullptr || graph_.ops[r].phase != made.phase ||
                  graph_.ops[r].pass != made.pass;
         });
}

/// Values of each graph in the order in which its kernels make them; what one saved for the other
/// is among those of both.
std::vector<Lives::Members> Lives::graphs(const std::vector<std::int64_t>& read) const {
  std::map<std::pair<std::uint32_t, GraphPhase>, Members> found;
  for (std::uint32_t n = 0; n < graph_.values.size(); ++n) {
    const GraphValue& v = graph_.values[n];
    if (v.producer == no_value) continue;
    const GraphOp& made = graph_.ops[v.producer];
    const bool in_memory = read[n] >= v.first || graph_.storages[v.storage].gradient;
    if (made.row == nullptr || made.phase == GraphPhase::optimizer || !in_memory) continue;
    found[{made.pass, made.phase}].made.push_back(n);
    const bool given = v.saved && v.last_backward >= 0;
    if (given) found[{made.pass, GraphPhase::backward}].given.push_back(n);
  }
  std::vector<Members> out;
  for (auto& [key, of] : found) {
    if (of.made.empty()) continue;
    std::stable_sort(of.made.begin(), of.made.end(), [&](std::uint32_t a, std::uint32_t b) {
      return graph_.values[a].first < graph_.values[b].first;
    });
    out.push_back(std::move(of));
  }
  return out;
}

/// Lives that go on because a later value takes their memory. `read`: the last operation that needs
/// each value; `over`: the value that each is written over.
void Lives::wait_for_takers(const std::vector<std::int64_t>& read,
                            const std::vector<std::uint32_t>& over,
                            std::vector<std::int64_t>& last) const {
  const std::vector<std::uint32_t> kernels = kernels_of(read);
  std::vector<std::uint32_t> place(graph_.values.size());
  for (const Members& graph : graphs(read)) {
    std::vector<std::uint32_t> members = graph.given;
    members.insert(members.end(), graph.made.begin(), graph.made.end());
    std::fill(place.begin(), place.end(), no_buffer);
    std::vector<GraphBuffer> buffers;
    for (const std::uint32_t n : members) {
      const GraphValue& v = graph_.values[n];
      const GraphStorage& storage = graph_.storages[v.storage];
      GraphBuffer b;
      b.given = buffers.size() < graph.given.size();
      b.made = kernels[graph_.values[b.given ? graph.made.front() : n].first];
      b.freed = kernels[static_cast<std::uint32_t>(std::max(read[n], std::int64_t{v.first}))];
      b.bytes = static_cast<std::int64_t>(graph_.buffer(v).bytes());
      b.type = v.wide ? DataType::fp32 : storage.type;
      b.padded = v.padded;
      b.stays = !b.given && leaves_graph(v);
      b.by_library = !graph_.written(v.producer) && allocates_results(graph_.ops[v.producer]);
      if (!b.given && over[n] != no_value) b.over = place[over[n]];
      place[n] = static_cast<std::uint32_t>(buffers.size());
      buffers.push_back(b);
    }
    const std::vector<std::uint32_t> takers = takers_over(buffers);
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (takers[k] == no_buffer) continue;
      std::int64_t& ends = last[members[k]];
      ends = std::max(ends, std::int64_t{graph_.values[members[takers[k]]].first} - 1);
    }
  }
}

std::vector<Life> Lives::add_up(bool reuses) const {
  std::vector<Life> lives;
  const auto add = [&](std::int64_t first, std::int64_t last, std::uint32_t storage) {
    lives.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last),
                     graph_.storages[storage].bytes});
  };
  std::vector<std::int64_t> last;
  for (const GraphValue& v : graph_.values) last.push_back(last_of(v));
  const std::vector<std::int64_t> read = last;
  std::vector<std::uint32_t> over(graph_.values.size(), no_value);
  std::vector<bool> gradient(graph_.storages.size(), false);
  for (std::size_t n = 0; n < graph_.values.size(); ++n) {
    const GraphValue& v = graph_.values[n];
    const bool made = v.producer != no_value;
    if (made && graph_.storages[v.storage].gradient && !gradient[v.storage]) {
      gradient[v.storage] = true;
      add(v.first, static_cast<std::int64_t>(graph_.ops.size()) - 1, v.storage);
    }
    if (made && graph_.is_forward(v) && !v.saved &&
        graph_.by_library_after(v)) {  // computed again for that kernel
      add(v.last_backward, v.last_backward, v.storage);
    }
    if (last[n] >= 0 && made && graph_.written(v.producer)) over[n] = take_place(v, last);
  }
  if (reuses) wait_for_takers(read, over, last);
  for (std::size_t n = 0; n < graph_.values.size(); ++n) {
    const GraphValue& v = graph_.values[n];
    if (last[n] >= v.first)
      lives.push_back({v.first, static_cast<std::uint32_t>(last[n]), graph_.buffer(v)});
  }
  return lives;
}

}  // namespace

std::vector<Life> compiled_lives(std::span<const GraphOp> ops,
                                 std::span<const GraphStorage> storages, Saving saving) {
  Lives lives(graph_values(ops, storages, saving));
  const bool cheapest = saving == Saving::cheapest;
  if (cheapest) lives.find_late_gradients();
  return lives.add_up(cheapest);
}

std::vector<bool> computed_again(std::span<const GraphOp> ops,
                                 std::span<const GraphStorage> storages) {
  const GraphValues graph = graph_values(ops, storages, Saving::cheapest);
  std::vector<bool> out(storages.size(), false);
  for (const GraphValue& v : graph.values) {
    if (v.producer == no_value || !graph.is_forward(v)) continue;
    out[v.storage] = !v.saved && !v.pinned && v.last_backward >= 0;
  }
  return out;
}

}  // namespace tandem
