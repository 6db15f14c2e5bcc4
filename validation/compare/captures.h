// Where the captures of a case lie, and what was measured beside their traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validation/compare/cases.h"

namespace tandem {

/// "gpt2-train-amp-eager-b4" of ".../gpt2-train-amp-eager-b4.json.zst".
std::string capture_name(const std::string& path);

/// What was measured beside a trace, without the profiler.
std::string meta_of(const std::string& trace_path);
/// A number of it. Errors: InputError if it is not there or not positive.
double meta_number(const std::string& trace_path, const std::string& key);
/// The batch of the program, where the file beside the capture states it.
std::optional<std::int64_t> stated_batch(const std::string& trace_path);
/// Iteration time in a loop without the profiler.
double measured_us(const std::string& trace_path);

/// Nsight Compute's report of the same workload, or nothing.
std::optional<std::string> counters_of(const std::string& trace_path);

/// What was measured of each operation of a network, beside it.
std::string operators_of(const std::string& network_path);

/// The files of a CasePair.
struct PairPaths {
  std::string base;
  std::string second_base;  // empty: none
  std::string measured;
};

/// A published rate and the file of its network.
struct FoundRate {
  std::string network;
  PublishedRate rate;
};

struct FoundCaptures {
  std::vector<std::string> traces;   // by name; a capture that two folders hold counts once
  std::vector<PairPaths> pairs;      // in the order of the case
  std::vector<FoundRate> rates;      // in the order of the case
  std::vector<std::string> missing;  // names that no data folder holds
};

/// Looks for what the case names in the folders, the first one first.
FoundCaptures find_captures(const Case& c, const std::vector<std::string>& data_folders);

}  // namespace tandem
