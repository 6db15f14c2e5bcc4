// Where the times of two steps differ.
//
// The time of a step is that of its critical path, and a path is the sum of its parts: host time,
// calls, kernels, gaps, waits, each of an operation, a type of layer, a kernel. So the difference
// of two steps is the sum over all parts of what they take on one side less what they take on the
// other, to the picosecond. A part that only one side has counts as zero on the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/diff/side.h"

namespace tandem {

/// Time that shares a name, on both sides.
struct DiffRow {
  std::string name;
  std::int64_t count_a = 0, count_b = 0;  // of kernels and copies; in `kinds` and `parts` of links
  Duration a{}, b{};
  Duration on_device{};  // of the change: kernels, gaps and waits of the device; the rest: host
  Duration change() const { return b - a; }
};

/// A part of the steps, as finely as results tell them apart.
struct DiffPart {
  StepPart part;  // without count and time
  DiffRow row;    // without a name
  /// Of the change: because there are more or fewer of them, at the mean time of both sides. The
  /// rest: because each takes longer or shorter. All of it where one side has none.
  Duration by_count() const;
};

/// Rows by the size of their change, largest first; they sum to `change`.
struct DiffTable {
  std::vector<DiffRow> rows;
  Duration change{};
};

/// What the step waits for.
struct DiffKind {
  PathKind kind = PathKind::host;
  DiffRow row;  // without a name
};

/// Device work, whether or not anything waits for it.
struct DeviceDiff {
  DiffTable layers, ops, kernels;
  Duration change{};
};

struct DiffMetric {
  std::string name;
  double a = 0, b = 0;
};

/// B less A.
struct Diff {
  std::string path_a, path_b;
  std::string scenario_a, scenario_b;
  Duration a{}, b{};            // time of a step
  Duration remainder{};         // of the change: not in any part
  double attributed_share = 1;  // of the change, 0..1
  double named_share = 1;  // of the parts' changes, each without its sign: of parts that name an
                           // operation or a kernel
  std::vector<DiffPart> parts;  // largest change first
  std::vector<DiffKind> kinds;  // largest change first
  DiffTable layers;             // by type of layer; host time is one row
  DiffTable ops;                // by operation
  DiffTable kernels;            // kernels on the critical path alone; sums to those of `kinds`
  DeviceDiff device;
  DiffTable only_a, only_b;         // operations that only one side has, on the path or off it
  std::vector<DiffMetric> metrics;  // that both sides have
  Duration change() const { return b - a; }
};

/// diff(a, b) is the negative of diff(b, a), row by row. Kernels whose operation one side does not
/// know, as those of CUDA graphs, are taken for what runs kernels of the same name on the other.
Diff diff(const DiffSide& a, const DiffSide& b);

}  // namespace tandem
