#include "models/whatif/edit/step_edit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/kernel/launch_rules.h"
#include "models/whatif/edit/edited_rows.h"
#include "models/whatif/edit/step_edges.h"

namespace tandem {

namespace {

/// What stays of a call whose works are all dropped: the wait for another thread, and the host time
/// before the call, unless that goes `with_gap`.
HostItem without_call(const HostItem& item, bool with_gap) {
  HostItem rest;
  rest.gap = with_gap ? Duration::zero() : item.gap;
  rest.input = with_gap ? Duration::zero() : item.input;
  rest.thread = item.thread;
  rest.after = item.after;
  rest.wake = item.wake;
  rest.own_gap = item.own_gap;
  return rest;
}

}  // namespace

/// Walks the items of the old plan and writes the new one.
struct StepEdit::Builder {
  StepEdit& edit;
  const Plan& old;
  Trace& trace;
  Plan plan;
  EditedRows rows;
  std::vector<std::uint32_t> new_item;                  // per old item
  std::vector<std::uint32_t> new_work;                  // per old work; no_index: dropped
  std::vector<WorkOrigin> origins;                      // per new work
  std::vector<std::vector<std::size_t>> before, after;  // insertions per old work
  std::vector<std::uint32_t> inserted;                  // new works per insertion

  explicit Builder(StepEdit& e)
      : edit(e),
        old(e.step_.plan),
        trace(e.step_.trace),
        rows(e.step_),
        new_item(old.items.size(), no_index),
        new_work(old.works.size(), no_index),
        before(old.works.size()),
        after(old.works.size()),
        inserted(e.insertions_.size(), no_index) {
    plan.threads = old.threads;
    plan.streams = old.streams;
    plan.queue_depth = old.queue_depth;
    for (std::size_t i = 0; i < edit.insertions_.size(); ++i) {
      const Insertion& in = edit.insertions_[i];
      (in.after ? after : before)[in.work].push_back(i);
    }
  }

  void append_work(DeviceWork work, std::uint32_t source) {
    work.source = source;
    work.duration = trace.activities.duration[source];
    work.item = static_cast<std::uint32_t>(plan.items.size());
    plan.works.push_back(work);
  }

  void append_old_work(std::uint32_t w) {
    new_work[w] = static_cast<std::uint32_t>(plan.works.size());
    origins.push_back({w, true});
    append_work(old.works[w], old.works[w].source);
  }

  void insert_work(const Insertion& in, std::int64_t place) {
    inserted[static_cast<std::size_t>(&in - edit.insertions_.data())] =
        static_cast<std::uint32_t>(plan.works.size());
    origins.push_back({in.work, !in.after});
    DeviceWork kernel = old.works[in.work];
    kernel.engine = DeviceEngine::compute;  // beside a copy, too
    append_work(kernel, rows.add(in.kernel, kernel.source, place));
  }

  void insert_item(const Insertion& in, std::int64_t place) {
    const HostItem& anchor = old.items[old.works[in.work].item];
    HostItem item;
    item.thread = anchor.thread;
    item.first_work = static_cast<std::uint32_t>(plan.works.size());
    item.source = no_index;
    if (in.sync) {
      item.kind = ItemKind::sync;
      item.wait = WaitFor::all_work;
      item.gap = from_us(in.kernel.host_us);
      item.return_delay = from_us(in.return_us);
    } else {
      item.kind = ItemKind::launch;
      item.call = item.submit = from_us(edit.launch_call_us_);
      item.gap = from_us(std::max(0.0, in.kernel.host_us - edit.launch_call_us_));
      item.work_count = 1;
      if (anchor.wait == WaitFor::own_work) {
        item.wait = anchor.wait;
        item.return_delay = anchor.return_delay;
      }
      insert_work(in, place);
      item.source = static_cast<std::uint32_t>(trace.calls.size() - 1);
    }
    plan.items.push_back(item);
  }

  void insert_items(const std::vector<std::size_t>& which, bool is_after) {
    const auto n = static_cast<std::int64_t>(which.size());
    const std::size_t first = plan.items.size();
    for (std::int64_t k = 0; k < n; ++k) {
      const Insertion& in = edit.insertions_[which[static_cast<std::size_t>(k)]];
      insert_item(in, is_after ? k + 1 : k - n);
    }
    if (is_after || n == 0) return;
    // What comes first waits for the hand-off from another thread.
    const Insertion& in = edit.insertions_[which.front()];
    plan.items[first].after = old.items[old.works[in.work].item].after;
  }

  void drop_rows(std::uint32_t w) { rows.drop_activity(old.works[w].source); }

  HostItem drop_call(const HostItem& item) {
    if (item.source != no_index) rows.drop_call(item.source);
    bool with_gap = true;
    for (std::uint32_t k = 0; k < item.work_count; ++k) {
      with_gap = with_gap && edit.gap_dropped_[item.first_work + k];
    }
    return without_call(item, with_gap);
  }

  /// A launch of one kernel: neighbours become launches of their own.
  void copy_launch(const HostItem& item);
  /// Several kernels behind one call: new ones join them.
  void copy_group(const HostItem& item);

  void copy_items() {
    for (std::uint32_t i = 0; i < old.items.size(); ++i) {
      const HostItem& item = old.items[i];
      if (item.work_count == 1 && item.kind != ItemKind::graph_launch) {
        copy_launch(item);
        insert_items(after[item.first_work], true);
        new_item[i] = static_cast<std::uint32_t>(plan.items.size() - 1);
      } else {
        copy_group(item);
        new_item[i] = static_cast<std::uint32_t>(plan.items.size() - 1);
      }
    }
  }

  void renumber() {
    for (HostItem& item : plan.items) {
      if (item.after != no_index) item.after = new_item[item.after];
      if (item.wait != WaitFor::work) continue;
      const WorkEdge awaited = stand_in(old, new_work, item.wait_work);
      item.wait_work = awaited.previous_step ? no_index : awaited.work;
      if (item.wait_work == no_index) item.wait = WaitFor::nothing;
    }
    move_edges(old, new_work, origins, plan);
  }
};

void StepEdit::Builder::copy_launch(const HostItem& item) {
  const std::uint32_t w = item.first_work;
  insert_items(before[w], false);
  HostItem kept = edit.dropped_[w] ? drop_call(item) : item;
  kept.first_work = static_cast<std::uint32_t>(plan.works.size());
  if (edit.dropped_[w]) {
    drop_rows(w);
  } else {
    append_old_work(w);
  }
  plan.items.push_back(kept);
}

void StepEdit::Builder::copy_group(const HostItem& item) {
  const auto first = static_cast<std::uint32_t>(plan.works.size());
  for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
    const auto n = static_cast<std::int64_t>(before[w].size());
    for (std::int64_t k = 0; k < n; ++k) {
      const Insertion& in = edit.insertions_[before[w][static_cast<std::size_t>(k)]];
      if (!in.sync) insert_work(in, k - n);
    }
    if (edit.dropped_[w]) {
      drop_rows(w);
    } else {
      append_old_work(w);
    }
    std::int64_t place = 1;
    for (const std::size_t i : after[w]) {
      if (!edit.insertions_[i].sync) insert_work(edit.insertions_[i], place++);
    }
  }
  const std::uint32_t count = static_cast<std::uint32_t>(plan.works.size()) - first;
  HostItem kept = item.work_count > 0 && count == 0 ? drop_call(item) : item;
  kept.first_work = first;
  kept.work_count = count;
  for (std::uint32_t k = 0; k < count && item.kind == ItemKind::graph_launch; ++k) {
    plan.works[first + k].takes_slot = k + 1 == count;
  }
  plan.items.push_back(kept);
}

LaunchGeometry flat_geometry(double blocks, std::uint32_t threads) {
  LaunchGeometry g;
  g.grid[0] = static_cast<std::uint32_t>(std::clamp(std::ceil(blocks), 1.0, 2147483647.0));
  g.block[0] = threads;
  g.registers_per_thread = 32;
  return g;
}

LaunchGeometry pointwise_geometry(double elements) {
  return flat_geometry(elements / (elements < 4e6 ? 512 : 1024), 128);
}

LaunchGeometry chunks_geometry(double elements) {
  constexpr std::uint32_t threads = 512;  // ATen, MultiTensorApply.cuh: kBlockSize
  return flat_geometry(elements / double(multi_tensor_chunk), threads);
}

LaunchGeometry product_geometry(std::int64_t batch, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t tile = 64;
  const auto tiles = [](std::int64_t n) {
    return static_cast<std::uint32_t>((n + tile - 1) / tile);
  };
  LaunchGeometry g;
  g.grid = {tiles(rows), tiles(columns), static_cast<std::uint32_t>(batch)};
  g.block = {128, 1, 1};
  g.registers_per_thread = 128;
  return g;
}

Operands product_factors(std::int64_t batch, std::int64_t rows, std::int64_t inner,
                         std::int64_t columns, DataType type) {
  const auto matrix = [&](std::int64_t height, std::int64_t width) {
    TensorShape shape;
    shape.rank = 3;
    shape.dims[0] = batch, shape.dims[1] = height, shape.dims[2] = width;
    shape.type = type;
    return shape;
  };
  Operands out;
  out.has_shapes = true;
  out.tensors.add(out.argument_count++, matrix(rows, inner));
  out.tensors.add(out.argument_count++, matrix(inner, columns));
  return out;
}

LaunchGeometry attention_geometry(const AttentionShape& shape) {
  constexpr std::int64_t queries = 64;
  constexpr std::uint32_t threads = 128;
  return {{grid_side(ceil_div(shape.queries, queries) * shape.heads), 1, 1}, {threads, 1, 1}, 0, 0};
}

Operands attention_operands(const AttentionShape& shape, DataType type) {
  Operands out;
  out.has_shapes = true;
  for (const std::int64_t rows : {shape.queries, shape.keys, shape.keys}) {
    TensorShape tensor;
    tensor.rank = 4;
    tensor.dims[0] = 1, tensor.dims[1] = shape.heads;
    tensor.dims[2] = rows, tensor.dims[3] = shape.width;
    tensor.type = type;
    out.tensors.add(out.argument_count++, tensor);
  }
  return out;
}

StepEdit::StepEdit(Step step, double launch_call_us)
    : step_(std::move(step)),
      launch_call_us_(launch_call_us),
      dropped_(step_.plan.works.size(), false),
      gap_dropped_(step_.plan.works.size(), false) {}

void StepEdit::drop(std::uint32_t work, bool with_gap) {
  dropped_[work] = true;
  gap_dropped_[work] = with_gap;
}

void StepEdit::set_duration(std::uint32_t work, Duration duration) {
  step_.trace.activities.duration[step_.plan.works[work].source] = duration;
}

void StepEdit::set_kernel(std::uint32_t work, const PredictedKernel& kernel) {
  const std::uint32_t activity = step_.plan.works[work].source;
  const StringId name = step_.trace.strings.intern(kernel.name);
  step_.trace.activities.name[activity] = name;
  step_.kernels.set(activity, name, kernel.kernel);
}

void StepEdit::set_geometry(std::uint32_t work, const LaunchGeometry& geometry) {
  step_.trace.activities.geometry[step_.plan.works[work].source] =
      intern(geometry, step_.trace.geometries);
}

void StepEdit::set_operands(std::uint32_t op, Operands operands) {
  step_.trace.ops.operands[op] = step_.trace.operands.intern(std::move(operands));
}

void StepEdit::set_gap(std::uint32_t item, Duration gap) {
  HostItem& i = step_.plan.items[item];
  i.gap = gap;
  i.input = std::min(i.input, gap);
}

void StepEdit::drop_wait(std::uint32_t item) {
  HostItem& i = step_.plan.items[item];
  i.wait = WaitFor::nothing;
  i.call = i.submit = i.return_delay = Duration::zero();
  i.gap = i.input;  // waiting for input is not asking
}

std::size_t StepEdit::insert(std::uint32_t work, bool after, NewKernel kernel) {
  insertions_.push_back({work, after, false, std::move(kernel), 0});
  return insertions_.size() - 1;
}

std::size_t StepEdit::insert_before(std::uint32_t work, NewKernel kernel) {
  return insert(work, false, std::move(kernel));
}

std::size_t StepEdit::insert_after(std::uint32_t work, NewKernel kernel) {
  return insert(work, true, std::move(kernel));
}

void StepEdit::insert_sync_after(std::uint32_t work, double host_us, double return_us) {
  Insertion in;
  in.work = work;
  in.after = in.sync = true;
  in.kernel.host_us = host_us;
  in.return_us = return_us;
  insertions_.push_back(std::move(in));
}

Step StepEdit::finish(std::vector<std::uint32_t>* inserted) && {
  Builder build(*this);
  build.copy_items();
  build.renumber();
  build.rows.finish(build.plan);
  step_.plan = std::move(build.plan);
  step_.links = link_trace(step_.trace);
  if (inserted != nullptr) *inserted = std::move(build.inserted);
  return std::move(step_);
}

}  // namespace tandem
