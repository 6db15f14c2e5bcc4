// Validation cases: which prediction is compared with which measurement, and how close it must be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/kernel/kernel.h"
#include "models/runtime/modes.h"
#include "models/whatif/transform.h"

namespace tandem {

enum class CaseKind : std::uint8_t {
  fidelity,    // re-simulated against traced span of every step
  unprofiled,  // predicted step time against iter_s, measured without the profiler
  counters,    // `quantity` over kernel time, cold caches, against Nsight Compute's counters
  // Pairs: the base in the case's mode and precision, on its GPU, at the batch and with the GPU of
  // the measured capture, against the measured capture.
  gpu_time,         // GPU kernel time
  compute_time,     // GPU kernel time without copies and collectives
  step_time,        // step time against iter_s, measured without the profiler
  kernel_count,     // pieces of device work
  level,            // `quantity` over kernel time, against the replayed capture or its counters
  peak_memory,      // of the caching allocator, against peak_alloc, measured without the profiler
  power,            // average power of the step against power_w, measured without the profiler
  calibrated_host,  // as unprofiled, for host-bound captures; the host calibrated on the other ones
  mode_ratio,  // as step_time, but the ratio to the base's own mode, prediction against measurement
  energy_change,  // energy per sample over the base's own; measured: power x window time
  throughput,     // samples a second of a network, against what somebody published
  operators,      // `quantity` of each operation of a network, against NAME.csv beside it
};

/// Which captures an `unprofiled` case takes, by what limits them (compare.cpp: host_bound_ratio).
enum class LimitedBy : std::uint8_t { any, gpu, host };

/// What somebody published of a network, its throughput or its GPU time: a fact with its source, no
/// capture.
struct PublishedRate {
  std::string network;                 // below a data folder, no suffix
  WhatIfs what_ifs;                    // GPU, batch, precision, layout ... that it ran with
  std::optional<std::int64_t> length;  // of a sequence
  double per_s = 0;                    // samples a second, for kind throughput
  double gpu_ms = 0;                   // sum of the kernels of a step, for kind gpu_time
  std::string source;
};

/// A capture to predict from and the one to predict, as paths below a data folder, no suffix.
struct CasePair {
  std::string base;
  std::string second_base;  // for the batch law; empty: none
  std::string measured;
};

/// Where a figure lies that misses its limit; outside, the gap has closed or grown.
struct GapBand {
  double lower = 0;
  double upper = 0;
};

/// A miss of the limits that is accepted for now, under a number of DEVIATIONS.md.
struct Deviation {
  std::int64_t number = 0;
  std::optional<GapBand> mean;   // of the mean error
  std::optional<GapBand> worst;  // of the worst error
};

/// One question asked of one set of captures: a row of the error table.
struct Case {
  std::string file;
  std::string question;
  std::string description;  // of the question
  std::string set;          // which captures
  std::string note;         // what is special about the set
  CaseKind kind = CaseKind::fidelity;
  LimitedBy bound = LimitedBy::any;
  Mode mode = Mode::as_traced;
  GraphScope graph_scope = GraphScope::step;
  std::string host = "default";         // config of the host
  CacheState cache = CacheState::warm;  // of operators: as --cache
  WhatIfs what_ifs;                     // of the prediction, by the names of their options
  bool compiles_by_mode = false;        // the what-if compile is there for mode jit
  std::string quantity;                 // of the result's kernel_time, for counters and level
  bool absolute = false;              // errors are differences (of ratios, in points), not relative
  std::vector<std::string> rests_on;  // "hosts/default": configs whose constants are in question
  std::string folder;                 // that traces and pairs lie in, below a data folder
  std::vector<std::string> traces;    // no suffix, or "FOLDER/*", below a data folder
  std::vector<std::string> excluded;  // name prefixes left out of "*", each with its reason in note
  std::vector<CasePair> pairs;
  std::vector<PublishedRate> rates;
  double mean_limit = 0;  // of the absolute error; 0: not enforced, but one of the two is
  double worst_limit = 0;
  /// Limits hold for at least so many comparisons; fewer say too little.
  std::int64_t least_rows = 0;
  std::optional<Deviation> deviation;  // nothing: a miss of the limits is a failure
};

/// "question, set", as messages call it.
std::string name_of(const Case& c);

/// Every set of every question, one file a question. Errors: InputError for an unreadable or
/// malformed file.
std::vector<Case> load_cases(const std::string& folder);

}  // namespace tandem
