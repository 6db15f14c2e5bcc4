#include "workloads/executor_program.h"

#include <algorithm>

#include "models/ops/op_table.h"
#include "models/runtime/executor_modes.h"
#include "workloads/trace_rows.h"

namespace tandem {
namespace {

constexpr std::int64_t program_thread = 1, executor_thread = 2;
constexpr double bytes_per_us_of_gb_per_s = 1e3;
constexpr std::int64_t value_bytes = 4096;  // a result that the program reads: small

/// Walks the program and the executor at once: the queue is first in, first out.
class ExecutorWriter {
 public:
  explicit ExecutorWriter(const GenerateInput& input)
      : in_(input),
        model_(input.host.executor),
        rows_(input),
        lowering_(input.lowering),
        reads_(input.host.executor),
        program_(rows_.thread(program_thread, "python")),
        executor_(rows_.thread(executor_thread, "eager_async_executor")) {}
  Trace write();

 private:
  void copy_inputs();
  void write_op(std::size_t index);
  double gap_us(const NetworkOp& op) const;
  void wait_for(TimePoint value);
  void read_value();
  std::uint32_t enqueue(std::string_view name, OperandsId operands, double gap_us);
  TimePoint node_begin() const;
  void add_node(std::uint32_t op, TimePoint begin, TimePoint end);
  TimePoint copy(std::string_view name, std::int64_t bytes, ThreadId thread, TimePoint begin);

  const GenerateInput& in_;
  const ExecutorModel& model_;
  TraceRows rows_;
  Lowering lowering_;
  ReadBacks reads_;
  ThreadId program_, executor_;
  TimePoint now_{};   // of the program
  TimePoint free_{};  // of the executor
  const NetworkOp* before_ = nullptr;
};

/// The program waits for a node if it is not done yet.
void ExecutorWriter::wait_for(TimePoint value) {
  if (value <= now_) return;
  const TimePoint end = value + from_us(model_.value_return_us);
  ValueWaits& waits = rows_.trace.value_waits;
  waits.begin.push_back(now_);
  waits.duration.push_back(end - now_);
  waits.thread.push_back(program_);
  now_ = end;
}

std::uint32_t ExecutorWriter::enqueue(std::string_view name, OperandsId operands, double gap_us) {
  now_ += from_us(gap_us);
  const std::uint32_t op = rows_.open_op(name, program_, now_, operands);
  now_ += from_us(model_.enqueue_us);
  rows_.close_op(op, now_);
  return op;
}

/// When the executor begins what was enqueued last: an idle one has to wake up.
TimePoint ExecutorWriter::node_begin() const {
  return free_ <= now_ ? now_ + from_us(model_.wake_us) : free_ + from_us(model_.pop_us);
}

void ExecutorWriter::add_node(std::uint32_t op, TimePoint begin, TimePoint end) {
  ExecutorNodes& nodes = rows_.trace.nodes;
  nodes.begin.push_back(begin);
  nodes.duration.push_back(end - begin);
  nodes.thread.push_back(executor_);
  nodes.op.push_back(op);
  free_ = end;
}

/// A copy from or to pageable memory, called on `thread`, which waits for it; returns when it is
/// back.
TimePoint ExecutorWriter::copy(std::string_view name, std::int64_t bytes, ThreadId thread,
                               TimePoint begin) {
  LoweredKernel copy;
  copy.kind = ActivityKind::memcpy;
  copy.name = name;
  copy.bytes = bytes;
  copy.duration_us = static_cast<double>(bytes) / (model_.copy_gb_per_s * bytes_per_us_of_gb_per_s);
  const double call_us = in_.host.launch_call_us;
  const TimePoint called = rows_.launch(copy, thread, begin, call_us, call_us);
  return rows_.wait_for_device(thread, called);
}

/// Inputs come from the host; the executor waits for each copy.
void ExecutorWriter::copy_inputs() {
  const Network& network = *in_.network.network;
  for (std::size_t s = 0; s < network.storages.size(); ++s) {
    if (network.storages[s] != StorageKind::input) continue;
    const std::uint32_t op = enqueue("EagerCopyToDevice", {}, model_.op_gap_us);
    const TimePoint begin = node_begin();
    const TimePoint end = copy("Memcpy HtoD (Pageable -> Device)", in_.network.storage_bytes[s],
                               executor_, begin + from_us(model_.dequeue_us));
    add_node(op, begin, end);
  }
}

/// The program fetches a result of the device.
void ExecutorWriter::read_value() {
  wait_for(free_);
  now_ = copy("Memcpy DtoH (Device -> Pageable)", value_bytes, program_, now_);
}

/// What the program does before it enqueues an operation.
double ExecutorWriter::gap_us(const NetworkOp& op) const {
  if (op_row(op.name).kind == OpKind::optimizer) return model_.update_gap_us;
  const bool same_layer = before_ != nullptr && before_->module == op.module;
  return same_layer ? model_.op_gap_us : model_.layer_gap_us;
}

void ExecutorWriter::write_op(std::size_t index) {
  const NetworkOp& op = in_.network.network->ops[index];
  const BoundOp& bound = in_.network.ops[index];
  if (op_row(op.name).is(waits)) {
    if (bound.on_host) return wait_for(free_);
    return read_value();
  }
  if (before_ != nullptr && reads_.next(before_->name, op.name)) wait_for(free_);
  const double gap = gap_us(op);
  before_ = &op;
  const std::uint32_t row = enqueue(op.name, rows_.trace.operands.intern(bound.operands), gap);
  const TimePoint begin = node_begin();
  const std::vector<LoweredKernel>& kernels = lowering_.kernels(op, bound, rows_.trace.losses);
  TimePoint end = begin;
  end += kernels.empty() ? from_us(model_.dequeue_us) + from_us(model_.cpu_kernel_us)
                         : from_us(model_.launch_us);
  for (const LoweredKernel& kernel : kernels) {
    end = rows_.launch(kernel, executor_, end, in_.host.launch_call_us, in_.host.launch_call_us);
  }
  add_node(row, begin, end);
}

Trace ExecutorWriter::write() {
  now_ += from_us(model_.step_begin_us);
  copy_inputs();
  for (std::size_t i = 0; i < in_.network.ops.size(); ++i) write_op(i);
  if (before_ != nullptr && !op_row(in_.network.network->ops.back().name).is(waits)) read_value();
  rows_.add_note("step", program_, TimePoint{}, now_, 0);
  return rows_.finish();
}

}  // namespace

Trace generate_executor_trace(const GenerateInput& input) { return ExecutorWriter(input).write(); }

}  // namespace tandem
