// One side of a comparison: what a result says of the time of one step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/fields/json_fwd.h"
#include "sim/core/time.h"
#include "sim/metrics/critical_path.h"

namespace tandem {

/// Device time of a step that shares a name.
struct DeviceTime {
  std::string name;
  std::int64_t count = 0;
  Duration time{};
  std::string op, layer;  // of most of it; of kernels only
};

struct DiffSide {
  std::string path;      // of the trace or of the result
  std::string scenario;  // GPU, mode, batch, precision, in words
  Duration step{};       // time of one step
  std::vector<StepPart> parts;
  Duration device{};  // time of all device work of a step, whether or not anything waits for it
  std::vector<DeviceTime> layers, ops, kernels;
  std::vector<std::pair<std::string, double>> metrics;  // the numbers of "step", by name
};

/// Of an object of schema result_schema. `file`: where it stands, for errors and as the side's
/// name. Errors: InputError for another schema and for what is missing or no time, count or text.
DiffSide read_side(const Json& result, const std::string& file);

/// Whether a file that begins so is a result of tandem, rather than a trace.
bool is_result(std::string_view prefix);

}  // namespace tandem
