#include "models/whatif/optimizer/rewrite.h"

#include <algorithm>
#include <string>
#include <utility>

#include "models/kernel/launch_rules.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/optimizer/verdict.h"
#include "sim/core/median.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

LibraryUse library_use(ListOp op) {
  if (op == ListOp::fused_sgd) return LibraryUse::fused_sgd;
  return is_fused_update(op) ? LibraryUse::fused_adam : LibraryUse::list_update;
}

/// What an update launches, and what it costs by the law alone.
struct TimedCall {
  ListCall call;
  std::vector<ListLaunch> launches;
  double us = 0;
};

class UpdateRewrite {
 public:
  UpdateRewrite(const Step& step, const OpNesting& nesting, const Update& update, UpdateWay to,
                const ScalerVerdict& verdict, const UpdateContext& context)
      : step_(step),
        nesting_(nesting),
        update_(update),
        to_(to),
        verdict_(verdict),
        c_(context),
        host_(added_host(step, context.host)) {}

  void apply(StepEdit& edit, UpdateReport& report) const;

 private:
  /// As the update becomes.
  std::vector<ListCall> calls() const {
    if (to_ == UpdateWay::foreach) return foreach_calls(update_.recipe);
    return fused_calls(update_.recipe, verdict_.applies(), verdict_.scales());
  }
  TimedCall timed(const ListCall& call) const;
  double launch_us(const ListCall& call, const ListLaunch& launch) const;
  double residual() const;
  double list_host_us() const;
  double within_us() const;
  double before_us() const;
  double call_host_us(const ListCall& call, double list_us) const;
  NewKernel kernel(const ListCall& call, const ListLaunch& launch, double residual) const;
  NewKernel number_kernel(LibraryUse use, const char* op) const;
  void change_scaler(StepEdit& edit) const;
  Duration gap(std::uint32_t work) const { return step_.plan.items[item(work)].gap; }
  std::uint32_t item(std::uint32_t work) const { return step_.plan.works[work].item; }

  const Step& step_;
  const OpNesting& nesting_;
  const Update& update_;
  UpdateWay to_;
  const ScalerVerdict& verdict_;
  const UpdateContext& c_;
  AddedHost host_;
};

double UpdateRewrite::launch_us(const ListCall& call, const ListLaunch& launch) const {
  const DataType type = call.counters ? DataType::fp32 : update_.type;
  const ListTimes times = is_fused_update(call.op) ? c_.law.fused() : c_.law.lists;
  return list_launch_us(c_.gpu, times, launch, call.accesses, std::max(element_bytes(type), 1));
}

TimedCall UpdateRewrite::timed(const ListCall& call) const {
  const std::vector<std::int64_t> counters(update_.sizes.size(), 1);
  TimedCall out{call,
                list_launches(call.counters ? counters : update_.sizes,
                              most_list_tensors(call.lists, call.numbers)),
                0};
  for (const ListLaunch& launch : out.launches) out.us += launch_us(call, launch);
  return out;
}

/// What the traced kernels took over the law of them.
double UpdateRewrite::residual() const {
  double measured = 0, modelled = 0;
  const std::vector<ListCall> traced = list_calls(update_);
  for (std::size_t k = 0; k < traced.size(); ++k) {
    ListCall call = traced[k];
    if (!updates_lists(call)) continue;
    if (is_fused_update(call.op) && verdict_.scales()) ++call.accesses;
    measured += works_us(step_, update_.calls[k].works);
    modelled += timed(call).us;
  }
  return modelled > 0 ? measured / modelled : 1;
}

/// Host time within the first operations of the update, up to their first launch.
double UpdateRewrite::within_us() const {
  const std::uint32_t call = step_.plan.items[item(update_.first_work())].source;
  if (call == no_index) return 0;
  return to_us(step_.trace.calls.begin[call] - update_.begin) * host_.gap_scale;
}

/// Up to the first launch of a list operation that allocates nothing, as the step itself does them;
/// of several the median.
double UpdateRewrite::list_host_us() const {
  const auto as_list_call = [&](const TracedCall& call, double us) {
    return is_fused_update(call.list_op) ? us / c_.law.fused_host_ratio : us;
  };
  std::vector<double> found;
  for (std::size_t k = 1; k < update_.calls.size(); ++k) {
    const TracedCall& call = update_.calls[k];
    if (makes_list(call.list_op)) continue;
    found.push_back(as_list_call(call, to_us(gap(call.works.front())) + host_.launch_call_us));
  }
  if (!found.empty()) return median(std::move(found));
  const double first = within_us();
  if (first <= 0) return host_.us(c_.law.list_host_ratio);
  return as_list_call(update_.calls.front(), first + host_.launch_call_us);
}

/// Host time before the update's first list operation, which stays: Python that collects what to
/// update. The rest of that before the first launch lies within operations.
double UpdateRewrite::before_us() const {
  return std::max(0.0, to_us(gap(update_.first_work())) - within_us());
}

/// Up to the first launch of the call, what belongs to it on the host alone included.
double UpdateRewrite::call_host_us(const ListCall& call, double list_us) const {
  const auto tensors = static_cast<double>(update_.sizes.size());
  if (is_fused_update(call.op)) return list_us * c_.law.fused_host_ratio;
  if (!makes_list(call.op)) return list_us;
  const double corrections = call.op == ListOp::root ? c_.law.correction_host_ratio : 0;
  return list_us + host_.us(tensors * (c_.law.result_host_ratio + corrections)) -
         host_.launch_call_us;
}

NewKernel UpdateRewrite::kernel(const ListCall& call, const ListLaunch& launch,
                                double residual) const {
  NewKernel k;
  k.kernel = c_.names.kernel(library_use(call.op));
  const int read = makes_list(call.op) ? call.lists - 1 : call.lists;
  k.kernel.kernel.traits.operands = static_cast<std::uint8_t>(read + 1);
  if (!call.counters) {
    k.kernel = c_.names.retyped(k.kernel.kernel, k.kernel.name, DataType::fp32, update_.type);
  }
  k.op = "aten::" + std::string(list_op_row(call.op).name);
  constexpr double chunk = multi_tensor_chunk;
  k.geometry = chunks_geometry(launch.blocks * chunk);
  if (is_fused_update(call.op)) {
    k.geometry.registers_per_thread = static_cast<std::uint32_t>(c_.law.fused_registers);
  }
  k.duration_us = launch_us(call, launch) * (call.counters ? 1 : residual);
  k.host_us = host_.launch_call_us;
  return k;
}

NewKernel UpdateRewrite::number_kernel(LibraryUse use, const char* op) const {
  NewKernel k;
  k.kernel = c_.names.kernel(use);
  k.op = op;
  k.geometry = flat_geometry(1, 128);
  k.duration_us = c_.law.scalar_us;
  k.host_us = host_.us(c_.law.scalar_host_ratio);
  return k;
}

/// By lists the scale's inverse is computed, and the host fetches the verdict; a fused update takes
/// gradients that were checked alone, the scale and the verdict as they are.
void UpdateRewrite::change_scaler(StepEdit& edit) const {
  if (!verdict_.found()) return;
  const bool fused = to_ == UpdateWay::fused;
  const std::uint32_t first = update_.first_work(), last_check = verdict_.checks.back();
  for (const std::uint32_t w : verdict_.prepares) edit.drop(w, true);
  for (const std::uint32_t w : verdict_.scalars) edit.drop(w, true);
  if (!verdict_.prepares.empty()) {
    const std::uint32_t at = verdict_.prepares.front();
    if (!fused) {
      edit.insert_before(at, number_kernel(LibraryUse::scalar_copy, "aten::_to_copy"));
      edit.insert_before(at, number_kernel(LibraryUse::scalar_inverse, "aten::reciprocal"));
      edit.insert_before(at, number_kernel(LibraryUse::scalar_copy, "aten::_to_copy"));
    } else {
      edit.insert_before(at, number_kernel(LibraryUse::scalar_fill, "aten::fill_"));
    }
    edit.insert_before(at, number_kernel(LibraryUse::scalar_fill, "aten::fill_"));
  }
  if (fused) {
    for (const std::uint32_t i : verdict_.waits) edit.drop_wait(i);
    edit.insert_before(first, number_kernel(LibraryUse::scalar_product, "aten::add"));
    if (verdict_.apart) return;
    edit.insert_before(first, number_kernel(LibraryUse::scalar_product, "aten::mul"));
  } else {
    edit.insert_after(last_check,
                      number_kernel(LibraryUse::copy_to_host, "aten::_local_scalar_dense"));
    edit.insert_sync_after(last_check, c_.host.sync_call_us, c_.host.sync_return_us);
  }
}

void UpdateRewrite::apply(StepEdit& edit, UpdateReport& report) const {
  double factor = residual();
  // Its kernels do nothing where gradients were not finite.
  constexpr double least_residual = 0.3;
  if (update_.way == UpdateWay::fused && verdict_.applies() && factor < least_residual) {
    factor = 1;
    ++report.skipped;
  }
  const double list_us = list_host_us();
  change_scaler(edit);
  double host_us = before_us();
  if (to_ == UpdateWay::foreach && update_.recipe.rule != UpdateRule::sgd) {
    host_us +=
        host_.us(double(update_.sizes.size()) * c_.law.counter_host_ratio) - host_.launch_call_us;
  }
  const std::uint32_t first = update_.first_work();
  for (const TracedCall& call : update_.calls) {
    for (const std::uint32_t w : call.works) edit.drop(w, true);
    report.traced_kernels += static_cast<std::int64_t>(call.works.size());
    report.traced_us += works_us(step_, call.works);
  }
  for (const ListCall& call : calls()) {
    host_us += call_host_us(call, list_us);
    for (const ListLaunch& launch : timed(call).launches) {
      NewKernel k = kernel(call, launch, factor);
      k.host_us = std::max(host_us, k.host_us);
      host_us = 0;
      report.us += k.duration_us;
      ++report.kernels;
      edit.insert_before(first, std::move(k));
    }
  }
}

}  // namespace

Step with_updates(Step step, const OpNesting& nesting, const std::vector<Update>& updates,
                  UpdateWay to, const UpdateContext& context, UpdateReport& report) {
  StepEdit edit(std::move(step), context.host.launch_call_us);
  std::uint32_t after = no_index;
  ScalerVerdict last;
  for (const Update& update : updates) {
    ScalerVerdict verdict = scaler_verdict(edit.step(), nesting, after, update.first_work());
    if (!verdict.found()) {
      verdict.asked_before = last.applies();
      verdict.apart = last.apart;
    }
    last = verdict;
    UpdateRewrite(edit.step(), nesting, update, to, verdict, context).apply(edit, report);
    after = update.calls.back().works.back();
    report.tensors += static_cast<std::int64_t>(update.sizes.size());
    report.guessed += update.order_known ? 0 : 1;
    report.waits += to == UpdateWay::fused ? static_cast<std::int64_t>(verdict.waits.size()) : 0;
    double elements = 0;
    for (const std::int64_t size : update.sizes) elements += static_cast<double>(size);
    report.elements += elements;
    for (const ListCall& call : foreach_calls(update.recipe)) {
      if (makes_list(call.op)) report.results_bytes += elements * element_bytes(update.type);
    }
  }
  return std::move(edit).finish();
}

}  // namespace tandem
