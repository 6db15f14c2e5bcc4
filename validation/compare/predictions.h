// Results of the predictions that cases compare, each computed once, whoever asks first.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "models/runtime/modes.h"
#include "sim/predict/result.h"

namespace tandem {

/// What cases vary of ReplayOptions; two equal ones have the same result.
struct Asked {
  std::string trace;
  std::string second_trace;  // for the batch law; empty: none
  std::optional<std::int64_t> batch;
  std::string precision;
  std::string gpu;
  std::string host = "default";
  Mode mode = Mode::as_traced;
  GraphScope graph_scope = GraphScope::step;
  std::string compiler = "inductor";
  std::string attention = "keep";
  std::string cache = "warm";
  std::string counters;
  auto operator<=>(const Asked&) const = default;
};

/// May be asked from several threads.
class Predictions {
 public:
  explicit Predictions(std::string configs);
  ~Predictions();
  Predictions(const Predictions&) = delete;
  Predictions& operator=(const Predictions&) = delete;

  /// Errors: InputError from the trace.
  const Result& of(const Asked& asked);
  const std::string& configs() const { return configs_; }

 private:
  struct Entry;
  std::string configs_;
  std::mutex mutex_;
  std::map<Asked, std::unique_ptr<Entry>> entries_;
};

}  // namespace tandem
