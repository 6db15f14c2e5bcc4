// What is kept of a trace that has more events than memory should hold: its beginning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/bounds/trace_size.h"
#include "sim/trace/trace.h"

namespace tandem {

/// The loss that counts events which were not kept.
inline constexpr std::string_view later_events = "later_events";

/// Events come in any order of time: PyTorch writes the operations of the whole run before its
/// first kernel. Whenever `most_rows` are kept, the later half of them goes, and so does, from then
/// on, every event that begins where that half did or later. What stays is a run that was recorded
/// for a shorter time, whatever the order of the file.
class Beginning {
 public:
  explicit Beginning(Trace& trace, std::size_t most_rows = limits::rows)
      : trace_(trace), most_rows_(most_rows) {}

  /// Whether an event that begins in this microsecond of the trace's clock is too late to be kept;
  /// makes room for it if it is not. Errors: InputError if all events begin at once.
  bool is_late(std::int64_t begin_us) {
    if (rows_ >= most_rows_) drop_later_half();
    return late_us_ != never && begin_us >= late_us_;
  }
  void count_row() { ++rows_; }
  /// An event that is late. `correlation` joins a call to its device work; -1: none.
  void drop(std::int64_t correlation);
  /// Rows of HostOps that an importer remembers: they follow the rows.
  std::vector<std::uint32_t>& remembered_ops() { return remembered_ops_; }

  /// Drops what is not whole: calls of which device work is missing and what comes after them,
  /// marks that end later. Errors: InputError if no step that was marked is whole.
  void finish();

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void drop_later_half();
  /// Drops events that begin at `end` or later, but for device work of calls whose id is smaller
  /// than `before_correlation`.
  void keep_before(TimePoint end, std::int64_t before_correlation);
  void keep_marks_before(TimePoint end);
  void note_correlation(std::int64_t correlation);
  std::int64_t us_of(TimePoint time) const;
  TimePoint end_of_whole_calls() const;
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;

  Trace& trace_;
  std::size_t most_rows_;
  std::size_t rows_ = 0;
  std::int64_t late_us_ = never;            // of the trace's clock
  std::int64_t late_events_ = 0;            // that were dropped
  std::int64_t first_correlation_ = never;  // of these: ids ascend with the calls
  std::vector<std::uint32_t> remembered_ops_;
};

}  // namespace tandem
