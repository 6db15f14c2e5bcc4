// How a what-if adds and removes kernels of a step, with their host work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel/library_names.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/step/step.h"

namespace tandem {

/// A kernel that the measured step does not have.
struct NewKernel {
  PredictedKernel kernel;
  /// Operation it belongs to, e.g. "aten::_to_copy"; empty: that of the work beside it.
  std::string op;
  Operands operands;  // of the operation
  LaunchGeometry geometry;
  double duration_us = 0;
  double host_us = 0;  // from the item before to the end of the launch call; >= the launch call
};

/// Of a kernel of `blocks`, rounded up, of so many threads each.
LaunchGeometry flat_geometry(double blocks, std::uint32_t threads);
/// Of a kernel on elements one by one: a thread takes one or a few.
LaunchGeometry pointwise_geometry(double elements);
/// Of a kernel on lists of tensors: a block for each chunk of their elements.
LaunchGeometry chunks_geometry(double elements);
/// Of matrix products: tiles of 64 x 64, a block each.
LaunchGeometry product_geometry(std::int64_t batch, std::int64_t rows, std::int64_t columns);
/// Of a batch of products, [rows][inner] times [inner][columns].
Operands product_factors(std::int64_t batch, std::int64_t rows, std::int64_t inner,
                         std::int64_t columns, DataType type);
/// Of fused attention: a block for 64 queries of a head (PyTorch, memory-efficient attention).
LaunchGeometry attention_geometry(const AttentionShape& shape);
/// Queries, keys and values, [1][heads][rows][width].
Operands attention_operands(const AttentionShape& shape, DataType type);

/// Collects changes of one step and applies them at once. Row and index numbers are those of the
/// step it was made from until finish().
class StepEdit {
 public:
  /// `launch_call_us`: host time of a launch call (HostModel).
  StepEdit(Step step, double launch_call_us);

  const Step& step() const { return step_; }

  /// The work vanishes, and its launch call with the last of the call's works. The host time before
  /// the call stays, unless all of them go `with_gap`.
  void drop(std::uint32_t work, bool with_gap = false);
  void set_duration(std::uint32_t work, Duration duration);
  void set_kernel(std::uint32_t work, const PredictedKernel& kernel);
  void set_geometry(std::uint32_t work, const LaunchGeometry& geometry);
  /// What an operation (row of step().trace.ops) is called with.
  void set_operands(std::uint32_t op, Operands operands);
  /// Host time before an item.
  void set_gap(std::uint32_t item, Duration gap);
  /// The host goes on at once, and spends no time on asking.
  void drop_wait(std::uint32_t item);

  /// On the stream and host thread of `work`, directly before or after it; several calls for the
  /// same place keep their order. A dropped work may be the anchor. In a CUDA graph the kernel
  /// becomes a node of the same launch. Threads that go on behind a launch of another thread do so
  /// behind what is inserted after it, too. The number of the insertion, from 0.
  std::size_t insert_before(std::uint32_t work, NewKernel kernel);
  std::size_t insert_after(std::uint32_t work, NewKernel kernel);
  /// A host wait for all earlier work of the step (e.g. `.item()`), after the item of `work`.
  void insert_sync_after(std::uint32_t work, double host_us, double return_us);

  /// The edited step. The trace has rows for what was added (an operation, a call and an
  /// activity each); rows of what was dropped are gone. `inserted`: gets the works of the
  /// insertions by their numbers; no_index: a wait.
  Step finish(std::vector<std::uint32_t>* inserted = nullptr) &&;

 private:
  struct Insertion {
    std::uint32_t work = 0;
    bool after = false;
    bool sync = false;
    NewKernel kernel;
    double return_us = 0;
  };
  struct Builder;

  std::size_t insert(std::uint32_t work, bool after, NewKernel kernel);

  Step step_;
  double launch_call_us_;
  std::vector<bool> dropped_;      // per work
  std::vector<bool> gap_dropped_;  // per work
  std::vector<Insertion> insertions_;
};

}  // namespace tandem
