#include "models/memory/compiled_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "models/memory/inlined.h"
#include "models/memory/min_cut.h"

namespace tandem {
namespace {

/// Sums and random numbers are not computed twice.
bool is_repeated(const GraphOp& op) {
  return is_written(op) && op.row->kind != OpKind::reduction && op.row->kind != OpKind::loss;
}

class Finder {
 public:
  Finder(std::span<const GraphOp> ops, std::span<const GraphStorage> storages, Saving saving)
      : saving_(saving) {
    graph_.ops = ops, graph_.storages = storages;
  }
  GraphValues values();

 private:
  std::uint32_t value_of(std::uint32_t storage, std::uint32_t reader);
  void find_values();
  void add_value(std::uint32_t op, const GraphWrite& write);
  void find_levels();
  std::optional<std::vector<std::uint32_t>> levels_read(
      const GraphValue& v, const std::vector<std::vector<std::uint32_t>>& through) const;
  void find_inside();
  std::uint32_t first_library_reader(const GraphValue& v, std::uint32_t end) const;
  void keep_far_readers();
  void find_distances();
  std::int64_t cost_of(std::uint32_t n) const;
  void find_saved();
  void find_last_readers();

  /// What a life of the storage adds; gradients of parameters live to the end anyway.
  std::int64_t bytes_of(std::uint32_t storage) const {
    const GraphStorage& s = graph_.storages[storage];
    return s.gradient ? 0 : static_cast<std::int64_t>(s.bytes.bytes());
  }
  bool reads_after(const GraphValue& v) const {
    return std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return graph_.ops[r].phase == GraphPhase::backward;
    });
  }

  GraphValues graph_;
  const Saving saving_;
  std::vector<std::uint32_t> current_;  // by storage
  static constexpr int far = 100;
  std::vector<int> distance_;  // by value: operations to the backward pass
};

std::uint32_t Finder::value_of(std::uint32_t storage, std::uint32_t reader) {
  if (current_[storage] == no_value) {
    current_[storage] = static_cast<std::uint32_t>(graph_.values.size());
    GraphValue v{storage, no_value, reader,
                 graph_.storages[storage].unmade ? bytes_of(storage) : 0};
    v.pinned = true;
    graph_.values.push_back(std::move(v));
  }
  return current_[storage];
}

void Finder::find_values() {
  current_.assign(graph_.storages.size(), no_value);
  graph_.inputs.resize(graph_.ops.size());
  graph_.outputs.resize(graph_.ops.size());
  for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
    for (const std::uint32_t s : graph_.ops[i].reads) {
      const std::uint32_t v = value_of(s, i);
      std::vector<std::uint32_t>& readers = graph_.values[v].readers;
      if (readers.empty() || readers.back() != i) readers.push_back(i);
      graph_.inputs[i].push_back(v);
    }
    for (const GraphWrite& write : graph_.ops[i].writes) add_value(i, write);
  }
}

void Finder::add_value(std::uint32_t op, const GraphWrite& write) {
  GraphValue v{write.storage, op, op, bytes_of(write.storage)};
  v.pinned = write.mask || !is_repeated(graph_.ops[op]);
  v.padded = write.padded && saving_ == Saving::cheapest;
  std::uint32_t& current = current_[write.storage];
  if (current != no_value) graph_.values[current].overwritten = op;
  current = static_cast<std::uint32_t>(graph_.values.size());
  graph_.outputs[op].push_back(current);
  graph_.values.push_back(std::move(v));
}

void Finder::find_levels() {
  graph_.level.assign(graph_.ops.size(), 0);
  for (std::uint32_t i = 0; i < graph_.ops.size(); ++i) {
    for (const std::uint32_t v : graph_.inputs[i]) {
      if (graph_.values[v].producer != no_value)
        graph_.level[i] = std::max(graph_.level[i], graph_.level[graph_.values[v].producer]);
    }
    if (!graph_.written(i)) ++graph_.level[i];
  }
}

/// Where generated code of its own pass reads a value: levels, rising, also those of readers of
/// what has no buffer of its own. Nothing if others read it.
std::optional<std::vector<std::uint32_t>> Finder::levels_read(
    const GraphValue& v, const std::vector<std::vector<std::uint32_t>>& through) const {
  const GraphOp& maker = graph_.ops[v.producer];
  std::vector<std::uint32_t> out;
  for (const std::uint32_t r : v.readers) {
    const GraphOp& reader = graph_.ops[r];
    if (reader.pass != maker.pass) return std::nullopt;
    if (reader.phase != maker.phase) {
      if (maker.phase == GraphPhase::backward) return std::nullopt;
      continue;
    }
    if (!graph_.written(r)) return std::nullopt;
    out.push_back(graph_.level[r]);
    for (const std::uint32_t made : graph_.outputs[r]) {
      if (graph_.values[made].inlined)
        out.insert(out.end(), through[made].begin(), through[made].end());
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// What one kernel makes and alone reads, or what has no buffer.
void Finder::find_inside() {
  std::vector<std::vector<std::uint32_t>> through(graph_.values.size());
  for (std::size_t n = graph_.values.size(); n-- > 0;) {
    GraphValue& v = graph_.values[n];
    if (v.producer == no_value || !graph_.written(v.producer) || v.readers.empty()) continue;
    auto levels = levels_read(v, through);
    if (!levels) continue;
    const auto readers = std::count_if(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return graph_.ops[r].phase == graph_.ops[v.producer].phase;
    });
    const bool there = levels->empty() || levels->front() == graph_.level[v.producer];
    v.inside = v.inlined || (levels->size() <= 1 && (there || readers == 1));
    through[n] = std::move(*levels);
  }
}

/// The first library kernel before operation `end` that forward chains of generated code from `v`
/// lead to; `end` without one.
std::uint32_t Finder::first_library_reader(const GraphValue& v, std::uint32_t end) const {
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> next;
  std::vector<std::uint32_t> seen;
  const auto visit = [&](const GraphValue& value) {
    for (const std::uint32_t r : value.readers) {
      if (r > end || graph_.ops[r].phase != GraphPhase::forward) continue;
      if (std::find(seen.begin(), seen.end(), r) != seen.end()) continue;
      seen.push_back(r);
      next.push(r);
    }
  };
  for (visit(v); !next.empty();) {
    const std::uint32_t op = next.top();
    next.pop();
    if (!graph_.written(op)) return op;
    for (const std::uint32_t n : graph_.outputs[op]) visit(graph_.values[n]);
  }
  return end;
}

/// What generated code makes of a value only after a library kernel has used it, too, is not
/// computed again, so that the backward pass does not repeat long chains of sums (residual
/// networks; PyTorch's partitioner: ban_recompute_used_far_apart).
void Finder::keep_far_readers() {
  for (std::size_t n = 0; n < graph_.values.size(); ++n) {
    const GraphValue& v = graph_.values[n];
    if (v.producer == no_value || !graph_.is_forward(v) || !graph_.written(v.producer)) continue;
    std::uint32_t last = 0;
    for (const std::uint32_t r : v.readers) {
      if (graph_.ops[r].phase == GraphPhase::forward) last = std::max(last, r);
    }
    const std::uint32_t library = first_library_reader(v, last);
    for (const std::uint32_t r : v.readers) {
      if (r <= library || graph_.ops[r].phase != GraphPhase::forward || !graph_.written(r))
        continue;
      for (const std::uint32_t made : graph_.outputs[r]) graph_.values[made].pinned = true;
    }
  }
}

/// Operations from a value to the backward pass, those of chains of the forward pass included.
void Finder::find_distances() {
  distance_.assign(graph_.values.size(), far);
  for (std::size_t n = graph_.values.size(); n-- > 0;) {
    for (const std::uint32_t r : graph_.values[n].readers) {
      if (graph_.ops[r].phase == GraphPhase::backward) distance_[n] = 1;
      if (graph_.ops[r].phase != GraphPhase::forward) continue;
      for (const std::uint32_t made : graph_.outputs[r]) {
        distance_[n] = std::min(distance_[n], distance_[made] + 1);
      }
    }
  }
}

/// What saving a value costs: its bytes, a tenth more for each operation, so that of equals the one
/// nearest to the backward pass is saved (get_node_weight of torch/_functorch/partitioners.py).
std::int64_t Finder::cost_of(std::uint32_t n) const {
  constexpr double farther = 1.1;
  return static_cast<std::int64_t>(double(graph_.values[n].bytes) *
                                   std::pow(farther, distance_[n]));
}

/// A cut between what only the forward pass can make and what the backward pass reads.
void Finder::find_saved() {
  find_distances();
  const auto count = static_cast<std::uint32_t>(graph_.values.size());
  const std::uint32_t source = 2 * count, sink = source + 1;
  MinCut graph(2 * std::size_t{count} + 2);
  for (std::uint32_t n = 0; n < count; ++n) {
    const GraphValue& v = graph_.values[n];
    if (!graph_.is_forward(v)) continue;
    const bool needed = reads_after(v);
    const bool must = saving_ == Saving::cheapest && graph_.by_library_after(v);
    graph.add_edge(2 * n, 2 * n + 1, cost_of(n));
    if (v.pinned || must) graph.add_edge(source, 2 * n, MinCut::unlimited);
    if (needed) graph.add_edge(2 * n + 1, sink, MinCut::unlimited);
    if (v.pinned || v.producer == no_value) continue;
    for (const std::uint32_t input : graph_.inputs[v.producer]) {
      graph.add_edge(2 * input + 1, 2 * n, MinCut::unlimited);
    }
  }
  const std::vector<bool> side = graph.source_side(source, sink);
  for (std::uint32_t n = 0; n < count; ++n) {
    graph_.values[n].saved = graph_.is_forward(graph_.values[n]) && side[2 * n] && !side[2 * n + 1];
  }
}

/// From the end: what is inside a kernel, or computed again, needs what it is made of as long as it
/// is needed itself.
void Finder::find_last_readers() {
  for (std::size_t n = graph_.values.size(); n-- > 0;) {
    GraphValue& v = graph_.values[n];
    for (const std::uint32_t r : v.readers) {
      const auto at = static_cast<std::int64_t>(r);
      (graph_.ops[r].phase == GraphPhase::forward ? v.last_forward : v.last_backward) = std::max(
          graph_.ops[r].phase == GraphPhase::forward ? v.last_forward : v.last_backward, at);
    }
    if (v.producer == no_value) continue;
    const bool again = graph_.is_forward(v) ? !v.saved && !v.pinned : v.inside;
    for (const std::uint32_t input : graph_.inputs[v.producer]) {
      GraphValue& made_of = graph_.values[input];
      if (v.inside) made_of.last_forward = std::max(made_of.last_forward, v.last_forward);
      if (again) made_of.last_backward = std::max(made_of.last_backward, v.last_backward);
    }
  }
}

GraphValues Finder::values() {
  find_values();
  find_levels();
  const bool cheapest = saving_ == Saving::cheapest;
  if (cheapest) keep_far_readers();
  find_saved();
  if (cheapest) find_inlined(graph_);
  find_inside();
  find_last_readers();
  return std::move(graph_);
}

}  // namespace

bool is_written(const GraphOp& op) {
  if (op.row == nullptr || op.phase == GraphPhase::optimizer) return false;
  switch (op.row->kind) {
    case OpKind::pointwise:
    case OpKind::cast:
    case OpKind::fill:
    case OpKind::dropout:
    case OpKind::batch_norm:
    case OpKind::batch_norm_backward:
    case OpKind::row_norm:
    case OpKind::row_norm_backward:
    case OpKind::softmax:
    case OpKind::softmax_backward:
    case OpKind::reduction:
    case OpKind::loss: return true;
    default: return false;
  }
}

MemoryMoment GraphValues::buffer(const GraphValue& v) const {
  MemoryMoment out = storages[v.storage].bytes;
  if (v.wide) out.fixed_bytes *= 2, out.growing_bytes *= 2;
  return out;
}

bool GraphValues::by_library_after(const GraphValue& v) const {
  return std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
    return ops[r].phase == GraphPhase::backward && !written(r);
  });
}

GraphValues graph_values(std::span<const GraphOp> ops, std::span<const GraphStorage> storages,
                         Saving saving) {
  return Finder(ops, storages, saving).values();
}

}  // namespace tandem
