#include "models/step/memory/step_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/memory/laid_apart.h"
#include "models/step/binding/compiled_graphs.h"
#include "models/step/dataflow.h"
#include "models/step/memory/frames.h"
#include "models/step/memory/growth.h"
#include "models/step/memory/sharded_parameters.h"
#include "models/step/memory/step_facts.h"
#include "models/step/memory/tensor_storage.h"
#include "models/step/memory/workspace.h"
#include "sim/core/tensors/data_type.h"
#include "sim/trace/traced_devices.h"

namespace tandem {

namespace {

/// Unit of PyTorch's caching allocator.
constexpr std::int64_t block_bytes = 512;
constexpr std::string_view gradients_dropped = "Optimizer.zero_grad#";

double blocks(std::int64_t elements, DataType type) {
  return allocated_bytes(elements * std::max(element_bytes(type), 1), block_bytes);
}

MemoryMoment bytes_of(double bytes, bool grows) {
  return grows ? MemoryMoment{0, bytes} : MemoryMoment{bytes, 0};
}

/// What nothing is known to have made and is no larger than what was made is no input: a view,
/// where it is copied, else the result of an operation that does not tell its shape, from its first
/// reader to the last one, forward or backward.
class Parts {
 public:
  void see_made(const FlowTensor& tensor) {
    largest_[tensor.type] = std::max(largest_[tensor.type], tensor.elements);
  }

  /// Operation `i` reads tensor `t`, which nothing has made. True if it is a part; its life begins
  /// or goes on.
  bool reads(const FlowOp& op, std::uint32_t i, const FlowTensor& tensor, std::uint32_t t,
             std::vector<Life>& lives, TensorStorage& storage) {
    const std::pair key{tensor.elements, tensor.type};
    const bool forward = op.phase == FlowPhase::forward;
    if (const auto it = first_.find(key); it != first_.end()) {
      lives[it->second].last = std::max(lives[it->second].last, i);
      storage.join(t, it->second);
      return forward;
    }
    const bool small = is_floating(tensor.type) && tensor.elements <= largest_[tensor.type];
    if (!forward || !small) return false;
    if (op.kind == OpKind::cast) return true;
    first_[key] = t;
    lives[t] = {i, i, bytes_of(blocks(tensor.elements, tensor.type), true)};
    return true;
  }

 private:
  std::map<DataType, std::int64_t> largest_;  // elements of a tensor made so far
  std::map<std::pair<std::int64_t, DataType>, std::uint32_t> first_;
};

/// Copies that nodes of views make take memory as they do without a compiler.
bool is_compiled(const FlowOp& op) { return op.in_model && !op.of_view; }

/// A compiler turns images into the order that the library's kernels read, lines it leaves.
bool stays_reordered(const Step& step, const Dataflow& flow, const FlowOp& op) {
  return is_compiled(op) && !of_pictures(step.trace, flow, op, runs_backward(op) ? 1 : 0);
}

/// Whether matrices of a batch have gaps between them. Those of attention alone: images lie with
/// channels last in compiled code.
bool is_padded(const Trace& trace, const FlowOp& op, const FlowTensor& made) {
  const bool attention = op.kind == OpKind::softmax || op.kind == OpKind::softmax_backward ||
                         op.kind == OpKind::dropout;
  if (!attention) return false;
  for (const TensorShape& s : operands_of(trace, op.op).tensors.shapes) {
    if (s.rank < 3 || s.elements() != made.elements) continue;
    const std::int64_t matrix = s.dims[s.rank - 1] * s.dims[s.rank - 2];
    return matrix < made.elements && laid_apart(matrix, element_bytes(made.type));
  }
  return false;
}

/// Which operations make what lies in a storage, where they state it.
class Makers {
 public:
  Makers(const Step& step, const Dataflow& flow) {
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      for (const TensorShape& made : operands_of(step.trace, flow.ops[i].op).made) {
        first_.try_emplace(made.memory.storage, i);
      }
    }
  }

  /// The first that states it, or else the one whose gradient reads it; no_row if neither is known.
  std::uint32_t of(std::uint32_t storage, const FlowOp& reader, const StepFacts& facts) const {
    const auto maker = first_.find(storage);
    if (maker != first_.end()) return maker->second;
    return runs_backward(reader) ? facts.forward_of(reader.sequence) : no_row;
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> first_;  // by storage
};

class Lives {
 public:
  Lives(const Step& step, const Dataflow& flow, const BatchOps& ops, std::int64_t batch)
      : flow_(flow),
        batch_(batch),
        graphs_(graph_operands(step, flow, batch)),
        facts_(step, flow, graphs_),
        frames_(held_by_frames(step, flow)),
        step_(step),
        storage_(step, flow, facts_),
        growth_(growing_tensors(flow, ops, facts_.parameters(), batch)),
        makers_(step, flow) {
    begin_tensors();
    for (const FlowOp& op : flow.ops) {
      ops_.push_back({is_compiled(op) ? op.row : nullptr, graph_phase(op.phase)});
      ops_.back().pass = op.pass;
    }
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) visit(i);
  }

  /// As the operations run one by one.
  std::vector<Life> eager() const {
    std::vector<Life> out, lives = lives_;
    for (const HeldTensor& held : frames_.held) {
      Life& life = lives[storage_[held.tensor]];
      life.last = std::max(life.last, held.until);
    }
    const ShardedParameters shards = sharded_parameters(step_.trace, step_.links);
    for (std::uint32_t t = 0; t < lives.size(); ++t) {
      const auto bytes = static_cast<std::int64_t>(flow_.tensors[t].bytes());
      if (shards.unit_bytes.count(bytes) > 0) continue;
      if (gradient_[t]) lives[t].bytes.fixed_bytes *= shards.gradient_share;
      if (storage_[t] == t && lives[t].bytes.bytes() > 0) out.push_back(lives[t]);
    }
    for (const TensorShape& t : graphs_.inputs) {
      out.push_back({0, end(), bytes_of(blocks(t.elements(), t.type), true)});
    }
    for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) add_workspace(i, out);
    return out;
  }

  /// As a compiler would run them. What no operation of the graph makes or is seen to make lives as
  /// it does without a compiler.
  std::vector<Life> compiled(Saving saving) const;

 private:
  void narrow_places(std::vector<Life>& lives) const;
  void add_workspace(std::uint32_t i, std::vector<Life>& lives) const {
    for (const ReorderedTensor& t : reordered_tensors(step_, flow_, flow_.ops[i])) {
      const bool grows = t.elements % batch_ == 0 && !facts_.parameters().has(t.elements);
      lives.push_back({i, i, bytes_of(allocated_bytes(t.bytes, block_bytes), grows)});
    }
  }

  /// Known to be one, or as many elements as a parameter has, and it does not grow.
  bool is_copy_of_parameter(std::uint32_t t) const {
    const TensorMemory& memory = flow_.tensors[t].memory;
    if (memory.known()) return memory.role == TensorRole::parameter;
    return facts_.parameters().has(flow_.tensors[t].elements) && !growth_.grows[t];
  }

  void begin_tensors() {
    lives_.resize(flow_.tensors.size());
    gradient_.resize(flow_.tensors.size());
    for (std::uint32_t t = 0; t < lives_.size(); ++t) {
      const FlowTensor& tensor = flow_.tensors[t];
      Life& life = lives_[t];
      life.first = life.last = tensor.producer;
      if (tensor.producer == no_row) continue;
      life.bytes = bytes_of(blocks(tensor.elements, tensor.type), growth_.grows[t]);
    }
  }

  void visit(std::uint32_t i);

  /// A copy is of the type of what it copies, also where a precision changed that one alone.
  void keep_type(std::uint32_t copy, std::span<const FlowUse> inputs, Life& life) const {
    if (inputs.empty()) return;
    const DataType type = flow_.tensors[inputs[0].tensor].type;
    life.bytes = bytes_of(blocks(flow_.tensors[copy].elements, type), growth_.grows[copy]);
  }

  /// What no operation reads as a whole attention reads in parts: query, key and value are views,
  /// soon after it was made, or later if they are as much as it is.
  void keep_for_views(std::uint32_t i, std::uint32_t storage, std::int64_t elements) {
    constexpr std::uint32_t soon = 2, later = 32;
    for (std::uint32_t n = i + 1; n < std::min(i + 1 + later, end_of_pass(i)); ++n) {
      if (flow_.ops[n].kind != OpKind::attention) continue;
      if (n > i + soon && elements != parts_of_attention(flow_.ops[n])) return;
      use(storage, n);
      use(storage, facts_.backward_of(flow_.ops[n].sequence));
      return;
    }
  }

  /// The first operation behind the forward pass, or behind the step where it runs again.
  std::uint32_t end_of_pass(std::uint32_t i) const {
    return flow_.ops[i].repeats == no_row ? facts_.last_forward(flow_.ops[i]) + 1 : end();
  }

  /// Elements of query, key and value, which are all of one size.
  std::int64_t parts_of_attention(const FlowOp& op) const {
    constexpr std::int64_t parts = 3;
    return op.input_count == 0 ? 0 : parts * flow_.elements_of(flow_.inputs_of(op)[0]);
  }

  /// Operation `i` needs what `storage` holds.
  void use(std::uint32_t storage, std::uint32_t i) {
    Life& life = lives_[storage];
    life.last = std::max(life.last, i);
    if (i > 0) ops_[i].reads.push_back(storage);
  }

  bool is_parameter(const FlowOp& op, std::uint8_t argument) const {
    const TensorShape* const shape = operands_of(step_.trace, op.op).tensors.at(argument);
    if (shape != nullptr && shape->memory.known()) {
      return shape->memory.role == TensorRole::parameter;
    }
    return contains(op.row->arguments.parameters, argument) ||
           (shape != nullptr && facts_.parameters().has(*shape));
  }

  /// There before the step and behind it.
  void keep_state(std::uint32_t t) {
    const FlowTensor& tensor = flow_.tensors[t];
    const bool grows = tensor.elements % batch_ == 0;
    lives_[t] = {0, end(), bytes_of(blocks(tensor.elements, tensor.type), grows)};
  }

  void read(const FlowUse& use, const FlowOp& op, std::uint32_t i);
  bool is_new_input(const FlowOp& op, std::uint32_t tensor);
  void read_unseen(const FlowUse& use, const FlowOp& op, std::uint32_t i);

  std::uint32_t end() const { return static_cast<std::uint32_t>(flow_.ops.size()) - 1; }

  const Dataflow& flow_;
  std::int64_t batch_;
  GraphOperands graphs_;
  StepFacts facts_;
  FrameLives frames_;
  const Step& step_;
  std::vector<GraphOp> ops_;  // what each reads and writes
  std::vector<Life> lives_;   // per tensor; of its storage
  TensorStorage storage_;
  TensorGrowth growth_;
  std::vector<bool> gradient_;                               // of a parameter
  std::map<std::pair<std::int64_t, DataType>, int> inputs_;  // distinct ones of a size and type
  Parts parts_;
  std::map<std::uint32_t, std::uint32_t> unseen_;  // by storage: the first tensor
  Makers makers_;
};

/// Whether it is the gradient of a loss of classes that a compiler is given: of what it reads in an
/// eager step it asks for the labels alone, and its result is made where it is read.
bool picks_in_graph(const FlowOp& op) { return op.in_model && op.row->is(picks_classes); }

/// Where in its window each maximum was takes a byte in compiled code, and eight in eager steps
/// (TorchInductor: _low_memory_max_pool_with_offsets).
void Lives::narrow_places(std::vector<Life>& lives) const {
  const double share = 1.0 / element_bytes(DataType::int64);
  for (const FlowOp& op : flow_.ops) {
    if (op.kind != OpKind::pooling_backward || op.in_graph) continue;
    for (const FlowUse& use : flow_.inputs_of(op)) {
      if (flow_.tensors[use.tensor].type != DataType::int64) continue;
      MemoryMoment& bytes = lives[storage_[use.tensor]].bytes;
      bytes = {bytes.fixed_bytes * share, bytes.growing_bytes * share};
    }
  }
}

std::vector<Life> Lives::compiled(Saving saving) const {
  std::vector<GraphStorage> storages(lives_.size());
  std::vector<bool> in_graph(lives_.size(), false);
  for (const GraphOp& op : ops_) {
    for (const std::uint32_t s : op.reads) in_graph[s] = true;
    for (const GraphWrite& w : op.writes) in_graph[w.storage] = true;
  }
  std::vector<Life> outside, lives = lives_;
  narrow_places(lives);
  for (std::uint32_t t = 0; t < lives.size(); ++t) {
    if (storage_[t] != t || lives[t].bytes.bytes() <= 0) continue;
    if (!in_graph[t]) {
      outside.push_back(lives[t]);
    } else {
      storages[t] = {lives[t].bytes, gradient_[t], flow_.tensors[t].producer == no_row,
                     flow_.tensors[t].type};
    }
  }
  std::vector<Life> out = compiled_lives(ops_, storages, saving);
  out.insert(out.end(), outside.begin(), outside.end());
  for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
    if (stays_reordered(step_, flow_, flow_.ops[i])) add_workspace(i, out);
  }
  return out;
}

/// What was made before the step is an input, once for all who read one of its size; those of one
/// operation are different ones.
bool Lives::is_new_input(const FlowOp& op, std::uint32_t tensor) {
  const FlowTensor& t = flow_.tensors[tensor];
  int number = 0;
  for (const FlowUse& use : flow_.inputs_of(op)) {
    const FlowTensor& other = flow_.tensors[use.tensor];
    number += other.producer == no_row && other.elements == t.elements && other.type == t.type;
    if (use.tensor == tensor) break;
  }
  int& known = inputs_[{t.elements, t.type}];
  if (number <= known) return false;
  known = number;
  return true;
}

/// A tensor whose memory is known and that nothing is seen to make: parameters and inputs count
/// elsewhere; a result that no rule for results tells of lives from where it was made.
void Lives::read_unseen(const FlowUse& use, const FlowOp& op, std::uint32_t i) {
  const FlowTensor& tensor = flow_.tensors[use.tensor];
  if (!tensor.memory.made_in_step()) return;
  const auto [first, fresh] = unseen_.try_emplace(tensor.memory.storage, use.tensor);
  storage_.join(use.tensor, first->second);
  Life& life = lives_[first->second];
  life.last = std::max(fresh ? 0 : life.last, i);
  if (i > 0) ops_[i].reads.push_back(first->second);
  if (!fresh) return;
  life.first = std::min(makers_.of(tensor.memory.storage, op, facts_), i);
  if (picks_in_graph(flow_.ops[life.first])) {
    ops_[life.first].writes.push_back({first->second});
  }
  const bool grows = tensor.memory.role == TensorRole::activation;
  life.bytes = bytes_of(blocks(tensor.elements, tensor.type), grows);
}

void Lives::read(const FlowUse& use, const FlowOp& op, std::uint32_t i) {
  Life& life = lives_[storage_[use.tensor]];
  const FlowTensor& tensor = flow_.tensors[use.tensor];
  if (storage_.is_given_result(op, use)) return;
  if (!tensor.memory.known() && frames_.skips.count({i, use.tensor}) > 0) {
    // The block of the skip holds what is really read, unless it is compiled.
    ops_[i].reads.push_back(storage_[use.tensor]);
    return;
  }
  if (tensor.producer != no_row) {
    this->use(storage_[use.tensor], i);
    const bool saved = runs_backward(op) && runs_forward(flow_.ops[tensor.producer]);
    if (saved) life.last = std::max(life.last, facts_.end_of_node(i));
    return;
  }
  if (op.in_graph) return;     // its graph says what it is given
  if (op.repeats != no_row) {  // read before
    if (life.bytes.bytes() > 0) this->use(storage_[use.tensor], i);
    return;
  }
  if (tensor.memory.known()) return read_unseen(use, op, i);
  if (tensor.state) return keep_state(use.tensor);
  const bool activation = tensor.elements % batch_ == 0 && !is_parameter(op, use.argument);
  if (activation && parts_.reads(op, i, tensor, use.tensor, lives_, storage_)) {
    if (lives_[storage_[use.tensor]].bytes.bytes() > 0) {
      ops_[i].reads.push_back(storage_[use.tensor]);
    }
    return;
  }
  const std::uint32_t forward = facts_.forward_of(op.sequence);
  if (op.phase == FlowPhase::backward && forward != no_row &&
      !facts_.parameters().has(tensor.elements) && facts_.no_view(op, forward, tensor.type)) {
    // What the gradient finds and nothing is known to have made, the forward operation kept
    // beside its results: places of maxima, states of a library.
    life = {forward, i, bytes_of(blocks(tensor.elements, tensor.type), true)};
    return;
  }
  if (op.phase != FlowPhase::forward || !activation || !is_new_input(op, use.tensor)) return;
  life = {0, end(), bytes_of(blocks(tensor.elements, tensor.type), true)};
}

void Lives::visit(std::uint32_t i) {
  const FlowOp& op = flow_.ops[i];
  const auto inputs = flow_.inputs_of(op);
  const bool keeps = op.row->is(keeps_operands), first = facts_.keeps_first(op);
  const std::uint32_t kept = keeps || first ? facts_.gradient_of(op) : no_row;
  for (const FlowUse& use : inputs) {
    read(use, op, i);
    // Nothing reads it, so that a compiler keeps none: its life alone is longer.
    const bool meant = use.argument > 0 ? keeps : first;
    if (kept != no_row && meant && flow_.tensors[use.tensor].producer != no_row) {
      Life& life = lives_[storage_[use.tensor]];
      life.last = std::max(life.last, kept);
    }
    const std::uint32_t again = facts_.gradient_of_gradient(op, use);
    if (again != no_row && flow_.tensors[use.tensor].producer != no_row) {
      this->use(storage_[use.tensor], again);
    }
  }
  if (picks_in_graph(op)) ops_[i].reads.clear();
  const auto outputs = flow_.outputs_of(op);
  for (const std::uint32_t t : outputs) {
    const bool asked = t == outputs[0] || flow_.tensors[t].memory.known();
    if (asked && !storage_.place(i, t)) lives_[t].bytes = {};
  }
  for (const std::uint32_t t : outputs) {
    const FlowTensor& tensor = flow_.tensors[t];
    parts_.see_made(tensor);
    Life& life = lives_[storage_[t]];
    life.last = std::max(life.last, i);
    if (tensor.state && op.in_graph) keep_state(t);
    const bool mask = op.kind == OpKind::dropout && tensor.type == DataType::boolean;
    ops_[i].writes.push_back({storage_[t], mask, is_padded(step_.trace, op, tensor)});
    // Rows of a table, not the table.
    const bool known = tensor.memory.known();
    const bool guess = op.row->output == OutputRule::largest && !op.in_graph && !known;
    if (guess && facts_.parameters().has(tensor.elements)) life.bytes = {};
    const bool unread = tensor.consumers == 0 || growth_.mistaken[t] || known;
    if (unread && !growth_.grows[t] && facts_.is_gradient(op, tensor))
      life.last = end(), gradient_[storage_[t]] = true;
    if (runs_forward(op) && tensor.consumers == 0 && !known)
      keep_for_views(i, storage_[t], tensor.elements);
    if (runs_forward(op) && facts_.is_kept_copy(op)) {
      use(storage_[t], facts_.backward_of(step_.trace.ops.sequence[op.root]));
      keep_type(t, inputs, life);
    }
    const bool copy = op.phase == FlowPhase::forward && op.kind == OpKind::cast;
    if (copy && is_copy_of_parameter(t)) life.last = std::max(life.last, facts_.last_forward(op));
  }
}

/// Operations before which the gradients of the step before were still there.
std::uint32_t gradients_kept_until(const Step& step, const Dataflow& flow) {
  TimePoint dropped = TimePoint::min();
  const Annotations& notes = step.trace.annotations;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (text_of(step.trace, notes.name[i]).starts_with(gradients_dropped)) {
      dropped = std::max(dropped, notes.begin[i]);
    }
  }
  const auto at = std::find_if(flow.ops.begin(), flow.ops.end(), [&](const FlowOp& op) {
    return op.phase == FlowPhase::backward || step.trace.ops.begin[op.op] >= dropped;
  });
  return static_cast<std::uint32_t>(at - flow.ops.begin());
}

}  // namespace

std::optional<RecordedMemory> recorded_memory(const Trace& trace, const Links& links) {
  const MemoryEvents& events = trace.memory;
  const std::int64_t device = busiest_device(trace).value_or(0);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.device[i] == device) rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return events.begin[a] < events.begin[b];
  });
  const auto last = std::find_if(rows.rbegin(), rows.rend(), [&](std::uint32_t i) {
    return events.begin[i] < links.steps.back().end;
  });
  rows.erase(last.base(), rows.end());
  if (rows.empty()) return {};
  const bool complete = events.allocated[rows.front()] >= 0;
  double now = 0, peak = 0, least = 0;
  for (const std::uint32_t i : rows) {
    now = complete ? static_cast<double>(events.allocated[i])
                   : now + static_cast<double>(events.bytes[i]);
    if (events.begin[i] < links.steps.front().begin) {
      least = now, peak = now;
      continue;
    }
    peak = std::max(peak, now), least = std::min(least, now);
  }
  return RecordedMemory{complete ? peak : peak - least, complete};
}

namespace {

std::vector<MemoryMoment> moments_of(const Step& step, const Dataflow& flow,
                                     std::vector<Life> lives) {
  if (lives.empty()) return {};
  double gradients = 0;
  for (const Life& life : lives) {
    const bool to_end = life.last + 1 == flow.ops.size();
    if (to_end && flow.ops[life.first].phase == FlowPhase::backward) {
      gradients += life.bytes.fixed_bytes;
    }
  }
  const std::uint32_t kept = gradients_kept_until(step, flow);
  if (kept > 0) lives.push_back({0, kept - 1, {gradients, 0}});
  return worst_moments(lives, flow.ops.size());
}

}  // namespace

GraphPhase graph_phase(FlowPhase phase) {
  switch (phase) {
    case FlowPhase::forward: return GraphPhase::forward;
    case FlowPhase::backward: return GraphPhase::backward;
    default: return GraphPhase::optimizer;
  }
}

std::vector<MemoryMoment> live_tensors(const Step& step, const Dataflow& flow, const BatchOps& ops,
                                       std::int64_t batch) {
  return moments_of(step, flow, Lives(step, flow, ops, batch).eager());
}

std::vector<MemoryMoment> live_tensors(const Step& step, std::int64_t batch) {
  const std::int64_t items = std::max<std::int64_t>(batch, 1);
  const Dataflow flow = dataflow(step);
  return live_tensors(step, flow, BatchOps(step.trace, flow.nesting, items), items);
}

std::vector<MemoryMoment> compiled_tensors(const Step& step, const Dataflow& flow,
                                           std::int64_t batch, Saving saving,
                                           std::span<const Life> added) {
  const std::int64_t items = std::max<std::int64_t>(batch, 1);
  const BatchOps ops(step.trace, flow.nesting, items);
  std::vector<Life> lives = Lives(step, flow, ops, items).compiled(saving);
  lives.insert(lives.end(), added.begin(), added.end());
  return moments_of(step, flow, std::move(lives));
}

}  // namespace tandem
