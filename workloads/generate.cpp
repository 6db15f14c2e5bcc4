#include "workloads/generate.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "workloads/executor_program.h"
#include "workloads/tensor_memory.h"
#include "workloads/trace_rows.h"

namespace tandem {
namespace {

constexpr std::int64_t main_thread = 1, backward_thread = 2;
constexpr std::string_view engine_prefix = "autograd::engine::evaluate_function: ";
constexpr std::string_view gradient_node = "torch::autograd::AccumulateGrad";
constexpr Duration op_tail = from_us(0.4);  // an operation ends shortly after its last call
/// Shares of the host time before a launch in which an operation and its inner one are open.
constexpr double outer_share = 0.6, inner_share = 0.3;

/// Whether both list parameters in the same places, and attention all that it is asked for:
/// `linear` takes input, weight, bias, and `addmm` in it bias, input, weight.
bool same_order(std::string_view outer, std::string_view inner) {
  const OpRow &a = op_row(outer), &b = op_row(inner);
  if (a.kind == OpKind::attention) return a.arguments.positions == b.arguments.positions;
  return a.arguments.parameters == b.arguments.parameters;
}

/// Per operation: the tensors that no later operation of its backward pass writes to, of those that
/// hold gradients of parameters. A step that adds up gradients has several such passes. What bounds
/// all gradients at once comes behind their nodes.
std::vector<std::vector<std::uint32_t>> completed_gradients(const Network& network) {
  std::vector<std::vector<std::uint32_t>> out(network.ops.size());
  std::vector<bool> complete(network.storages.size(), false);
  for (std::size_t i = network.ops.size(); i-- > 0;) {
    const NetworkOp& op = network.ops[i];
    if (op.phase == Phase::forward) complete.assign(complete.size(), false);
    if (op.phase != Phase::backward || op_row(op.name).kind == OpKind::optimizer) continue;
    for (const std::uint32_t t : op.outputs) {
      const std::uint32_t storage = network.tensors[t].storage;
      const bool gradient = network.storages[storage] == StorageKind::gradient;
      if (gradient && !complete[storage]) out[i].push_back(t);
    }
    for (const std::uint32_t t : op.outputs) complete[network.tensors[t].storage] = true;
  }
  return out;
}

/// Writes the rows of one step in the order of time.
class Writer {
 public:
  explicit Writer(const GenerateInput& input)
      : in_(input),
        rows_(input),
        lowering_(input.lowering),
        memories_(input.network),
        main_(rows_.thread(main_thread)),
        backward_(rows_.thread(backward_thread)),
        completed_(completed_gradients(*input.network.network)) {}

  Trace write();

 private:
  void write_op(std::size_t index);
  Operands operands_at(std::size_t index);
  void begin_phase(Phase phase);
  /// Opens the operations that `op` is part of, and closes those before.
  void follow_calls(const NetworkOp& op);
  void close_calls(std::size_t but);
  void end_optimizer();
  void open_node(const NetworkOp& op);
  void close_node();
  void note_gradients(std::size_t index);
  void write_gradients();
  std::uint32_t open_row(std::string_view name, const NetworkOp& op, OperandsId operands);
  /// The operations of the framework around `op`, outermost first.
  std::vector<std::uint32_t> open_around(const NetworkOp& op, OperandsId operands);
  /// Whether the next operation adds the bias of convolution `index`, within the same call.
  bool bias_follows(std::size_t index) const;
  bool adds_parameter(const NetworkOp& op, const NetworkOp& next) const;
  void launch(const LoweredKernel& kernel);
  double gap_us(const NetworkOp& op, const BoundOp& bound) const;
  bool same_node(const NetworkOp& op) const;
  double parameters() const;

  const GenerateInput& in_;
  TraceRows rows_;
  Lowering lowering_;
  TensorMemories memories_;
  ThreadId main_, backward_, thread_;
  TimePoint now_{};  // of the thread that runs
  Phase phase_ = Phase::forward;
  TimePoint optimizer_begin_{};
  std::vector<std::uint32_t> node_rows_;
  const NetworkOp* node_ = nullptr;
  struct OpenCall {
    std::uint32_t call = no_call;
    std::vector<std::uint32_t> rows;
  };
  std::vector<OpenCall> calls_;          // outermost first
  std::vector<std::uint32_t> unbiased_;  // around a convolution whose bias follows, outermost first
  TimePoint call_end_{};
  std::vector<std::vector<std::uint32_t>> completed_;  // see completed_gradients()
  std::vector<std::uint32_t> gradients_;               // tensors that the open node completes
  std::size_t given_back_ = 0;                         // of Network::held
};

std::uint32_t Writer::open_row(std::string_view name, const NetworkOp& op, OperandsId operands) {
  const std::uint32_t row = rows_.open_op(name, thread_, now_, operands);
  rows_.trace.ops.sequence[row] = op.sequence;
  if (phase_ == Phase::backward) rows_.trace.ops.forward_thread[row] = main_thread;
  return row;
}

std::vector<std::uint32_t> Writer::open_around(const NetworkOp& op, OperandsId operands) {
  std::vector<std::uint32_t> rows;
  if (const OpRule* rule = in_.lowering.rules.find(op.name)) {
    for (const std::string& outer : rule->outer) {
      rows.push_back(open_row(outer, op, same_order(outer, op.name) ? operands : OperandsId{}));
    }
  }
  return rows;
}

bool Writer::bias_follows(std::size_t index) const {
  const std::vector<NetworkOp>& ops = in_.network.network->ops;
  if (index + 1 >= ops.size() || op_row(ops[index].name).kind != OpKind::convolution) return false;
  const NetworkOp &op = ops[index], &next = ops[index + 1];
  if (op.phase != Phase::forward || next.phase != op.phase || next.sequence != op.sequence ||
      next.call != op.call || op_row(next.name).kind != OpKind::pointwise) {
    return false;
  }
  return op.sequence >= 0 || adds_parameter(op, next);
}

/// Whether `next` adds a parameter to what `op` made: no node of autograd tells, where none is.
bool Writer::adds_parameter(const NetworkOp& op, const NetworkOp& next) const {
  const Network& network = *in_.network.network;
  if (next.module != op.module || next.arguments.size() < 2 || op.outputs.empty()) return false;
  const std::vector<std::uint32_t>& to = next.arguments[0].tensors;
  const std::vector<std::uint32_t>& added = next.arguments[1].tensors;
  if (to.size() != 1 || to[0] != op.outputs[0] || added.size() != 1) return false;
  return network.storages[network.tensors[added[0]].storage] == StorageKind::parameter;
}

/// A launch call and its work.
void Writer::launch(const LoweredKernel& kernel) {
  now_ = rows_.launch(kernel, thread_, now_, in_.eager.launch_call_us, in_.eager.memset_call_us);
}

double Writer::gap_us(const NetworkOp& op, const BoundOp& bound) const {
  const OpRow& row = op_row(op.name);
  const double gap = same_node(op) ? in_.eager.in_node_us : in_.eager.gap_us(row, op.phase);
  if (row.kind != OpKind::optimizer) return gap;
  return gap + in_.eager.list_tensor_us * static_cast<double>(bound.operands.tensors.shapes.size());
}

double Writer::parameters() const {
  const std::vector<StorageKind>& kinds = in_.network.network->storages;
  return static_cast<double>(std::count(kinds.begin(), kinds.end(), StorageKind::parameter));
}

bool Writer::same_node(const NetworkOp& op) const {
  return node_ != nullptr && op.phase == Phase::backward && op.node == node_->node &&
         op.sequence == node_->sequence;
}

/// The engine's range around a node, and the node itself; where gradients meet there is no node.
void Writer::open_node(const NetworkOp& op) {
  if (op.node.empty()) return;
  node_rows_.push_back(open_row(std::string(engine_prefix) + op.node, op, {}));
  if (op.sequence >= 0) node_rows_.push_back(open_row(op.node, op, {}));
  node_ = &op;
}

void Writer::close_node() {
  for (std::size_t i = node_rows_.size(); i-- > 0;) rows_.close_op(node_rows_[i], now_ + op_tail);
  node_rows_.clear();
  node_ = nullptr;
  write_gradients();
}

void Writer::note_gradients(std::size_t index) {
  gradients_.insert(gradients_.end(), completed_[index].begin(), completed_[index].end());
}

/// The nodes that store the gradients of parameters follow the one that computed them. Their time
/// is part of the host time between launches.
void Writer::write_gradients() {
  const TimePoint at = now_ + op_tail;
  for (const std::uint32_t t : gradients_) {
    Operands operands;
    operands.tensors.add(0, in_.network.tensors[t]);
    operands.tensors.shapes[0].memory = memories_.of(t);
    operands.arguments.resize(1);
    operands.has_shapes = true;
    const OperandsId stored = rows_.trace.operands.intern(std::move(operands));
    const std::string around = std::string(engine_prefix) + std::string(gradient_node);
    rows_.close_op(rows_.open_op(around, thread_, at, {}), at);
    rows_.close_op(rows_.open_op(gradient_node, thread_, at, stored), at);
  }
  gradients_.clear();
}

std::string optimizer_name(const Network& network) {
  std::string name = network.optimizer;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "Optimizer.step#" + name + ".step";
}

void Writer::begin_phase(Phase phase) {
  if (phase == phase_) return;
  close_node();
  end_optimizer();
  const bool backward = phase == Phase::backward;
  thread_ = backward ? backward_ : main_;
  const EagerHost& host = in_.eager;
  now_ += from_us(backward ? host.hand_off_us + host.hand_off_parameter_us * parameters()
                           : host.join_us + host.join_parameter_us * parameters());
  if (phase == Phase::optimizer) optimizer_begin_ = now_;
  phase_ = phase;
}

void Writer::close_calls(std::size_t but) {
  for (; calls_.size() > but; calls_.pop_back()) {
    const std::vector<std::uint32_t>& rows = calls_.back().rows;
    for (std::size_t i = rows.size(); i-- > 0;) rows_.close_op(rows[i], call_end_);
  }
}

void Writer::follow_calls(const NetworkOp& op) {
  const Network& network = *in_.network.network;
  const std::vector<std::uint32_t> around = calls_around(network, op);
  std::size_t same = 0;
  while (same < around.size() && same < calls_.size() && around[same] == calls_[same].call) ++same;
  close_calls(same);
  for (; same < around.size(); ++same) {
    const std::uint32_t c = around[same];
    const NetworkOp& call = network.calls[c];
    const OperandsId operands =
        rows_.trace.operands.intern(memories_.operands(call, in_.network.calls[c]));
    OpenCall& open = calls_.emplace_back(OpenCall{c, open_around(call, operands)});
    open.rows.push_back(open_row(call.name, call, operands));
  }
}

/// With what is given back behind the operation, later than its last use.
Operands Writer::operands_at(std::size_t index) {
  Operands out = memories_.operands(in_.network.network->ops[index], in_.network.ops[index]);
  const auto& held = in_.network.network->held;
  for (; held && given_back_ < held->size() && (*held)[given_back_].until == index; ++given_back_) {
    const std::uint32_t tensor = (*held)[given_back_].tensor;
    out.dropped.push_back(in_.network.tensors[tensor]);
    out.dropped.back().memory = memories_.of(tensor);
  }
  return out;
}

void Writer::write_op(std::size_t index) {
  const NetworkOp& op = in_.network.network->ops[index];
  const BoundOp& bound = in_.network.ops[index];
  begin_phase(op.phase);
  const double gap = gap_us(op, bound);
  if (!same_node(op)) close_node();
  const TimePoint first_launch = now_ + from_us(gap);
  now_ = first_launch - from_us(gap * outer_share);
  follow_calls(op);
  if (op.phase == Phase::backward && node_ == nullptr) open_node(op);
  const OperandsId operands = rows_.trace.operands.intern(operands_at(index));
  std::vector<std::uint32_t> rows =
      unbiased_.empty() ? open_around(op, operands) : std::exchange(unbiased_, {});
  now_ = first_launch - from_us(gap * inner_share);
  rows.push_back(open_row(op.name, op, operands));
  now_ = first_launch;
  bool first = true;
  for (const LoweredKernel& kernel : lowering_.kernels(op, bound, rows_.trace.losses)) {
    if (!first) now_ += from_us(in_.eager.next_launch_us);
    first = false;
    launch(kernel);
  }
  note_gradients(index);
  if (op_row(op.name).is(waits)) now_ = rows_.wait_for_device(thread_, now_);
  rows_.close_op(rows.back(), now_ + op_tail / 2);
  rows.pop_back();
  if (bias_follows(index)) unbiased_ = std::move(rows), rows.clear();
  for (std::size_t i = rows.size(); i-- > 0;) rows_.close_op(rows[i], now_ + op_tail / 2);
  call_end_ = now_ + op_tail / 2;
}

/// Networks that compete have an optimizer each, in turns.
void Writer::end_optimizer() {
  if (phase_ != Phase::optimizer) return;
  rows_.add_note(optimizer_name(*in_.network.network), main_, optimizer_begin_, now_, -1);
}

Trace Writer::write() {
  thread_ = main_;
  const TimePoint begin = now_;
  const bool trains = in_.network.network->task == Task::train;
  now_ += from_us(in_.eager.step_begin_us +
                  (trains ? in_.eager.step_begin_parameter_us * parameters() : 0));
  for (std::size_t i = 0; i < in_.network.ops.size(); ++i) write_op(i);
  close_calls(0);
  close_node();
  if (phase_ == Phase::backward) begin_phase(Phase::optimizer);
  now_ += op_tail;
  end_optimizer();
  rows_.add_note("ProfilerStep#0", main_, begin, now_ + op_tail, 0);
  return rows_.finish();
}

}  // namespace

Trace generate_trace(const GenerateInput& input) {
  const bool queued = input.network.network->framework == Framework::tensorflow;
  return queued ? generate_executor_trace(input) : Writer(input).write();
}

}  // namespace tandem
