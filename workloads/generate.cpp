#include "workloads/generate.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "sim/trace/trace_builder.h"

namespace tandem {
namespace {

constexpr std::int64_t process = 1, main_thread = 1, backward_thread = 2, stream_number = 7;
constexpr std::string_view engine_prefix = "autograd::engine::evaluate_function: ";
constexpr Duration op_tail = from_us(0.4);  // an operation ends shortly after its last call
/// Shares of the host time before a launch in which an operation and its inner one are open.
constexpr double outer_share = 0.6, inner_share = 0.3;

/// Writes the rows of one step in the order of time.
class Writer {
 public:
  explicit Writer(const GenerateInput& input)
      : in_(input),
        lowering_(input.lowering),
        builder_(trace_, [] { return std::string("the generated step"); }) {
    const GpuArch& gpu = input.lowering.gpu;
    trace_.path = input.network.network->path;
    trace_.format = "network";
    trace_.framework = to_string(input.network.network->framework);
    trace_.devices.push_back({0, gpu.aliases.empty() ? gpu.display_name : gpu.aliases.front(),
                              gpu.memory_bytes, gpu.compute_major, gpu.compute_minor,
                              gpu.sm_count});
    main_ = builder_.thread(process, main_thread);
    backward_ = builder_.thread(process, backward_thread);
    stream_ = builder_.stream({0, 1, stream_number});
  }

  Trace write();

 private:
  void write_op(std::size_t index);
  void begin_phase(Phase phase);
  void open_node(const NetworkOp& op);
  void close_node();
  std::uint32_t open_row(std::string_view name, const NetworkOp& op, OperandsId operands);
  void close_row(std::uint32_t row, TimePoint end);
  void launch(const LoweredKernel& kernel);
  void wait_for_device();
  double gap_us(const NetworkOp& op, const BoundOp& bound) const;
  bool same_node(const NetworkOp& op) const;
  double parameters() const;
  void annotate(std::string_view name, TimePoint begin, TimePoint end, std::int64_t step);
  std::uint32_t add_call(std::string_view name, ApiKind api, double us);

  const GenerateInput& in_;
  Trace trace_;
  Lowering lowering_;
  TraceBuilder builder_;
  ThreadId main_, backward_, thread_;
  StreamId stream_;
  TimePoint now_{};      // of the thread that runs
  TimePoint device_{};   // when the device is free
  bool copied_ = false;  // the last device work was no kernel
  Phase phase_ = Phase::forward;
  TimePoint optimizer_begin_{};
  std::vector<std::uint32_t> node_rows_;
  const NetworkOp* node_ = nullptr;
  std::int64_t correlation_ = 0;
};

std::uint32_t Writer::open_row(std::string_view name, const NetworkOp& op, OperandsId operands) {
  HostOps& ops = trace_.ops;
  const bool node = phase_ == Phase::backward;
  ops.begin.push_back(now_);
  ops.duration.push_back(Duration::zero());
  ops.thread.push_back(thread_);
  ops.name.push_back(builder_.text(name));
  ops.external_id.push_back(static_cast<std::int64_t>(ops.begin.size()));
  ops.sequence.push_back(op.sequence);
  ops.forward_thread.push_back(node ? main_thread : 0);
  ops.operands.push_back(operands);
  return static_cast<std::uint32_t>(ops.begin.size() - 1);
}

void Writer::close_row(std::uint32_t row, TimePoint end) {
  trace_.ops.duration[row] = end - trace_.ops.begin[row];
}

std::uint32_t Writer::add_call(std::string_view name, ApiKind api, double us) {
  RuntimeCalls& calls = trace_.calls;
  calls.begin.push_back(now_);
  calls.duration.push_back(from_us(us));
  calls.thread.push_back(thread_);
  calls.name.push_back(builder_.text(name));
  calls.api.push_back(api);
  calls.correlation.push_back(++correlation_);
  calls.external_id.push_back(static_cast<std::int64_t>(trace_.ops.size()));
  now_ += from_us(us);
  return static_cast<std::uint32_t>(calls.size() - 1);
}

/// A launch call and its work, which starts when stream and launch path allow.
void Writer::launch(const LoweredKernel& kernel) {
  const bool is_kernel = kernel.kind == ActivityKind::kernel;
  if (is_kernel) {
    add_call("cudaLaunchKernel", ApiKind::launch_kernel, in_.eager.launch_call_us);
  } else {
    const bool set = kernel.kind == ActivityKind::memset;
    add_call(set ? "cudaMemsetAsync" : "cudaMemcpyAsync",
             set ? ApiKind::memset : ApiKind::memcpy_async, in_.eager.memset_call_us);
  }
  const HostModel& host = in_.host;
  const bool far = device_ - now_ > microseconds(100);
  const double gap = copied_ || !is_kernel ? host.memset_gap_us
                     : far                 ? host.kernel_gap_far_us
                                           : host.kernel_gap_near_us;
  const TimePoint begin = std::max(now_ + from_us(host.launch_latency_us), device_ + from_us(gap));
  Activities& a = trace_.activities;
  a.begin.push_back(begin);
  a.duration.push_back(from_us(kernel.duration_us));
  a.kind.push_back(kernel.kind);
  a.stream.push_back(stream_);
  a.name.push_back(builder_.text(kernel.name));
  a.correlation.push_back(correlation_);
  a.external_id.push_back(static_cast<std::int64_t>(trace_.ops.size()));
  a.geometry.push_back(is_kernel ? builder_.geometry(kernel.geometry) : GeometryId{});
  a.bytes.push_back(kernel.bytes);
  device_ = begin + from_us(kernel.duration_us);
  copied_ = !is_kernel;
}

void Writer::wait_for_device() {
  const TimePoint end = std::max(now_, device_ + from_us(in_.host.sync_return_us));
  add_call("cudaStreamSynchronize", ApiKind::stream_synchronize, to_us(end - now_));
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
  for (std::size_t i = node_rows_.size(); i-- > 0;) close_row(node_rows_[i], now_ + op_tail);
  node_rows_.clear();
  node_ = nullptr;
}

void Writer::begin_phase(Phase phase) {
  if (phase == phase_) return;
  close_node();
  const bool backward = phase == Phase::backward;
  // PyTorch's engine has a thread of its own; TensorFlow's tape runs where Python does.
  const bool engine = in_.network.network->framework == Framework::pytorch;
  thread_ = backward && engine ? backward_ : main_;
  const EagerHost& host = in_.eager;
  now_ += from_us(backward ? host.hand_off_us + host.hand_off_parameter_us * parameters()
                           : host.join_us + host.join_parameter_us * parameters());
  if (phase == Phase::optimizer) optimizer_begin_ = now_;
  phase_ = phase;
}

void Writer::write_op(std::size_t index) {
  const NetworkOp& op = in_.network.network->ops[index];
  const BoundOp& bound = in_.network.ops[index];
  begin_phase(op.phase);
  const double gap = gap_us(op, bound);
  if (!same_node(op)) close_node();
  const TimePoint first_launch = now_ + from_us(gap);
  now_ = first_launch - from_us(gap * outer_share);
  if (op.phase == Phase::backward && node_ == nullptr) open_node(op);
  const OperandsId operands = trace_.operands.intern(bound.operands);
  std::vector<std::uint32_t> rows;
  if (const OpRule* rule = in_.lowering.rules.find(op.name)) {
    for (const std::string& outer : rule->outer) rows.push_back(open_row(outer, op, operands));
  }
  now_ = first_launch - from_us(gap * inner_share);
  rows.push_back(open_row(op.name, op, operands));
  now_ = first_launch;
  bool first = true;
  for (const LoweredKernel& kernel : lowering_.kernels(op, bound, trace_.losses)) {
    if (!first) now_ += from_us(in_.eager.next_launch_us);
    first = false;
    launch(kernel);
  }
  if (op_row(op.name).is(waits) && !bound.on_host) wait_for_device();
  for (std::size_t i = rows.size(); i-- > 0;) close_row(rows[i], now_ + op_tail / 2);
}

void Writer::annotate(std::string_view name, TimePoint begin, TimePoint end, std::int64_t step) {
  Annotations& notes = trace_.annotations;
  notes.begin.push_back(begin);
  notes.duration.push_back(end - begin);
  notes.thread.push_back(main_);
  notes.name.push_back(builder_.text(name));
  notes.step.push_back(step);
}

std::string optimizer_name(const Network& network) {
  std::string name = network.optimizer;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return "Optimizer.step#" + name + ".step";
}

Trace Writer::write() {
  thread_ = main_;
  const TimePoint begin = now_;
  const bool trains = in_.network.network->task == Task::train;
  now_ += from_us(in_.eager.step_begin_us +
                  (trains ? in_.eager.step_begin_parameter_us * parameters() : 0));
  for (std::size_t i = 0; i < in_.network.ops.size(); ++i) write_op(i);
  close_node();
  if (phase_ == Phase::backward) begin_phase(Phase::optimizer);
  now_ += op_tail;
  if (phase_ == Phase::optimizer) {
    annotate(optimizer_name(*in_.network.network), optimizer_begin_, now_, -1);
  }
  annotate("ProfilerStep#0", begin, now_ + op_tail, 0);
  builder_.finish();
  return std::move(trace_);
}

}  // namespace

Trace generate_trace(const GenerateInput& input) { return Writer(input).write(); }

}  // namespace tandem
