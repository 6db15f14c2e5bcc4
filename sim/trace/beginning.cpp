#include "sim/trace/beginning.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "sim/core/error.h"
#include "sim/trace/row_groups.h"

namespace tandem {

namespace {

template <class Rows>
std::int64_t correlation_of(const Rows& rows, std::uint32_t row) {
  if constexpr (requires { rows.correlation; }) return rows.correlation[row];
  return -1;
}

TimePoint first_begin(const Trace& trace) {
  TimePoint first = TimePoint::max();
  each_group(
      [&](const auto& rows) {
        for (const TimePoint begin : rows.begin) first = std::min(first, begin);
      },
      trace);
  return first;
}

/// Numbers `rows` of a table anew, of which some rows are gone.
void follow(const std::vector<bool>& gone, std::vector<std::uint32_t>& rows) {
  std::vector<std::uint32_t> number(gone.size());
  std::uint32_t next = 0;
  for (std::size_t row = 0; row < gone.size(); ++row) {
    number[row] = next;
    next += gone[row] ? 0 : 1;
  }
  std::erase_if(rows, [&](std::uint32_t row) { return gone[row]; });
  for (std::uint32_t& row : rows) row = number[row];
}

bool any_step(const Annotations& notes) {
  return std::any_of(notes.step.begin(), notes.step.end(), [](std::int64_t n) { return n >= 0; });
}

}  // namespace

void Beginning::fail(const std::string& found, const std::string& expected) const {
  throw InputError(trace_.path, "", found, expected);
}

std::int64_t Beginning::us_of(TimePoint time) const {
  const std::int64_t ps = time.time_since_epoch().count();
  return trace_.origin_us + (ps >= 0 ? ps : ps - ps_per_us + 1) / ps_per_us;
}

void Beginning::note_correlation(std::int64_t correlation) {
  if (correlation >= 0) first_correlation_ = std::min(first_correlation_, correlation);
}

void Beginning::drop(std::int64_t correlation) {
  ++late_events_;
  note_correlation(correlation);
}

void Beginning::drop_later_half() {
  std::vector<TimePoint> begins;
  begins.reserve(rows_);
  each_group(
      [&](const auto& rows) { begins.insert(begins.end(), rows.begin.begin(), rows.begin.end()); },
      trace_);
  if (begins.size() >= most_rows_) {
    const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
    std::nth_element(begins.begin(), middle, begins.end());
    const std::int64_t first_us = us_of(*std::min_element(begins.begin(), middle));
    late_us_ = std::max(us_of(*middle), first_us + 1);
    keep_before(TimePoint{picoseconds((late_us_ - trace_.origin_us) * ps_per_us)}, -1);
  }
  rows_ = 0;  // events that became no row were counted as well
  each_group([&](const auto& rows) { rows_ += rows.begin.size(); }, trace_);
  if (rows_ < most_rows_) return;
  fail(fmt::format("{} events within a microsecond", rows_),
       fmt::format("fewer than {} at one time", most_rows_));
}

void Beginning::keep_before(TimePoint end, std::int64_t before_correlation) {
  std::vector<bool> gone(trace_.ops.size(), false);
  for (std::size_t op = 0; op < gone.size(); ++op) gone[op] = trace_.ops.begin[op] >= end;
  follow(gone, remembered_ops_);
  const auto keep = [&](auto& rows) {
    using Rows = std::remove_reference_t<decltype(rows)>;
    std::vector<std::uint32_t> kept;
    for (std::uint32_t row = 0; row < rows.begin.size(); ++row) {
      bool stays = rows.begin[row] < end;
      if constexpr (std::same_as<Rows, Activities>) {
        stays |= rows.correlation[row] < before_correlation;
      }
      if (stays) {
        kept.push_back(row);
      } else {
        drop(correlation_of(rows, row));
      }
    }
    if (kept.size() < rows.begin.size()) keep_rows(kept, rows);
  };
  each_group(keep, trace_);
}

/// Marks of which the end is missing go.
void Beginning::keep_marks_before(TimePoint end) {
  Annotations& notes = trace_.annotations;
  std::vector<std::uint32_t> kept;
  for (std::uint32_t row = 0; row < notes.size(); ++row) {
    if (notes.begin[row] + notes.duration[row] <= end) kept.push_back(row);
  }
  late_events_ += static_cast<std::int64_t>(notes.size() - kept.size());
  keep_rows(kept, notes);
}

/// Where the last call begins of which device work was dropped.
TimePoint Beginning::end_of_whole_calls() const {
  TimePoint end{picoseconds((late_us_ - trace_.origin_us) * ps_per_us)};
  const RuntimeCalls& calls = trace_.calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls.correlation[i] == first_correlation_) end = std::min(end, calls.begin[i]);
  }
  return end;
}

void Beginning::finish() {
  if (late_us_ == never) return;
  const TimePoint end = end_of_whole_calls();
  const bool had_steps = any_step(trace_.annotations);
  keep_before(end, first_correlation_);
  keep_marks_before(end);
  const std::string kept = fmt::format("{:.3f} s", to_us(end - first_begin(trace_)) / 1e6);
  if (had_steps && !any_step(trace_.annotations)) {
    fail(fmt::format("no whole step in the first {}, of which the events were kept", kept),
         fmt::format("steps of fewer than {} events", most_rows_ / 2));
  }
  trace_.losses.add(
      later_events, Severity::warning,
      fmt::format("events behind the first {}: of a trace of more than {} events that tandem uses "
                  "the beginning is kept, in whole steps where they are marked",
                  kept, most_rows_),
      late_events_);
}

}  // namespace tandem
