// Results of the predictions that cases compare, each computed once, whoever asks first.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "models/runtime/modes.h"
#include "models/whatif/transform.h"
#include "sim/predict/predict.h"
#include "validation/compare/once_map.h"

namespace tandem {

/// What cases and claims vary of ReplayOptions; two equal ones have the same result.
struct AskedPrediction {
  std::string trace;         // or a network
  std::string second_trace;  // for the batch law; empty: none
  WhatIfs what_ifs;
  std::string host = "default";
  Mode mode = Mode::as_traced;
  GraphScope graph_scope = GraphScope::step;
  std::string cache = "warm";
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
  const std::string& configs() const { return configs_; }

 private:
  std::string configs_;
  OnceMap<std::string, Configs> by_host_;
};

/// May be asked from several threads.
class Predictions {
 public:
  explicit Predictions(std::string configs);

  /// Errors: InputError from the trace.
  const Result& of(const AskedPrediction& asked);
  const std::string& configs() const { return replays_.configs(); }

 private:
  Replays replays_;
  OnceMap<AskedPrediction, Result> results_;
};

}  // namespace tandem
