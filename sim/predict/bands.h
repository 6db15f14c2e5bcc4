// How far off a prediction may be: the 90 % interval of a time, from the residuals of validation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/step/memory/peak_memory.h"
#include "models/whatif/transform_report.h"
#include "sim/core/fields/provenance.h"
#include "sim/engine/plan.h"

namespace tandem {

/// Measured over predicted lies between the two in nine of ten cases.
struct Factors {
  double low = 1;
  double high = 1;
  std::vector<Provenance> origins = {};  // of low and high
  bool verified = true;                  // residuals were measured
};

/// What the host time of a step was predicted from; each has residuals of its own.
enum class HostBasis : std::uint8_t {
  trace,          // the profiled host, slowed down by the profiler and timed in another run
  measured_step,  // the same, and a step that the user timed without the profiler
  kept,           // the trace as it is, profiler included
  executor,       // operations that run on the host's threads themselves
  network,        // no trace
  compiled,       // code that no trace has seen
};

/// How the traced kernels of a step are launched.
enum class Launched : std::uint8_t {
  by_calls,
  in_graphs,   // as nodes of CUDA graphs
  recaptured,  // the same, where capture may bring other kernels than the traced step has
};

/// What most of the critical path of a step is.
enum class StepLimit : std::uint8_t { gpu, host, balance };
std::string_view to_string(StepLimit limit);

/// Shares of the critical path on the GPU.
struct LimitShares {
  double host_below = 0;  // of a step that the host limits
  double gpu_above = 0;   // of one that the GPU limits
  std::vector<Provenance> origins;
};

// Their names in configs/bands.json.
std::string_view to_string(HostBasis basis);
std::string_view to_string(Launched launched);
std::string_view to_string(MemoryBasis basis);

/// configs/bands.json.
struct BandConstants {
  std::vector<Factors> host;  // of host time; by HostBasis
  std::vector<Factors> gpu;   // of traced kernels' own time; by Launched
  Factors whole_trace;        // of a step that is the whole trace, for nothing repeats itself
  Factors network;            // of the GPU time of a step that was never traced, a multiple
  double collectives = 0;     // multiple of the error that the law of collectives expects
  /// Multiples of the relative error that a what-if expects, by its name: residual over expected.
  struct Multiple {
    std::string what_if;
    Factors times;
  };
  std::vector<Multiple> what_ifs;
  std::vector<Factors> memory;            // of a peak of memory; by MemoryBasis
  std::vector<Multiple> memory_what_ifs;  // of a peak that a what-if changed
  LimitShares limits;
  StepLimit limit(double gpu_share) const;
  const Factors& of(HostBasis basis) const { return host[static_cast<std::size_t>(basis)]; }
  const Factors& of(Launched launched) const { return gpu[static_cast<std::size_t>(launched)]; }
  const Factors& of(MemoryBasis basis) const { return memory[static_cast<std::size_t>(basis)]; }
  /// Of what-if `name`. Errors: std::logic_error if it has no row.
  const Factors& of(std::string_view name) const;
};

/// Errors: InputError `file:key: found X, expected Y`.
BandConstants load_bands(const std::string& path);

/// The plan with all host time taken `factor` times.
Plan with_host(Plan plan, double factor);

/// The 90 % interval of a time.
struct Band {
  double low_us = 0;
  double high_us = 0;
  double half_width_us() const { return (high_us - low_us) / 2; }
};

/// The step on a host as fast, and as slow, as nine of ten are.
struct HostRange {
  double fast_us = 0;
  double slow_us = 0;
};

/// What the band of a step was made from: what its constants are fitted on.
struct BandParts {
  HostBasis basis = HostBasis::trace;
  HostRange host;
  Launched launched = Launched::by_calls;
  double gpu_share = 0;                                       // of the critical path
  double generated_error = 0;                                 // of a step that was never traced
  UntoldShare untold = {};                                    // of the GPU time
  std::vector<std::pair<std::string, double>> what_ifs = {};  // relative errors that they expect
  std::optional<MemoryBasis> memory = {};                     // of the peak of memory
  std::vector<std::string> unverified = {};  // factors that no measurement has confirmed
};

/// Natural logarithms of the ends of a relative interval: low <= 0 <= high.
struct LogBand {
  double low = 0;
  double high = 0;
};

/// `band` so wide that what is untold may be there or not.
LogBand with_untold(LogBand band, const UntoldShare& untold);

/// What the what-ifs expect to be off by, in kernel time.
LogBand what_if_band(const BandConstants& constants, const std::vector<TransformReport>& what_ifs);

/// Of a step that follows its kernels: that, and traced kernels as they are launched or, where
/// `generated_error` is not 0, kernels that were never traced.
LogBand gpu_band(const BandConstants& constants, Launched launched, double generated_error,
                 const std::vector<TransformReport>& what_ifs);

/// Of kernel time alone. What-ifs are measured by the kernel time that comes out, so what traced
/// kernels are off by is among their residuals and does not count once more.
LogBand kernel_time_band(const BandConstants& constants, Launched launched, double generated_error,
                         const std::vector<TransformReport>& what_ifs);

/// Of a peak of memory.
LogBand memory_band(const BandConstants& constants, MemoryBasis basis,
                    const std::vector<TransformReport>& what_ifs);

/// The factors of a step time that no measurement has confirmed: of the host, of what-ifs.
std::vector<std::string> unverified_factors(const BandConstants& constants, const BandParts& parts);

/// Of a step of `time_us` whose critical path is on the GPU for `gpu_share`. `other_us`: what else
/// it may be off by, to either side.
Band step_band(double time_us, const HostRange& host, const LogBand& gpu, double gpu_share,
               double other_us = 0);

/// How much more a changed step gets done than another, and the 90 % interval of that.
struct SpeedUp {
  double base_us = 0;  // of the other, the base
  double value = 1;
  double low = 1;
  double high = 1;
};

/// One of the two.
struct ComparedStep {
  double time_us = 0;
  double samples = 1;
  const BandParts& parts;
  double other_us = 0;  // what else its time may be off by, to either side
};

/// The interval has what the hosts of both steps may be off by, what the what-ifs expect to be off
/// by in kernel time and, where kernels are launched in another way, what that was seen to be off
/// by. Hosts of two runs of one program differ as those of two programs do (validation/fits/bands),
/// so they count apart; of a generated step's host what nobody knows of it is the same of both, but
/// for what two runs differ by. `anew`: the changed step was generated by itself, so that its
/// kernels are off by what such steps are.
SpeedUp speed_up(const BandConstants& constants, const ComparedStep& base,
                 const ComparedStep& changed, const std::vector<TransformReport>& what_ifs,
                 bool anew = false);

}  // namespace tandem
