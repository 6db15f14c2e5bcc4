#include "models/whatif/gpu/retimed.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/arch/occupancy.h"
#include "models/kernel/kinds.h"
#include "models/ops/op_table.h"
#include "sim/core/copy_direction.h"

namespace tandem {

namespace {

bool serves_product(const KernelLaunch& launch) {
  return launch.family == KernelFamily::gemm || launch.family == KernelFamily::convolution;
}
bool is_product(const KernelLaunch& launch) {
  return serves_product(launch) && row_of(launch.traits).time == TimeLaw::matrix;
}

/// Kinds of kernels that the validation cases between GPUs consist of: an FP32 convolutional net.
bool is_validated(const KernelLaunch& launch, DataType type) {
  if (row_of(launch.traits).depthwise) return false;
  switch (launch.family) {
    case KernelFamily::gemm:
    case KernelFamily::convolution: return type == DataType::fp32 || type == DataType::tf32;
    case KernelFamily::pointwise:
    case KernelFamily::copy:
    case KernelFamily::layout:
    case KernelFamily::reduction:
    case KernelFamily::batch_norm:
    case KernelFamily::pooling:
    case KernelFamily::optimizer:
    case KernelFamily::transfer: return true;
    default: return false;
  }
}

constexpr int bisections = 40;

bool on_tensor_cores(const GpuArch& gpu, DataType type) {
  return multiply_engine(gpu, type) != Engine::simt;
}

/// The type a product has on `to`: convolutions of FP32 data use TF32 where they can.
DataType type_on(const GpuArch& from, const GpuArch& to, const KernelLaunch& launch,
                 DataType type) {
  if (type == DataType::tf32 && !on_tensor_cores(to, type)) return DataType::fp32;
  const bool could_not = !on_tensor_cores(from, DataType::tf32);
  const bool can = on_tensor_cores(to, DataType::tf32);
  const bool convolution =
      launch.family == KernelFamily::convolution || is_convolution(op_row(launch.op));
  if (type == DataType::fp32 && convolution && serves_product(launch) && could_not && can) {
    return DataType::tf32;
  }
  return type;
}

/// Some products of the traced GPU may use the older instruction there, too.
Engine engine_on(const GpuArch& to, const KernelLaunch& launch, DataType type) {
  const Engine newest = multiply_engine(to, type);
  const bool older = newest == Engine::gmma && launch.traits.engine == Engine::hmma;
  return older ? Engine::hmma : newest;
}

/// A product without recorded operands: the grid and the tile tell its result, the time on the
/// traced GPU its k.
TimedLaunch with_traced_product(const RetargetOptions& o, const KernelLaunch& launch,
                                TimedLaunch timed) {
  const KernelTraits& t = launch.traits;
  constexpr std::int64_t usual_tile = 128;
  timed.law = TimeLaw::matrix;
  timed.gemm.m = (t.tile_n > 0 ? t.tile_n : usual_tile) * launch.geometry.grid[1];
  timed.gemm.n = (t.tile_m > 0 ? t.tile_m : usual_tile) * launch.geometry.grid[0];
  timed.gemm.batch = 1;
  timed.gemm.type = timed.type;
  std::int64_t low = 1;
  std::int64_t high = std::int64_t{1} << 24;
  while (high - low > 1) {
    timed.gemm.k = low + (high - low) / 2;
    const bool too_long = kernel_time(timed, *o.from, *o.time).time_us > launch.duration_us;
    (too_long ? high : low) = timed.gemm.k;
  }
  timed.gemm.k = low;
  return timed;
}

/// A kernel without recorded operands: as many bytes as explain its time on the traced GPU.
TimedLaunch with_traced_bytes(const RetargetOptions& o, const KernelLaunch& launch) {
  double low = 1;
  double high = 1e12;
  for (int i = 0; i < bisections; ++i) {
    const double middle = std::sqrt(low * high);
    const TimedLaunch timed = timed_launch(launch, middle);
    const bool too_long = kernel_time(timed, *o.from, *o.time).time_us > launch.duration_us;
    (too_long ? high : low) = middle;
  }
  return timed_launch(launch, std::sqrt(low * high));
}

bool is_host_copy(const KernelLaunch& launch) {
  if (launch.family != KernelFamily::transfer) return false;
  const CopyDirection direction = copy_direction(launch.name);
  return direction == CopyDirection::to_device || direction == CopyDirection::to_host;
}

/// Errors: InputError for arithmetic that the other GPU lacks.
void require_type(const RetargetOptions& o, const KernelLaunch& launch, DataType type) {
  const auto lacks = [&](DataType wanted) {
    return type == wanted && on_tensor_cores(*o.from, wanted) && !on_tensor_cores(*o.to, wanted);
  };
  for (const DataType wanted : {DataType::bf16, DataType::fp16}) {
    if (!lacks(wanted)) continue;
    throw InputError("command line", "--gpu",
                     "\"" + o.to->name + "\", which has no " +
                         (wanted == DataType::bf16 ? "bf16" : "fp16") + " tensor cores for \"" +
                         std::string(launch.name.substr(0, 60)) + "\"",
                     "a GPU that has, or a trace in another precision");
  }
}

/// Transforms, set-up and sums of parts belong to the kernel that another one replaces; the new
/// one's time holds its own. The scaling of a gradient is not the library's choice.
bool drops_helper(const KernelLaunch& launch, bool replaced) {
  return replaced && serves_product(launch) && is_helper(launch.traits) &&
         launch.traits.kind != Kind::conv_scale;
}

/// FP32 attention without tensor cores for it.
void choose_attention(const KernelLaunch& launch, DataType type, Retimed& out) {
  if (type != DataType::tf32 || out.type != DataType::fp32) return;
  PredictedKernel older =
      attention_without_tf32({launch.family, launch.math, launch.traits}, launch.name);
  if (older.name.empty()) return;
  out.changed = out.renamed = true;
  out.kernel = std::move(older);
  out.geometry = launch.geometry;
}

}  // namespace

RetimedLaunches::RetimedLaunches(const Step& step, const RetargetOptions& options)
    : o_(options),
      step_(step),
      launches_(step),
      from_without_dram_(without_dram(*options.from)),
      to_without_dram_(without_dram(*options.to)),
      retimed_(launches_.shapes()),
      done_(launches_.shapes(), false) {}

const Retimed& RetimedLaunches::of(std::uint32_t activity) {
  const std::uint32_t shape = launches_.shape_of(activity);
  if (!done_[shape]) {
    retimed_[shape] = retime(launches_.launch(activity),
                             static_cast<double>(step_.trace.activities.bytes[activity]));
    done_[shape] = true;
  }
  return retimed_[shape];
}

double RetimedLaunches::predicted_us(const Retimed& r, double measured_us) const {
  if (!r.known) return measured_us;
  if (r.absolute) return r.absolute_us;
  return std::max(r.least_us, carried_us(measured_us, r.from, r.to, o_.floor_share));
}

Retimed RetimedLaunches::retime(const KernelLaunch& launch, double bytes) const {
  const GpuArch& from = *o_.from;
  const GpuArch& to = *o_.to;
  Retimed out;
  TimedLaunch timed = timed_launch(launch, bytes);
  if (timed.product && is_product(launch))
    timed = with_traced_product(o_, launch, timed);
  else if (timed.bytes <= 0)
    timed = with_traced_bytes(o_, launch);
  // What stages a copy of pageable memory is the host, not the link.
  if (is_host_copy(launch)) {
    timed.law = copies_pageable(launch.name) ? TimeLaw::none : TimeLaw::link;
  }
  require_type(o_, launch, timed.type);
  out.type = type_on(from, to, launch, timed.type);
  // A channel by itself that takes far longer than its bytes waits for its instructions.
  if (row_of(launch.traits).depthwise &&
      !explains(timed, kernel_time(timed, from, *o_.time), launch.duration_us)) {
    timed.law = TimeLaw::throughput;
  }
  timed.warps_per_sm = occupancy(from, launch.geometry).active_warps;
  const KernelTime before = kernel_time(timed, from, *o_.time);
  TimedLaunch later = timed;
  later.warps_per_sm = occupancy(to, launch.geometry).active_warps;
  later.type = later.gemm.type = later.conv.type = out.type;
  const KernelTime after = kernel_time(later, to, *o_.time);
  out.known = before.confidence > 0 && after.confidence > 0;
  out.from = modelled_time(timed, from, from_without_dram_, *o_.time);
  out.to = modelled_time(later, to, to_without_dram_, *o_.time);
  out.absolute_us = after.time_us;
  out.least_us = least_product_us(launch, to, out.type);
  out.fits = out.renamed || occupancy(to, launch.geometry).blocks_per_sm > 0 ||
             occupancy(from, launch.geometry).blocks_per_sm == 0;
  if (is_product(launch)) choose_kernel(launch, after, timed.type, out);
  if (launch.family == KernelFamily::attention) choose_attention(launch, timed.type, out);
  out.absolute = out.changed && (timed.law == TimeLaw::matrix || timed.law == TimeLaw::convolution);
  out.modelled = out.known && launch.traits.kind != Kind::unknown;
  out.error = error_of(launch, out, std::min(before.confidence, after.confidence));
  out.dropped = drops_transform(launch) || drops_helper(launch, out.type != timed.type);
  return out;
}

/// What the validation cases nearest to the kernel were off by (retarget.json).
double RetimedLaunches::error_of(const KernelLaunch& launch, const Retimed& r,
                                 double confidence) const {
  const RetargetErrors& e = *o_.errors;
  // A residual that carries over halves the error of the model, which then appears in a ratio.
  const double model = (r.changed ? 1.0 : 0.5) * (1 - confidence);
  if (!r.modelled) return std::max(e.unknown_kernel, model);
  const bool same = o_.from->compute_major == o_.to->compute_major;
  const double known = !launch.tensors.empty() || launch.family == KernelFamily::transfer
                           ? e.with_shapes
                           : e.without_shapes;
  const bool measured = o_.time->measured(*o_.from) && o_.time->measured(*o_.to);
  const double scale = measured ? 1 : e.unmeasured_generation;
  const double kind = is_validated(launch, r.type) ? known : std::max(known, e.other_work);
  if (!same) return std::max(scale * kind, model);
  // Libraries and instructions are the same: only what changes can be wrong.
  const double us = predicted_us(r, launch.duration_us);
  const double change = us > 0 && launch.duration_us > 0 ? std::log(us / launch.duration_us) : 0;
  return scale *
         std::max(e.same_generation * std::max(kind, model), e.carried_change * std::abs(change));
}

/// FP32 convolutions outside the tensor cores read the framework's own layout.
bool RetimedLaunches::drops_transform(const KernelLaunch& launch) const {
  return launch.family == KernelFamily::layout && is_convolution(op_row(launch.op)) &&
         on_tensor_cores(*o_.from, DataType::tf32) && !on_tensor_cores(*o_.to, DataType::tf32) &&
         launch.traits.data == DataType::fp32;
}

void RetimedLaunches::choose_kernel(const KernelLaunch& launch, const KernelTime& after,
                                    DataType type, Retimed& out) const {
  const Engine engine = engine_on(*o_.to, launch, out.type);
  out.changed = out.type != type;
  const bool same_generation = o_.from->compute_major == o_.to->compute_major;
  if (!out.changed && (engine == launch.traits.engine || launch.traits.engine == Engine::none) &&
      (same_generation || engine == Engine::simt)) {
    return;
  }
  const LibraryKernel* kernel =
      o_.names->find(o_.to->compute_major, engine, launch.family, out.type);
  if (kernel == nullptr)
    kernel = o_.names->find(o_.to->compute_major, engine, KernelFamily::gemm, out.type);
  if (kernel == nullptr) return;
  out.renamed = true;
  PredictedLaunch predicted = predicted_launch(*kernel, after, launch.traits.pass);
  out.kernel = std::move(predicted.kernel);
  out.geometry = predicted.geometry;
}

}  // namespace tandem
