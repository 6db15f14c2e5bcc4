// The batch-size what-if from two measured runs: the law from the nearer one, checked and bent by
// the other one, operation by operation.
#include <algorithm>
#include <cmath>
#include <string>

#include "models/step/op_groups.h"
#include "models/whatif/batch/model.h"

namespace tandem {
namespace {

constexpr double least_matched = 0.8;  // of the operations of two runs of one model

// An operation in three states: near and far as measured, and what the law makes of the near one.
struct Matched {
  double near_us = 0, far_us = 0;
  double far_law_us = 0;  // the law from near to far
  double law_us = 0;      // the law from near to the new batch
};

struct Batches {
  double near = 0, far = 0, wanted = 0;
  double position() const { return (wanted - near) / (far - near); }
  double log_position() const { return std::log(wanted / near) / std::log(far / near); }
};

// A straight line through both measurements. An operation does not get faster with more work, and
// does not vanish.
double straight_line_us(const Matched& m, const Batches& b) {
  const double slope = (m.far_us - m.near_us) * (b.far > b.near ? 1 : -1);
  if (slope < 0) return m.near_us;
  const double us = m.near_us + (m.far_us - m.near_us) * b.position();
  return std::max(us, 0.5 * std::min(std::min(m.near_us, m.far_us), 2.0));
}

// The law, bent so that it meets the other run; beyond the nearer run it stays as it is.
double predicted_us(const Matched& m, const Batches& b, bool has_model) {
  if (!has_model || m.far_law_us <= 0) return straight_line_us(m, b);
  const double position = std::clamp(b.log_position(), 0.0, 1.0);
  return m.law_us * std::pow(m.far_us / m.far_law_us, position);
}

double distance(std::int64_t a, std::int64_t b) {
  return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}

using Groups = std::vector<OpGroup>;

Groups groups_of(const BatchBase& run, const OpNesting& nesting, std::size_t step) {
  const auto& steps = run.links.steps;
  return groups_of_step(run.trace, run.links, nesting, steps[std::min(step, steps.size() - 1)]);
}

double sum_us(const Trace& trace, const OpGroup& group) {
  double us = 0;
  for (const std::uint32_t a : group.activities) us += to_us(trace.activities.duration[a]);
  return us;
}

void require_one_model(const BatchBase& near, const BatchBase& far, const BatchModel& a,
                       const BatchModel& b, std::size_t matched, std::size_t largest) {
  const bool same = a.ops().parameters() == b.ops().parameters();
  if (same && static_cast<double>(matched) >= least_matched * static_cast<double>(largest)) return;
  throw InputError(far.trace.path, "batch",
                   std::to_string(matched) + " of " + std::to_string(largest) +
                       " operations in common" + (same ? "" : " and other parameter shapes"),
                   "another batch of the model of " + near.trace.path);
}

void require_two_batches(const BatchBase& first, const BatchBase& second) {
  if (first.batch != second.batch) return;
  throw InputError(second.trace.path, "batch", std::to_string(second.batch),
                   "a batch that differs from that of " + first.trace.path);
}

// What the two ways of predicting say about all operations.
struct Sums {
  double law_us = 0, line_us = 0, total_us = 0;
};

// The nearer run, bent towards the farther one.
class TwoBases {
 public:
  TwoBases(const BatchBase& near, const BatchBase& far, const BatchOptions& options)
      : near_(near),
        far_(far),
        model_(near, *options.gpu, *options.law),
        other_(far, *options.gpu, *options.law),
        errors_(options.law->errors),
        batches_{static_cast<double>(near.batch), static_cast<double>(far.batch),
                 static_cast<double>(options.batch)},
        wanted_(options.batch) {}

  Trace predict(LossList& losses, BatchReport& report) const {
    LossList unused;
    Trace out = model_.at(wanted_, losses, &report);
    const Trace at_far = model_.at(far_.batch, unused);
    Sums sums;
    for (std::size_t step = 0; step < near_.links.steps.size(); ++step) {
      bend_step(step, at_far, report.classes, out, sums);
    }
    BatchConfidence& c = report.confidence;
    c.extrapolated = batches_.position() < 0 || batches_.position() > 1;
    c.affine_share = 0;  // the straight line is a model of its own
    c.disagreement = std::abs(sums.law_us - sums.line_us) / std::max(sums.total_us, 1e-9);
    c.expected_error =
        std::min(c.expected_error, errors_.two_traces + errors_.of_disagreement * c.disagreement);
    return out;
  }

 private:
  void bend_step(std::size_t step, const Trace& at_far, const std::vector<ScaleClass>& classes,
                 Trace& out, Sums& sums) const {
    const Groups a = groups_of(near_, model_.nesting(), step);
    const Groups b = groups_of(far_, other_.nesting(), step);
    const auto pairs = align(a, b);
    require_one_model(near_, far_, model_, other_, pairs.size(), std::max(a.size(), b.size()));
    for (const auto& [i, j] : pairs) {
      const OpGroup& group = a[i];
      const Matched m{group.us, b[j].us, sum_us(at_far, group), sum_us(out, group)};
      const bool affine =
          std::any_of(group.activities.begin(), group.activities.end(),
                      [&](std::uint32_t act) { return classes[act] == ScaleClass::affine; });
      const double us = predicted_us(m, batches_, !affine);
      sums.law_us += m.law_us, sums.line_us += straight_line_us(m, batches_), sums.total_us += us;
      if (m.law_us <= 0) continue;
      for (const std::uint32_t act : group.activities) {
        out.activities.duration[act] = scale(out.activities.duration[act], us / m.law_us);
      }
    }
  }

  const BatchBase& near_;
  const BatchBase& far_;
  BatchModel model_;
  BatchModel other_;
  const BatchErrors& errors_;
  Batches batches_;
  std::int64_t wanted_;
};

}  // namespace

Trace with_batch(const BatchBase& first, const BatchBase& second, const BatchOptions& options,
                 LossList& losses, BatchReport* report) {
  require_two_batches(first, second);
  const bool swap = distance(second.batch, options.batch) < distance(first.batch, options.batch);
  BatchReport inner;
  const TwoBases bases(swap ? second : first, swap ? first : second, options);
  Trace out = bases.predict(losses, inner);
  inner.from_second = swap;
  if (report != nullptr) *report = std::move(inner);
  return out;
}

}  // namespace tandem
