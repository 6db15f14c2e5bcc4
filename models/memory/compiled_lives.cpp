#include "models/memory/compiled_lives.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "models/memory/buffer_reuse.h"
#include "models/memory/min_cut.h"

namespace tandem {
namespace {

constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

/// What an operation leaves in a storage: with each write another value.
struct Value {
  std::uint32_t storage = 0;
  std::uint32_t producer = none;  // operation; none: no operation of the graph
  std::uint32_t first = 0;        // operation that makes it, or else reads it first
  std::int64_t bytes = 0;         // 0: lives all along, and counts there
  bool pinned = false;            // cannot be computed again
  bool inside = false;            // of a kernel: never in memory in its own pass
  bool saved = false;             // for the backward pass
  std::vector<std::uint32_t> readers = {};
  std::int64_t overwritten = -1;                       // by this operation, in place
  std::int64_t last_forward = -1, last_backward = -1;  // reader, also through values inside kernels
};

/// Whether a compiler writes the operation's code, as part of a kernel with others.
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

/// Sums and random numbers are not computed twice.
bool is_repeated(const GraphOp& op) {
  return is_written(op) && op.row->kind != OpKind::reduction && op.row->kind != OpKind::loss;
}

class Compiled {
 public:
  Compiled(std::span<const GraphOp> ops, std::span<const GraphStorage> storages, Saving saving)
      : ops_(ops), storages_(storages), saving_(saving) {}
  std::vector<Life> lives();
  std::vector<bool> again();

 private:
  /// One graph of a pass: forward or backward.
  struct GraphValues {
    std::vector<std::uint32_t> given, made;
  };

  std::uint32_t value_of(std::uint32_t storage, std::uint32_t reader);
  void find_kept();
  void find_values();
  void add_value(std::uint32_t op, const GraphWrite& write);
  void find_levels();
  void find_inside();
  std::uint32_t first_library_reader(const Value& v, std::uint32_t end) const;
  void keep_far_readers();
  void find_distances();
  std::int64_t cost_of(std::uint32_t n) const;
  void find_saved();
  void find_last_readers();
  std::vector<std::uint32_t> makers_of(const Value& v) const;
  std::uint32_t end_of_pass(std::uint32_t op) const;
  void make_late(Value& gradient);
  void find_late_gradients();
  std::int64_t last_of(const Value& v) const;
  std::uint32_t take_place(const Value& v, std::vector<std::int64_t>& last) const;
  std::vector<std::uint32_t> kernels_of(const std::vector<std::int64_t>& last) const;
  bool leaves_graph(const Value& v) const;
  std::vector<GraphValues> graphs(const std::vector<std::int64_t>& read) const;
  void wait_for_takers(const std::vector<std::int64_t>& read,
                       const std::vector<std::uint32_t>& over,
                       std::vector<std::int64_t>& last) const;
  std::vector<Life> add_up() const;

  /// What a life of the storage adds; gradients of parameters live to the end anyway.
  std::int64_t bytes_of(std::uint32_t storage) const {
    const GraphStorage& s = storages_[storage];
    return s.gradient ? 0 : static_cast<std::int64_t>(s.bytes.bytes());
  }
  bool written(std::uint32_t op) const { return is_written(ops_[op]); }
  bool is_forward(const Value& v) const {
    return v.producer == none || ops_[v.producer].phase == GraphPhase::forward;
  }
  bool reads_after(const Value& v) const {
    return std::any_of(v.readers.begin(), v.readers.end(),
                       [&](std::uint32_t r) { return ops_[r].phase == GraphPhase::backward; });
  }
  bool by_library_after(const Value& v) const {
    return std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return ops_[r].phase == GraphPhase::backward && !written(r);
    });
  }

  const std::span<const GraphOp> ops_;
  const std::span<const GraphStorage> storages_;
  const Saving saving_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> current_;              // by storage
  std::vector<std::vector<std::uint32_t>> inputs_;  // by operation: values
  std::vector<std::vector<std::uint32_t>> outputs_;
  static constexpr int far = 100;
  std::vector<int> distance_;         // by value: operations to the backward pass
  std::vector<std::uint32_t> level_;  // by operation: library kernels before it
};

std::uint32_t Compiled::value_of(std::uint32_t storage, std::uint32_t reader) {
  if (current_[storage] == none) {
    current_[storage] = static_cast<std::uint32_t>(values_.size());
    Value v{storage, none, reader, storages_[storage].unmade ? bytes_of(storage) : 0};
    v.pinned = true;
    values_.push_back(std::move(v));
  }
  return current_[storage];
}

void Compiled::find_values() {
  current_.assign(storages_.size(), none);
  inputs_.resize(ops_.size());
  outputs_.resize(ops_.size());
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    for (const std::uint32_t s : ops_[i].reads) {
      const std::uint32_t v = value_of(s, i);
      std::vector<std::uint32_t>& readers = values_[v].readers;
      if (readers.empty() || readers.back() != i) readers.push_back(i);
      inputs_[i].push_back(v);
    }
    for (const GraphWrite& write : ops_[i].writes) add_value(i, write);
  }
}

void Compiled::add_value(std::uint32_t op, const GraphWrite& write) {
  Value v{write.storage, op, op, bytes_of(write.storage)};
  v.pinned = write.mask || !is_repeated(ops_[op]);
  std::uint32_t& current = current_[write.storage];
  if (current != none) values_[current].overwritten = op;
  current = static_cast<std::uint32_t>(values_.size());
  outputs_[op].push_back(current);
  values_.push_back(std::move(v));
}

void Compiled::find_levels() {
  level_.assign(ops_.size(), 0);
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    for (const std::uint32_t v : inputs_[i]) {
      if (values_[v].producer != none) level_[i] = std::max(level_[i], level_[values_[v].producer]);
    }
    if (!written(i)) ++level_[i];
  }
}

void Compiled::find_inside() {
  for (Value& v : values_) {
    if (v.producer == none || !written(v.producer)) continue;
    const GraphPhase phase = ops_[v.producer].phase;
    std::size_t readers = 0;
    bool same = true;
    for (const std::uint32_t r : v.readers) {
      if (ops_[r].phase != phase) continue;
      ++readers;
      same = same && written(r) && level_[r] == level_[v.producer];
    }
    const bool alone = readers == 1 && written(v.readers.front());
    const bool leaves = phase == GraphPhase::backward &&
                        std::any_of(v.readers.begin(), v.readers.end(),
                                    [&](std::uint32_t r) { return ops_[r].phase != phase; });
    const bool other_pass = std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return ops_[r].pass != ops_[v.producer].pass;
    });
    v.inside = (same || alone) && !leaves && !other_pass && !v.readers.empty();
  }
}

/// The first library kernel before operation `end` that forward chains of generated code from `v`
/// lead to; `end` without one.
std::uint32_t Compiled::first_library_reader(const Value& v, std::uint32_t end) const {
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> next;
  std::vector<std::uint32_t> seen;
  const auto visit = [&](const Value& value) {
    for (const std::uint32_t r : value.readers) {
      if (r > end || ops_[r].phase != GraphPhase::forward) continue;
      if (std::find(seen.begin(), seen.end(), r) != seen.end()) continue;
      seen.push_back(r);
      next.push(r);
    }
  };
  for (visit(v); !next.empty();) {
    const std::uint32_t op = next.top();
    next.pop();
    if (!written(op)) return op;
    for (const std::uint32_t n : outputs_[op]) visit(values_[n]);
  }
  return end;
}

/// What generated code makes of a value only after a library kernel has used it, too, is not
/// computed again, so that the backward pass does not repeat long chains of sums (residual
/// networks; PyTorch's partitioner: ban_recompute_used_far_apart).
void Compiled::keep_far_readers() {
  for (std::size_t n = 0; n < values_.size(); ++n) {
    const Value& v = values_[n];
    if (v.producer == none || !is_forward(v) || !written(v.producer)) continue;
    std::uint32_t last = 0;
    for (const std::uint32_t r : v.readers) {
      if (ops_[r].phase == GraphPhase::forward) last = std::max(last, r);
    }
    const std::uint32_t library = first_library_reader(v, last);
    for (const std::uint32_t r : v.readers) {
      if (r <= library || ops_[r].phase != GraphPhase::forward || !written(r)) continue;
      for (const std::uint32_t made : outputs_[r]) values_[made].pinned = true;
    }
  }
}

/// Operations from a value to the backward pass, those of chains of the forward pass included.
void Compiled::find_distances() {
  distance_.assign(values_.size(), far);
  for (std::size_t n = values_.size(); n-- > 0;) {
    for (const std::uint32_t r : values_[n].readers) {
      if (ops_[r].phase == GraphPhase::backward) distance_[n] = 1;
      if (ops_[r].phase != GraphPhase::forward) continue;
      for (const std::uint32_t made : outputs_[r]) {
        distance_[n] = std::min(distance_[n], distance_[made] + 1);
      }
    }
  }
}

/// What saving a value costs: its bytes, a tenth more for each operation, so that of equals the one
/// nearest to the backward pass is saved (get_node_weight of torch/_functorch/partitioners.py).
std::int64_t Compiled::cost_of(std::uint32_t n) const {
  constexpr double farther = 1.1;
  return static_cast<std::int64_t>(double(values_[n].bytes) * std::pow(farther, distance_[n]));
}

/// A cut between what only the forward pass can make and what the backward pass reads.
void Compiled::find_saved() {
  find_distances();
  const auto count = static_cast<std::uint32_t>(values_.size());
  const std::uint32_t source = 2 * count, sink = source + 1;
  MinCut graph(2 * std::size_t{count} + 2);
  for (std::uint32_t n = 0; n < count; ++n) {
    const Value& v = values_[n];
    if (!is_forward(v)) continue;
    const bool needed = reads_after(v);
    const bool must = saving_ == Saving::cheapest && by_library_after(v);
    graph.add_edge(2 * n, 2 * n + 1, cost_of(n));
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
      (ops_[r].phase == GraphPhase::forward ? v.last_forward : v.last_backward) =
          std::max(ops_[r].phase == GraphPhase::forward ? v.last_forward : v.last_backward, at);
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

/// The operation that makes a value, and those before it of which nothing else is read.
std::vector<std::uint32_t> Compiled::makers_of(const Value& v) const {
  std::vector<std::uint32_t> makers{v.producer};
  for (std::size_t k = 0; k < makers.size(); ++k) {
    for (const std::uint32_t n : inputs_[makers[k]]) {
      const Value& input = values_[n];
      const bool alone = input.producer != none && input.readers.size() == 1 &&
                         ops_[input.producer].phase == GraphPhase::backward &&
                         outputs_[input.producer].size() == 1;
      if (alone) makers.push_back(input.producer);
    }
  }
  return makers;
}

/// The last operation of the backward pass that `op` is of.
std::uint32_t Compiled::end_of_pass(std::uint32_t op) const {
  auto end = static_cast<std::uint32_t>(ops_.size()) - 1;
  while (end > op && (ops_[end].phase != GraphPhase::backward || ops_[end].pass != ops_[op].pass)) {
    --end;
  }
  return end;
}

/// Where the gradient is larger than what its operations are the last to read.
void Compiled::make_late(Value& gradient) {
  const std::vector<std::uint32_t> makers = makers_of(gradient);
  std::vector<std::uint32_t> kept;
  std::int64_t bytes = 0;
  for (const std::uint32_t op : makers) {
    for (const std::uint32_t n : inputs_[op]) {
      const Value& input = values_[n];
      const bool between = std::find(makers.begin(), makers.end(), input.producer) != makers.end();
      if (between || input.last_backward != op) continue;
      kept.push_back(n);
      bytes += input.bytes;
    }
  }
  if (storages_[gradient.storage].bytes.bytes() <= double(bytes)) return;
  gradient.first = end_of_pass(gradient.producer);
  for (const std::uint32_t n : kept) values_[n].last_backward = gradient.first;
  // What lies between is there for a moment at the end, of one gradient at a time.
  for (const std::uint32_t op : makers) {
    for (const std::uint32_t n : outputs_[op]) {
      if (&values_[n] != &gradient) values_[n].bytes = 0;
    }
  }
}

/// Gradients of parameters that nothing of their pass reads wait for its end where that takes less
/// memory than to make them at once (TorchInductor orders kernels for the least peak:
/// torch/_inductor/memory.py, reorder_for_peak_memory). Library kernels that make a gradient beside
/// another result do not wait.
void Compiled::find_late_gradients() {
  for (std::size_t n = values_.size(); n-- > 0;) {
    Value& v = values_[n];
    const bool made = v.producer != none && ops_[v.producer].phase == GraphPhase::backward;
    if (!made || !storages_[v.storage].gradient || outputs_[v.producer].size() != 1) continue;
    const bool read = std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
      return ops_[r].phase == GraphPhase::backward;
    });
    if (!read && v.overwritten < 0) make_late(v);
  }
}

/// The operation that needs it last in memory; -1: it is never there.
std::int64_t Compiled::last_of(const Value& v) const {
  if (v.bytes == 0) return -1;
  const std::int64_t first = v.first;
  std::int64_t last = v.inside ? -1 : std::max(first, v.last_backward);
  if (is_forward(v)) {
    last = v.inside ? (v.saved ? first : -1) : std::max(first, v.last_forward);
    last = std::max(last, v.saved ? v.last_backward : -1);
  }
  // What is written in place takes the place of what it was, if nobody needs that any longer.
  return last > first && last == v.overwritten ? last - 1 : last;
}

/// Generated code writes its result over an operand of the same size that nobody needs any longer,
/// also one that it reads through values inside of the kernel: that value, `none` without one.
std::uint32_t Compiled::take_place(const Value& v, std::vector<std::int64_t>& last) const {
  std::vector<std::uint32_t> kernel{v.producer};  // its operations
  for (std::size_t k = 0; k < kernel.size(); ++k) {
    if (ops_[kernel[k]].row->kind == OpKind::cast) continue;  // a copy of the same size reorders
    for (const std::uint32_t n : inputs_[kernel[k]]) {
      const Value& operand = values_[n];
      if (operand.producer == none) continue;
      if (last[n] == v.first && operand.first < v.first && operand.bytes == v.bytes) {
        last[n] = v.first - 1;
        return n;
      }
      const bool inside = last[n] < 0 && operand.inside && operand.producer < kernel[k];
      if (inside && std::find(kernel.begin(), kernel.end(), operand.producer) == kernel.end()) {
        kernel.push_back(operand.producer);
      }
    }
  }
  return none;
}

/// The kernel that each operation runs in: one for each of the library, one for all operations of a
/// level that follow each other. Those that leave nothing in memory belong to the next one.
std::vector<std::uint32_t> Compiled::kernels_of(const std::vector<std::int64_t>& last) const {
  std::vector<std::uint32_t> out(ops_.size(), 0);
  std::uint32_t kernel = 0;
  bool opened = false;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    const bool joins = i > 0 && written(i) && written(i - 1) && level_[i] == level_[i - 1];
    if (opened && !joins) ++kernel, opened = false;
    out[i] = kernel;
    opened |= !written(i) || std::any_of(outputs_[i].begin(), outputs_[i].end(),
                                         [&](std::uint32_t n) { return last[n] >= 0; });
  }
  return out;
}

/// Whether others than the operations of its graph read it, or nobody does.
bool Compiled::leaves_graph(const Value& v) const {
  const GraphOp& made = ops_[v.producer];
  return v.readers.empty() || storages_[v.storage].gradient ||
         std::any_of(v.readers.begin(), v.readers.end(), [&](std::uint32_t r) {
           return ops_[r].row == nullptr || ops_[r].phase != made.phase ||
                  ops_[r].pass != made.pass;
         });
}

/// Values of each graph in the order in which its kernels make them; what one saved for the other
/// is among those of both.
std::vector<Compiled::GraphValues> Compiled::graphs(const std::vector<std::int64_t>& read) const {
  std::map<std::pair<std::uint32_t, GraphPhase>, GraphValues> found;
  for (std::uint32_t n = 0; n < values_.size(); ++n) {
    const Value& v = values_[n];
    if (v.producer == none) continue;
    const GraphOp& made = ops_[v.producer];
    const bool in_memory = read[n] >= v.first || storages_[v.storage].gradient;
    if (made.row == nullptr || made.phase == GraphPhase::optimizer || !in_memory) continue;
    found[{made.pass, made.phase}].made.push_back(n);
    const bool given = v.saved && v.last_backward >= 0;
    if (given) found[{made.pass, GraphPhase::backward}].given.push_back(n);
  }
  std::vector<GraphValues> out;
  for (auto& [key, of] : found) {
    if (of.made.empty()) continue;
    std::stable_sort(of.made.begin(), of.made.end(), [&](std::uint32_t a, std::uint32_t b) {
      return values_[a].first < values_[b].first;
    });
    out.push_back(std::move(of));
  }
  return out;
}

/// Lives that go on because a later value takes their memory. `read`: the last operation that needs
/// each value; `over`: the value that each is written over.
void Compiled::wait_for_takers(const std::vector<std::int64_t>& read,
                               const std::vector<std::uint32_t>& over,
                               std::vector<std::int64_t>& last) const {
  const std::vector<std::uint32_t> kernels = kernels_of(read);
  std::vector<std::uint32_t> place(values_.size());
  for (const GraphValues& graph : graphs(read)) {
    std::vector<std::uint32_t> members = graph.given;
    members.insert(members.end(), graph.made.begin(), graph.made.end());
    std::fill(place.begin(), place.end(), no_buffer);
    std::vector<GraphBuffer> buffers;
    for (const std::uint32_t n : members) {
      const Value& v = values_[n];
      const GraphStorage& storage = storages_[v.storage];
      GraphBuffer b;
      b.given = buffers.size() < graph.given.size();
      b.made = kernels[values_[b.given ? graph.made.front() : n].first];
      b.freed = kernels[static_cast<std::uint32_t>(std::max(read[n], std::int64_t{v.first}))];
      b.bytes = static_cast<std::int64_t>(storage.bytes.bytes());
      b.type = storage.type;
      b.stays = !b.given && leaves_graph(v);
      b.by_library = !written(v.producer) && allocates_results(ops_[v.producer]);
      if (!b.given && over[n] != none) b.over = place[over[n]];
      place[n] = static_cast<std::uint32_t>(buffers.size());
      buffers.push_back(b);
    }
    const std::vector<std::uint32_t> takers = takers_over(buffers);
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (takers[k] == no_buffer) continue;
      std::int64_t& ends = last[members[k]];
      ends = std::max(ends, std::int64_t{values_[members[takers[k]]].first} - 1);
    }
  }
}

std::vector<Life> Compiled::add_up() const {
  std::vector<Life> lives;
  const auto add = [&](std::int64_t first, std::int64_t last, std::uint32_t storage) {
    lives.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last),
                     storages_[storage].bytes});
  };
  std::vector<std::int64_t> last;
  for (const Value& v : values_) last.push_back(last_of(v));
  const std::vector<std::int64_t> read = last;
  std::vector<std::uint32_t> over(values_.size(), none);
  std::vector<bool> gradient(storages_.size(), false);
  for (std::size_t n = 0; n < values_.size(); ++n) {
    const Value& v = values_[n];
    const bool made = v.producer != none;
    if (made && storages_[v.storage].gradient && !gradient[v.storage]) {
      gradient[v.storage] = true;
      add(v.first, static_cast<std::int64_t>(ops_.size()) - 1, v.storage);
    }
    if (made && is_forward(v) && !v.saved &&
        by_library_after(v)) {  // computed again for that kernel
      add(v.last_backward, v.last_backward, v.storage);
    }
    if (last[n] >= 0 && made && written(v.producer)) over[n] = take_place(v, last);
  }
  if (saving_ == Saving::cheapest) wait_for_takers(read, over, last);
  for (std::size_t n = 0; n < values_.size(); ++n) {
    if (last[n] >= values_[n].first) add(values_[n].first, last[n], values_[n].storage);
  }
  return lives;
}

void Compiled::find_kept() {
  find_values();
  find_levels();
  find_inside();
  if (saving_ == Saving::cheapest) keep_far_readers();
  find_saved();
  find_last_readers();
}

std::vector<Life> Compiled::lives() {
  find_kept();
  if (saving_ == Saving::cheapest) find_late_gradients();
  return add_up();
}

std::vector<bool> Compiled::again() {
  find_kept();
  std::vector<bool> out(storages_.size(), false);
  for (const Value& v : values_) {
    if (v.producer == none || !is_forward(v)) continue;
    out[v.storage] = !v.saved && !v.pinned && v.last_backward >= 0;
  }
  return out;
}

}  // namespace

std::vector<Life> compiled_lives(std::span<const GraphOp> ops,
                                 std::span<const GraphStorage> storages, Saving saving) {
  return Compiled(ops, storages, saving).lives();
}

std::vector<bool> computed_again(std::span<const GraphOp> ops,
                                 std::span<const GraphStorage> storages) {
  return Compiled(ops, storages, Saving::cheapest).again();
}

}  // namespace tandem
