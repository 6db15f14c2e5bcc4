#include "models/whatif/precision/scaler.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "models/kernel/launch_rules.h"
#include "models/kernel/time/rates.h"

namespace tandem {
namespace {

struct Backward {
  std::uint32_t first = no_row, last = no_row;
};

/// Of each pass that has one.
std::vector<Backward> backward_ranges(const Dataflow& flow) {
  std::vector<Backward> ranges;
  std::uint32_t pass = no_row;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (flow.ops[i].phase != FlowPhase::backward) continue;
    if (flow.ops[i].pass != pass) ranges.push_back({i, i});
    pass = flow.ops[i].pass;
    ranges.back().last = i;
  }
  return ranges;
}

std::int64_t largest(const Dataflow& flow, const FlowOp& op) {
  std::int64_t elements = 0;
  for (const FlowUse& use : flow.inputs_of(op)) {
    elements = std::max(elements, flow.tensors[use.tensor].elements);
  }
  for (const std::uint32_t t : flow.outputs_of(op)) {
    elements = std::max(elements, flow.tensors[t].elements);
  }
  return elements;
}

NewKernel scalar_kernel(const RetimeContext& c, const AddedHost& host, LibraryUse use,
                        const char* op) {
  NewKernel k;
  k.kernel = c.names.kernel(use);
  k.op = op;
  k.geometry.block[0] = 128;
  k.duration_us = c.law.scalar_us;
  k.host_us = host.us(c.law.scalar_host_ratio);
  return k;
}

/// Between backward pass and optimizer, on the optimizer's thread where there is one. The host
/// waits behind the first kernel of the optimizer, which makes no difference that can be seen.
void insert_verdict(const Dataflow& flow, const Backward& range, const HostModel& host,
                    std::vector<NewKernel> kernels, StepEdit& edit) {
  const std::uint32_t next = range.last + 1;
  const bool optimizer = next < flow.ops.size();
  const std::uint32_t at = optimizer ? flow.works_of(flow.ops[next]).front()
                                     : flow.works_of(flow.ops[range.last]).back();
  for (NewKernel& k : kernels) {
    if (optimizer) {
      edit.insert_before(at, std::move(k));
    } else {
      edit.insert_after(at, std::move(k));
    }
  }
  edit.insert_sync_after(at, host.sync_call_us, host.sync_return_us);
}

/// Sizes of the gradients that meet another one of the same pass.
std::unordered_set<std::int64_t> summed_gradients(const Dataflow& flow) {
  std::unordered_set<std::int64_t> sizes;
  for (const FlowOp& op : flow.ops) {
    if (op.pass > 0) continue;  // all gradients meet those of the pass before
    if (op.phase != FlowPhase::backward || !op.row->is(adds_gradients)) continue;
    for (const std::uint32_t t : flow.outputs_of(op)) sizes.insert(flow.tensors[t].elements);
  }
  return sizes;
}

}  // namespace

double gradient_elements(const Dataflow& flow) {
  double sum = 0;
  std::unordered_set<std::int64_t> weights;  // sizes of the factors of products
  for (const FlowOp& op : flow.ops) {
    const bool layer = op.kind == OpKind::matmul || op.kind == OpKind::convolution ||
                       op.kind == OpKind::row_norm || op.kind == OpKind::batch_norm;
    if (op.phase != FlowPhase::forward || !layer || op.pass > 0) continue;
    if (op.row->is(batched)) continue;
    const auto inputs = flow.inputs_of(op);
    const std::uint8_t activation = op.kind == OpKind::matmul && inputs.size() >= 3 ? 1 : 0;
    for (const FlowUse& use : inputs) {
      const FlowTensor& tensor = flow.tensors[use.tensor];
      if (use.argument == activation || tensor.producer != no_row) continue;
      sum += static_cast<double>(tensor.elements);
      if (op.kind == OpKind::matmul) weights.insert(tensor.elements);
    }
  }
  // Tables: dense gradients, or the rows of sparse ones. One that is a layer's weight too counts
  // once: its two gradients are added up.
  const std::unordered_set<std::int64_t> summed = summed_gradients(flow);
  for (const FlowOp& op : flow.ops) {
    const bool table = op.kind == OpKind::gather || op.row->layer == Layer::embedding;
    if (op.phase != FlowPhase::backward || !table || op.pass > 0) continue;
    for (const std::uint32_t t : flow.outputs_of(op)) {
      const std::int64_t n = flow.tensors[t].elements;
      if (!weights.contains(n) || !summed.contains(n)) sum += static_cast<double>(n);
    }
  }
  return sum;
}

void add_gradient_scaler(const RetimeContext& c, const Dataflow& flow, const AddedHost& added,
                         const HostModel& host, double gradients, StepEdit& edit) {
  const std::vector<Backward> ranges = backward_ranges(flow);
  if (ranges.empty()) return;
  const auto tiny = [&](LibraryUse use, const char* op) {
    return scalar_kernel(c, added, use, op);
  };
  const NewKernel scale = tiny(LibraryUse::scalar_product, "aten::mul");
  for (const Backward& range : ranges) {  // the loss of each pass
    if (range.first > 0) {
      edit.insert_after(flow.works_of(flow.ops[range.first - 1]).back(), scale);
    } else {
      edit.insert_before(flow.works_of(flow.ops[range.first]).front(), scale);
    }
  }
  std::vector<NewKernel> kernels = {tiny(LibraryUse::scalar_copy, "aten::copy_"),
                                    tiny(LibraryUse::scalar_inverse, "aten::reciprocal"),
                                    tiny(LibraryUse::scalar_copy, "aten::copy_"),
                                    tiny(LibraryUse::scalar_fill, "aten::fill_"),
                                    tiny(LibraryUse::copy_on_device, "aten::copy_"),
                                    tiny(LibraryUse::copy_on_device, "aten::copy_")};
  const double launches = std::max(1.0, std::ceil(gradients / c.law.unscale_launch_elements));
  const double bytes = 8 * gradients / launches;  // each is read and written
  for (int i = 0; i < static_cast<int>(launches); ++i) {
    NewKernel k =
        tiny(LibraryUse::gradient_unscale, "aten::_amp_foreach_non_finite_check_and_unscale_");
    k.geometry.grid[0] = multi_tensor_chunks;
    k.geometry.block[0] = 512;
    k.duration_us = streamed_us(c.gpu, {c.law.scalar_us, c.law.unscale_dram_share}, bytes);
    kernels.push_back(std::move(k));
  }
  kernels.push_back(tiny(LibraryUse::copy_to_host, "aten::_local_scalar_dense"));
  insert_verdict(flow, ranges.back(), host, std::move(kernels), edit);
  edit.insert_after(flow.works.back(), tiny(LibraryUse::scale_update, "aten::_amp_update_scale_"));
}

std::vector<std::uint32_t> gradient_scaler(const Dataflow& flow) {
  std::vector<std::uint32_t> ops;
  const std::vector<Backward> ranges = backward_ranges(flow);
  std::uint32_t last_check = no_row;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (flow.ops[i].row->is(checks_gradients)) last_check = i;
  }
  if (last_check == no_row) return ops;
  bool fetched = false;  // the verdict
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    const bool scalar = largest(flow, op) <= 1;
    const bool before_gradients =
        std::any_of(ranges.begin(), ranges.end(),
                    [i](const Backward& range) { return i + 3 > range.first && i < range.first; });
    const bool scales = before_gradients && op.row->is(multiplies) && scalar;
    const bool behind = !ranges.empty() && i > ranges.back().last;
    const bool prepares = op.phase != FlowPhase::backward && behind && i < last_check && scalar;
    const bool fetches = !fetched && i > last_check && op.row->is(waits);
    fetched |= fetches;
    if (op.row->is(scales_loss) || scales || prepares || fetches) ops.push_back(i);
  }
  return ops;
}

void forget_scaler_wait(const Dataflow& flow, const std::vector<std::uint32_t>& ops, Step& step) {
  for (const std::uint32_t i : ops) {
    for (const std::uint32_t w : flow.works_of(flow.ops[i])) {
      if (step.plan.works[w].engine != DeviceEngine::copy_to_host) continue;
      const std::uint32_t from = step.plan.works[w].item;
      if (from == no_index) continue;
      for (std::uint32_t item = from;
           item < std::min<std::size_t>(from + 4, step.plan.items.size()); ++item) {
        HostItem& host = step.plan.items[item];
        if (host.thread != step.plan.items[from].thread) continue;
        if (item != from && host.work_count > 0) break;
        if (host.wait == WaitFor::nothing) continue;
        host.wait = WaitFor::nothing;
        host.wait_work = no_index;
        if (host.kind == ItemKind::sync) host.kind = ItemKind::call;
      }
    }
  }
}

void remove_gradient_scaler(const Dataflow& flow, const std::vector<std::uint32_t>& ops,
                            StepEdit& edit) {
  for (const std::uint32_t i : ops) {
    for (const std::uint32_t w : flow.works_of(flow.ops[i])) edit.drop(w, true);
  }
}

}  // namespace tandem
