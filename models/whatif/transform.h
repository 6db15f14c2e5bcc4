// What-ifs as rows of one table. A row says what may be asked, what that needs of a trace and how a
// step is rewritten; options of the command line, `describe`, axes of sweeps, keys of validation
// cases, JSON and summary iterate over the table. A new what-if is a file with a row's functions
// and its line in transforms.cpp.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/counters/cost_constants.h"
#include "models/kernel/residual.h"
#include "models/step/memory/peak_memory.h"
#include "models/step/step.h"
#include "models/whatif/transform_report.h"
#include "sim/core/error.h"

namespace tandem {

struct GpuCatalogue;
struct HostModel;
class TimeConstants;
struct BatchLaw;
struct FusionLaw;
struct PrecisionLaw;
struct OptimizerLaw;
struct RetargetErrors;
struct LibraryNames;
struct MeasuredLayers;
struct CollectiveLaw;
struct CompiledHostLaw;
struct RepeatLaw;
struct LibraryProducts;
struct DeviceMemory;

/// Asks for nothing, as a value of any option: in sweeps, one of several.
inline constexpr std::string_view asks_nothing = "as-traced";

/// The value of an option of kind flag that is given.
inline constexpr std::string_view asks_for_flag = "yes";

/// What is asked of the what-ifs, by option: "batch" -> "128".
struct WhatIfs {
  std::vector<std::pair<std::string, std::string>> values;

  /// In place of what was there; empty and asks_nothing take it away.
  void set(std::string_view option, std::string_view value);
  void set(std::string_view option, std::int64_t value);
  /// Beside what is there, for options of kind assignments.
  void add(std::string_view option, std::string_view value);
  bool has(std::string_view option) const { return find(option) != nullptr; }
  /// The value, or null.
  const std::string* find(std::string_view option) const;
  /// The value; empty if it is not asked for.
  std::string get(std::string_view option) const;
  std::vector<std::string> all(std::string_view option) const;
  friend auto operator<=>(const WhatIfs&, const WhatIfs&) = default;
};

enum class OptionKind : std::uint8_t {
  name,            // one of TransformOption::names
  count,           // a positive whole number
  number,          // a positive number
  gpu,             // a GPU config
  number_or_none,  // a positive number, or "none"
  assignments,     // gpu.KEY=VALUE, any number of them; sweeps have axes gpu.KEY
  flag,            // --NAME without a value; in sweeps and cases asks_for_flag
};

struct TransformOption {
  std::string_view name;  // --NAME, an axis of sweeps, a key of validation cases
  OptionKind kind = OptionKind::name;
  std::string_view doc;
  std::vector<std::string_view> names = {};  // of kind name, and of a flag asks_for_flag
  bool asks = true;                          // false: only says how
  std::string_view unit = {};                // of numbers, as names of columns end
  double most = 1e9;                         // of numbers: clocks in MHz, factors
  bool for_graphs = false;  // also says how a CUDA graph is captured, without the what-if
};

/// A trace of the model, as transforms see it.
struct TracedModel {
  const Step& step;
  std::string_view path;
  Framework framework = Framework::unknown;
  const GpuArch* gpu = nullptr;       // null: no config describes it
  std::optional<std::int64_t> batch;  // nothing: not recognised
};

/// What a transform may read.
struct TransformInput {
  TracedModel traced;
  const WhatIfs& asked;
  const GpuCatalogue& gpus;
  const HostModel& host;
  const TimeConstants& time;
  const CostConstants& costs;
  const BatchLaw& batch;
  const FusionLaw& fusion;
  const PrecisionLaw& precision;
  const OptimizerLaw& optimizer;
  const RetargetErrors& retarget;
  const LibraryNames& libraries;
  const MeasuredLayers& layers;
  const CollectiveLaw& collectives;
  const CompiledHostLaw& compiled_host;
  const RepeatLaw& repeats;
  const LibraryProducts& library_products;  // those of `precision`
  const DeviceMemory& device_memory;
  double floor_share = 1;              // of a measured time: its launch floor is at most this
  const PeakMemory* memory = nullptr;  // of the traced step; null: not known
  bool knows_compiled_memory = false;  // the peak of the compiled step is known from its network
};

/// What of a step stays in memory between its kernels.
enum class KeptMemory : std::uint8_t {
  eager,     // what every operation leaves for the backward pass
  compiled,  // what a compiler saves where one is cheaper than the other
  least,     // the same; where that does not fit, what it must save at least
};

/// What a transform makes of the peak of memory, beyond the batch.
struct MemoryChange {
  KeptMemory kept = KeptMemory::eager;
  /// By liveness alone: of the traced step, and of what it became.
  std::optional<PeakMemory> before, after;
  LossList losses;  // where a peak is stated
};

/// What transforms rewrite, one after the other.
struct Rewritten {
  Step step;
  std::optional<GpuArch> gpu;                // it runs on; nothing: unknown
  std::optional<Step> second;                // of a second base, until the batch joins them
  std::optional<std::int64_t> second_batch;  // of that
  bool from_second = false;                  // the step has the rows of the second base
  bool changed = false;                      // no longer the traced step
  MemoryChange memory;
  LossList losses;
};

/// What a transform cannot do without; what is missing is an InputError.
struct TransformNeeds {
  bool batch = false;       // a recognised batch
  bool pytorch = false;     // operator shapes of an eager PyTorch run
  bool device_work = true;  // and a config of the GPU that did it
};

struct Transform {
  std::string_view name;
  std::string_view json;  // its object in the result
  std::string_view doc;
  std::vector<TransformOption> options;
  TransformNeeds needs = {};
  bool each_base = false;  // of two bases, each is rewritten by itself
  /// Called if one of the options that ask is given. Nothing: the trace is already what is asked
  /// for. Errors: InputError for what cannot be.
  std::optional<TransformReport> (*apply)(const TransformInput& input, Rewritten& out);
  /// Errors: InputError if the GPU that the step ends up on cannot do what is asked; null: it can.
  void (*check_target)(const TransformInput& input, const GpuArch& target) = nullptr;
  /// Writes into the report what only the step tells that all what-ifs left; null: nothing.
  void (*conclude)(const Step& step, TransformReport& report) = nullptr;
};

/// All of them, in the order of application.
std::span<const Transform> transforms();

/// Whether one of the row's options is given that ask for it.
bool is_asked(const Transform& transform, const WhatIfs& asked);
/// The option of that name, or null.
const TransformOption* find_option(std::string_view name);
/// The name that a value of kind name stands for (aliases.h); other values as they are.
std::string canonical_value(const TransformOption& option, std::string_view value);
/// Errors: InputError for a value that no option of this kind can have; `gpu`: looked up in `gpus`.
void check_option(const TransformOption& option, const std::string& value,
                  const GpuCatalogue& gpus);
/// A positive number. Errors: InputError.
double parse_number(std::string_view option, std::string_view value);
std::int64_t parse_count(std::string_view option, std::string_view value);

/// Applies what is asked for, in order; the reports of what changed anything. `second`: of the
/// second base, whose step out.second holds. Errors: InputError, also for an option that no row
/// has.
std::vector<TransformReport> apply_transforms(const TransformInput& input,
                                              const TransformInput* second, Rewritten& out);

}  // namespace tandem
