#include "models/whatif/batch/model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "models/step/op_groups.h"
#include "models/whatif/batch/rewrite.h"

namespace tandem {
namespace {

constexpr std::int64_t largest_batch = std::int64_t{1} << 31;

struct LaunchKey {
  std::uint32_t kernel = 0, op = 0, geometry = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const LaunchKey&, const LaunchKey&) = default;
};
struct LaunchHash {
  std::size_t operator()(const LaunchKey& k) const {
    std::size_t h = k.kernel * 0x9e3779b97f4a7c15ULL ^ k.op * 0xc2b2ae3d27d4eb4fULL;
    h ^= k.geometry * 0x165667b19e3779f9ULL ^
         static_cast<std::size_t>(k.bytes) * 0xff51afd7ed558ccdULL;
    return h ^ (h >> 31U);
  }
};

// What the shortest kernels of the trace take: a measure of this machine's launch floor.
double shortest_kernels_us(const Trace& trace) {
  std::vector<double> us;
  for (std::size_t i = 0; i < trace.activities.size(); ++i) {
    if (trace.activities.kind[i] == ActivityKind::kernel &&
        trace.activities.duration[i].count() > 0) {
      us.push_back(to_us(trace.activities.duration[i]));
    }
  }
  if (us.empty()) return 0;
  const auto twentieth = us.begin() + static_cast<std::ptrdiff_t>(us.size() / 20);
  std::nth_element(us.begin(), twentieth, us.end());
  return *twentieth;
}

// Shares of the predicted GPU time, summed up activity by activity.
struct Shares {
  double total_us = 0, affine_us = 0, floor_us = 0, switch_us = 0, recurrent_us = 0;
  void add(const KernelScaling& s, double before_us, double after_us) {
    constexpr double little_body_us = 1.0;
    total_us += after_us;
    if (s.scale == ScaleClass::constant) return;
    if (s.scale == ScaleClass::affine) affine_us += after_us;
    if (before_us - s.floor_us < little_body_us) floor_us += after_us;
    if (s.switches) switch_us += after_us;
    if (s.recurrent) recurrent_us += after_us;
  }
};

// Errors seen on whole networks grow with the logarithm of the factor, and with the share of
// kernels that the law knows little about.
double expected_error(const BatchErrors& e, const BatchConfidence& c, bool single_item) {
  const double octaves = std::abs(std::log2(c.factor));
  const double unknown = e.unknown_per_octave * (c.affine_share + c.floor_share) *
                         std::min(octaves, e.unknown_octaves);
  const double recurrent = e.recurrent_per_octave * c.recurrent_share * octaves;
  return e.per_octave * octaves + unknown + recurrent + (single_item ? e.single_item : 0.0);
}

BatchConfidence confidence_of(const BatchErrors& errors, const Shares& s, double factor,
                              bool single_item) {
  BatchConfidence c;
  const double total = std::max(s.total_us, 1e-9);
  c.factor = factor;
  c.affine_share = s.affine_us / total;
  c.floor_share = s.floor_us / total;
  c.switch_share = s.switch_us / total;
  c.recurrent_share = s.recurrent_us / total;
  c.expected_error = expected_error(errors, c, single_item);
  return c;
}

}  // namespace

BatchModel::BatchModel(const BatchBase& base, const GpuArch& gpu, const BatchLaw& law)
    : trace_(base.trace),
      links_(base.links),
      kernels_(base.kernels),
      base_batch_((base.batch > 0 && base.batch < largest_batch)
                      ? base.batch
                      : throw InputError(base.trace.path, "batch", std::to_string(base.batch),
                                         "the traced batch, at least 1")),
      gpu_(gpu),
      law_(law),
      nesting_(nest_ops(trace_, links_)),
      ops_(trace_, nesting_, base_batch_) {
  const double shortest = shortest_kernels_us(trace_);
  if (shortest > 0) floor_scale_ = std::clamp(shortest / law.trace_floor_us, 1.0, 3.0);
  find_launches();
  if (shapes_recorded_) ops_.require_growth();
}

void BatchModel::find_launches() {
  const Activities& acts = trace_.activities;
  std::unordered_map<LaunchKey, std::uint32_t, LaunchHash> known;
  launch_of_.resize(acts.size());
  std::size_t with_shapes = 0;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    const std::uint32_t row = nesting_.of_activity[a];
    const std::uint32_t op = row == no_row ? no_row : ops_.number(row);
    const bool is_kernel = acts.kind[a] == ActivityKind::kernel;
    const LaunchKey key{kernels_.id_of(a), op, acts.geometry[a].value,
                        is_kernel ? 0 : acts.bytes[a]};
    const auto [it, fresh] = known.try_emplace(key, static_cast<std::uint32_t>(launches_.size()));
    launch_of_[a] = it->second;
    if (fresh) add_launch(a, op);
    if (op != no_row && ops_.op(op).has_shapes()) ++with_shapes;
  }
  constexpr std::size_t least_share = 10;  // one in ten activities
  shapes_recorded_ = with_shapes * least_share > acts.size();
}

void BatchModel::add_launch(std::uint32_t activity, std::uint32_t op) {
  const Activities& acts = trace_.activities;
  Launch launch{{acts.kind[activity], {}, {}, acts.bytes[activity], nullptr, nullptr},
                acts.geometry[activity]};
  if (op != no_row) {
    launch.kernel.op = &ops_.op(op);
    const std::uint32_t around = nesting_.parent[nesting_.of_activity[activity]];
    if (around != no_row) launch.kernel.around = &ops_.op(ops_.number(around));
  }
  if (launch.geometry.valid()) launch.kernel.geometry = trace_.geometries[launch.geometry.index()];
  launch.kernel.kernel = kernels_.of(activity);
  launches_.push_back(launch);
}

void BatchModel::require_batch(std::int64_t batch) const {
  if (batch <= 0 || batch >= largest_batch) {
    throw InputError(trace_.path, "batch", std::to_string(batch),
                     "1 to " + std::to_string(largest_batch - 1));
  }
}

void BatchModel::resize_ops(std::int64_t batch, Trace& out) const {
  std::vector<OperandsId> resized(ops_.size());
  for (std::uint32_t row = 0; row < out.ops.size(); ++row) {
    const std::uint32_t number = ops_.number(row);
    const BatchOp& op = ops_.op(number);
    if (!op.grows()) continue;
    if (!resized[number].valid()) {
      Operands operands = operands_of(trace_, row);
      operands.tensors = resize_layout(op, base_batch_, batch);
      resized[number] = out.operands.intern(std::move(operands));
    }
    out.ops.operands[row] = resized[number];
  }
}

BatchModel::Resized BatchModel::resize_launches(const BatchChange& change, Trace& out) const {
  Resized resized;
  const OpTensors none;
  for (const Launch& launch : launches_) {
    const BatchKernel& kernel = launch.kernel;
    const OpTensors target =
        kernel.op == nullptr ? none : resize(*kernel.op, base_batch_, change.batch);
    const KernelScaling scaling = scale_kernel(change, kernel, target);
    resized.scalings.push_back(scaling);
    resized.geometries.push_back(launch.geometry);
    if (!launch.geometry.valid()) continue;
    const LaunchGeometry geometry = resize_geometry(change, kernel, target, scaling.scale);
    if (geometry == kernel.geometry) continue;
    resized.geometries.back() = GeometryId{out.geometries.size()};
    out.geometries.push_back(geometry);
  }
  return resized;
}

AlgorithmSwitches BatchModel::products_by_another_tile(const std::vector<KernelScaling>& scalings,
                                                       const Trace& resized) const {
  AlgorithmSwitches out;
  for (std::uint32_t a = 0; a < launch_of_.size(); ++a) {
    const KernelScaling& s = scalings[launch_of_[a]];
    const BatchOp* const op = launches_[launch_of_[a]].kernel.op;
    const bool product = s.switches && op != nullptr && op->row->kind == OpKind::matmul;
    if (!product || !issue_time(trace_, links_, a)) continue;
    add_switch(out, describe(s.from), describe(s.to), to_us(resized.activities.duration[a]));
  }
  return out;
}

Trace BatchModel::at(std::int64_t batch, LossList& losses, BatchReport* report) const {
  require_batch(batch);
  const BatchChange change{gpu_, law_, base_batch_, batch, floor_scale_};
  Trace out = trace_;
  const Resized resized = resize_launches(change, out);
  Shares shares;
  Activities& acts = out.activities;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    const KernelScaling& s = resized.scalings[launch_of_[a]];
    const double before = to_us(acts.duration[a]), after = s.predict_us(before);
    if (issue_time(trace_, links_, a)) shares.add(s, before, after);  // else before the first step
    if (after != before) acts.duration[a] = from_us(after);
    acts.geometry[a] = resized.geometries[launch_of_[a]];
    if (acts.kind[a] != ActivityKind::kernel && s.scale != ScaleClass::constant) {
      acts.bytes[a] = std::llround(static_cast<double>(acts.bytes[a]) * change.ratio());
    }
  }
  resize_ops(batch, out);
  if (!shapes_recorded_) {
    losses.add("batch_without_shapes", Severity::warning,
               "operand shapes were not recorded: every kernel but the optimizer's was taken to "
               "grow with the batch");
  }
  if (report == nullptr) return out;
  *report = {};
  report->products = products_by_another_tile(resized.scalings, out);
  for (const std::uint32_t launch : launch_of_) {
    report->classes.push_back(resized.scalings[launch].scale);
  }
  report->confidence =
      confidence_of(law_.errors, shares, change.ratio(), base_batch_ == 1 || batch == 1);
  return out;
}

Trace with_batch(const BatchBase& base, const BatchOptions& options, LossList& losses,
                 BatchReport* report) {
  const BatchModel model(base, *options.gpu, *options.law);
  return model.at(options.batch, losses, report);
}

}  // namespace tandem
