// What a sweep is asked: an experiment file, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Axes of a key of the GPU begin so.
inline constexpr std::string_view gpu_prefix = "gpu.";

struct TransformOption;

inline constexpr std::string_view experiment_schema = "tandem.experiment/1";

/// Points of one sweep; more is a mistake in the file rather than a wish.
inline constexpr std::int64_t max_sweep_points = 1'000'000;

/// One thing that differs between points. Values are texts as reports show them: "64", "amp",
/// "6000"; "x0.5" is half of what the point's GPU has (axes called gpu.KEY only).
struct Axis {
  std::string name;  // mode, host, an option of a what-if, or gpu.KEY
  std::vector<std::string> values;
};

enum class Goal : std::uint8_t { min, max };

/// The points that no other point beats in both metrics.
struct ParetoQuestion {
  std::string x, y;  // names of sweep metrics
  Goal x_goal = Goal::min;
  Goal y_goal = Goal::max;
};

/// d ln(metric) / d ln(parameter) by central differences around one scenario.
struct ElasticityQuestion {
  std::vector<std::string> parameters;  // gpu.KEY
  double step = 0.1;                    // relative change to both sides
  std::string metric = "time_us";
  std::vector<Axis> at;  // one value each; what is not named is as traced
};

struct Experiment {
  std::string name;               // of the file, without .json
  std::string trace;              // profiler trace; in the file relative to the file's folder
  std::string task;               // of a network: train or infer; empty: as recorded, else train
  std::string optimizer;          // of an ONNX file; empty: the default one
  std::int64_t seq = 0;           // length of a network's sequence; 0: its default
  std::string traced_gpu;         // where the trace does not tell; empty: what the trace tells
  double samples = 0;             // of a job of such steps; 0: none asked for
  double price = 0;               // of a GPU hour; 0: not asked for
  std::string base;               // a second trace of the model at another batch; empty: none
  std::int64_t steps = 0;         // iterations in the trace; 0: found
  std::string step;               // annotation that begins a step; empty: found
  std::int64_t traced_batch = 0;  // items of a traced step; 0: what the trace tells
  double peak_memory_gb = 0;      // of the traced run; 0: what the trace tells
  double measured_step_s = 0;     // of the traced step without the profiler; 0: nobody timed it
  std::vector<Axis> axes;
  std::vector<std::string> metrics;  // columns of the text table
  std::optional<ParetoQuestion> pareto;
  std::optional<ElasticityQuestion> elasticity;
};

/// The keys of an experiment file; which are needed is said in their documentation.
std::span<const Field<Experiment>> experiment_fields();

/// The option that an axis is, or null; the compiler of mode jit is the value of one too.
const TransformOption* option_of_axis(const std::string& axis);

/// `metrics`: names that `metrics`, `pareto` and `elasticity.metric` may use; the GPU keys and the
/// names of modes are checked where the point is predicted.
/// Errors: InputError `file:key: found X, expected Y` for unknown keys, empty axes, duplicates,
/// wrong types or more than max_sweep_points points.
Experiment read_experiment(const std::string& path, std::span<const std::string_view> metrics);
Experiment parse_experiment(const Json& json, const std::string& path,
                            std::span<const std::string_view> metrics);

}  // namespace tandem
