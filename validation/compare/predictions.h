// Results of the predictions that cases compare, each computed once, whoever asks first.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "models/kernel/kernel.h"
#include "models/runtime/modes.h"
#include "models/whatif/transform.h"
#include "sim/predict/predict.h"
#include "validation/compare/once_map.h"
#include "validation/compare/recent_map.h"

namespace tandem {

/// What cases and claims vary of ReplayOptions; two equal ones have the same result.
struct AskedPrediction {
  std::string trace;         // or a network
  std::string second_trace;  // for the batch law; empty: none
  WhatIfs what_ifs;
  std::string host = "default";
  Mode mode = Mode::as_traced;
  GraphScope graph_scope = GraphScope::step;
  CacheState cache = CacheState::warm;
  std::string counters;
  Profiler profiler = Profiler::remove;
  std::optional<std::int64_t> length;  // of a sequence of a network
  auto operator<=>(const AskedPrediction&) const = default;
};

/// The answer to what is asked, whole and not kept; the configs of each host are read once. May be
/// asked from several threads.
class Replays {
 public:
  /// `configs`: the folder.
  explicit Replays(std::string configs);

  /// Errors: InputError from the trace, the network or what is asked of it.
  Replay of(const AskedPrediction& asked);
  ReplayOptions options_of(const AskedPrediction& asked) const;
  const Configs& configs_of(const std::string& host);
  const std::string& configs() const { return configs_; }

 private:
  std::string configs_;
  OnceMap<std::string, Configs> by_host_;
};

/// What of a question says how its trace is read and understood.
struct AskedRun {
  std::string trace;
  std::string host;
  CacheState cache = CacheState::warm;
  std::string counters;
  Profiler profiler = Profiler::remove;
  auto operator<=>(const AskedRun&) const = default;
};

/// The numbers of each answer are kept, and of the traces those that were asked about last: who
/// asks about one trace after another has each read once. May be asked from several threads.
class Predictions {
 public:
  explicit Predictions(std::string configs);

  /// Errors: InputError from the trace.
  const Result& of(const AskedPrediction& asked);
  /// The whole answer, not kept.
  Replay replay_of(const AskedPrediction& asked) { return replays_.of(asked); }
  const std::string& configs() const { return replays_.configs(); }

 private:
  Result result_of(const AskedPrediction& asked);
  std::shared_ptr<const TracedRun> run_of(const AskedPrediction& asked, const std::string& trace,
                                          const ReplayOptions& options);

  Replays replays_;
  OnceMap<AskedPrediction, Result> results_;
  RecentMap<std::string, Trace> traces_{16};  // read once for several hosts
  RecentMap<AskedRun, TracedRun> runs_{32};   // of about 30 MB each
};

}  // namespace tandem
