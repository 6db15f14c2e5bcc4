#include "workloads/compiled_memory.h"

#include <algorithm>

#include "models/memory/lives.h"
#include "models/ops/op_table.h"
#include "workloads/min_cut.h"

namespace tandem {
namespace {

constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

/// What an operation leaves in a storage: with each write another value.
struct Value {
  std::uint32_t storage = 0;
  std::uint32_t producer = none;  // operation; none: there before the step
  std::int64_t bytes = 0;         // 0: lives all along, and counts there
  bool pinned = false;            // cannot be computed again
  bool inside = false;            // of a kernel: never in memory in its own pass
  bool saved = false;             // for the backward pass
  std::vector<std::uint32_t> readers = {};
  std::int64_t overwritten = -1;                       // by this operation, in place
  std::int64_t last_forward = -1, last_backward = -1;  // reader, also through values inside kernels
};

/// Whether a compiler writes the operation's code, as part of a kernel with others.
bool is_written(const OpRow& row) {
  switch (row.kind) {
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

/// Sums and random numbers are not computed twice.
bool is_repeated(const OpRow& row) {
  return is_written(row) && row.kind != OpKind::reduction && row.kind != OpKind::loss;
}

class Compiled {
 public:
  Compiled(const BoundNetwork& bound, Saving saving)
      : bound_(bound), network_(*bound.network), saving_(saving) {}
  NetworkMemory peak();

 private:
  std::uint32_t value_of(std::uint32_t tensor);
  void find_values();
  void find_levels();
  void find_inside();
  void find_saved();
  void find_last_readers();
  NetworkMemory add_up() const;

  double bytes_of(std::size_t storage) const {
    return allocated_bytes(bound_.storage_bytes[storage], network_.framework);
  }
  bool written(std::uint32_t op) const {
    return network_.ops[op].phase != Phase::optimizer && is_written(*rows_[op]);
  }
  bool is_forward(const Value& v) const {
    return v.producer == none || network_.ops[v.producer].phase == Phase::forward;
  }
  bool reads_after(const Value& v) const {
    return std::any_of(v.readers.begin(), v.readers.end(),
                       [&](std::uint32_t r) { return network_.ops[r].phase == Phase::backward; });
  }
  bool by_library_after(const Value& v) const {
    return std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return network_.ops[r].phase == Phase::backward && !written(r);
    });
  }

  const BoundNetwork& bound_;
  const Network& network_;
  const Saving saving_;
  std::vector<const OpRow*> rows_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> current_;              // by storage
  std::vector<std::vector<std::uint32_t>> inputs_;  // by operation: values
  std::vector<std::uint32_t> level_;                // by operation: library kernels before it
};

std::uint32_t Compiled::value_of(std::uint32_t tensor) {
  const std::uint32_t storage = network_.tensors[tensor].storage;
  if (current_[storage] == none) {
    current_[storage] = static_cast<std::uint32_t>(values_.size());
    values_.push_back({storage});
    values_.back().pinned = true;
  }
  return current_[storage];
}

void Compiled::find_values() {
  current_.assign(network_.storages.size(), none);
  inputs_.resize(network_.ops.size());
  for (std::uint32_t i = 0; i < network_.ops.size(); ++i) {
    const NetworkOp& op = network_.ops[i];
    rows_.push_back(&op_row(op.name));
    for (const NetworkArgument& a : op.arguments) {
      for (const std::uint32_t t : a.tensors) {
        const std::uint32_t v = value_of(t);
        std::vector<std::uint32_t>& readers = values_[v].readers;
        if (readers.empty() || readers.back() != i) readers.push_back(i);
        inputs_[i].push_back(v);
      }
    }
    for (const std::uint32_t t : op.outputs) {
      const std::uint32_t storage = network_.tensors[t].storage;
      Value v{storage, i};
      if (network_.storages[storage] == StorageKind::activation) {
        v.bytes = static_cast<std::int64_t>(bytes_of(storage));
      }
      const bool mask =
          rows_[i]->kind == OpKind::dropout && network_.tensors[t].type == DataType::boolean;
      v.pinned = mask || !is_repeated(*rows_[i]);
      if (current_[storage] != none) values_[current_[storage]].overwritten = i;
      current_[storage] = static_cast<std::uint32_t>(values_.size());
      values_.push_back(std::move(v));
    }
  }
}

void Compiled::find_levels() {
  level_.assign(network_.ops.size(), 0);
  for (std::uint32_t i = 0; i < network_.ops.size(); ++i) {
    for (const std::uint32_t v : inputs_[i]) {
      if (values_[v].producer != none) level_[i] = std::max(level_[i], level_[values_[v].producer]);
    }
    if (!written(i)) ++level_[i];
  }
}

void Compiled::find_inside() {
  for (Value& v : values_) {
    if (v.producer == none || !written(v.producer)) continue;
    const Phase phase = network_.ops[v.producer].phase;
    std::size_t readers = 0;
    bool same = true;
    for (const std::uint32_t r : v.readers) {
      if (network_.ops[r].phase != phase) continue;
      ++readers;
      same = same && written(r) && level_[r] == level_[v.producer];
    }
    const bool alone = readers == 1 && written(v.readers.front());
    const bool leaves = phase == Phase::backward &&
                        std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
                          return network_.ops[r].phase != phase;
                        });
    v.inside = (same || alone) && !leaves;
  }
}

/// A cut between what only the forward pass can make and what the backward pass reads.
void Compiled::find_saved() {
  const auto count = static_cast<std::uint32_t>(values_.size());
  const std::uint32_t source = 2 * count, sink = source + 1;
  MinCut graph(2 * std::size_t{count} + 2);
  for (std::uint32_t n = 0; n < count; ++n) {
    const Value& v = values_[n];
    if (!is_forward(v)) continue;
    const bool needed = reads_after(v);
    const bool must = saving_ == Saving::cheapest && by_library_after(v);
    graph.add_edge(2 * n, 2 * n + 1, v.bytes);
    if (v.pinned || must) graph.add_edge(source, 2 * n, MinCut::unlimited);
    if (needed) graph.add_edge(2 * n + 1, sink, MinCut::unlimited);
    if (v.pinned || v.producer == none) continue;
    for (const std::uint32_t input : inputs_[v.producer]) {
      graph.add_edge(2 * input + 1, 2 * n, MinCut::unlimited);
    }
  }
  const std::vector<bool> side = graph.source_side(source, sink);
  for (std::uint32_t n = 0; n < count; ++n) {
    values_[n].saved = is_forward(values_[n]) && side[2 * n] && !side[2 * n + 1];
  }
}

/// From the end: what is inside a kernel, or computed again, needs what it is made of as long as it
/// is needed itself.
void Compiled::find_last_readers() {
  for (std::size_t n = values_.size(); n-- > 0;) {
    Value& v = values_[n];
    for (const std::uint32_t r : v.readers) {
      const auto at = static_cast<std::int64_t>(r);
      (network_.ops[r].phase == Phase::forward ? v.last_forward : v.last_backward) =
          std::max(network_.ops[r].phase == Phase::forward ? v.last_forward : v.last_backward, at);
    }
    if (v.producer == none) continue;
    const bool again = is_forward(v) ? !v.saved && !v.pinned : v.inside;
    for (const std::uint32_t input : inputs_[v.producer]) {
      Value& made_of = values_[input];
      if (v.inside) made_of.last_forward = std::max(made_of.last_forward, v.last_forward);
      if (again) made_of.last_backward = std::max(made_of.last_backward, v.last_backward);
    }
  }
}

NetworkMemory Compiled::add_up() const {
  NetworkMemory out;
  std::vector<Life> lives;
  const auto add = [&](std::int64_t first, std::int64_t last, double bytes) {
    lives.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), {bytes, 0}});
  };
  std::vector<bool> gradient(network_.storages.size(), false);
  for (std::size_t s = 0; s < network_.storages.size(); ++s) {
    const StorageKind kind = network_.storages[s];
    if (kind == StorageKind::gradient || kind == StorageKind::activation ||
        kind == StorageKind::host) {
      continue;
    }
    out.kept_bytes += bytes_of(s);
  }
  for (const Value& v : values_) {
    if (v.producer == none) continue;
    if (network_.storages[v.storage] == StorageKind::gradient && !gradient[v.storage]) {
      gradient[v.storage] = true;
      add(v.producer, static_cast<std::int64_t>(network_.ops.size()) - 1, bytes_of(v.storage));
    }
    const auto bytes = static_cast<double>(v.bytes);
    std::int64_t last = v.producer;
    if (is_forward(v)) {
      if (v.inside && !v.saved) last = -1;
      last = std::max(v.inside ? last : std::max(last, v.last_forward),
                      v.saved ? v.last_backward : -1);
      if (!v.saved && by_library_after(v)) {  // computed again for that kernel
        add(v.last_backward, v.last_backward, bytes);
      }
    } else {
      last = v.inside ? -1 : std::max(last, v.last_backward);
    }
    if (last < 0) continue;
    // What is written in place takes the place of what it was, if nobody needs that any longer.
    const bool replaced = last > v.producer && last == v.overwritten;
    add(v.producer, replaced ? last - 1 : last, bytes);
  }
  out.peak_bytes = worst_bytes(worst_moments(lives, network_.ops.size(), {out.kept_bytes, 0}));
  return out;
}

NetworkMemory Compiled::peak() {
  find_values();
  find_levels();
  find_inside();
  find_saved();
  find_last_readers();
  return add_up();
}

}  // namespace

NetworkMemory compiled_memory(const BoundNetwork& network, Saving saving) {
  NetworkMemory cheapest = Compiled(network, Saving::cheapest).peak();
  if (saving == Saving::cheapest) return cheapest;
  // Computing again takes memory, too, which small networks do not win back.
  const NetworkMemory least = Compiled(network, Saving::least).peak();
  return least.peak_bytes < cheapest.peak_bytes ? least : cheapest;
}

}  // namespace tandem
