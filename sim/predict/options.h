// What a prediction is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/kernel/kernel.h"
#include "models/runtime/measured_plan.h"
#include "models/runtime/modes.h"
#include "models/whatif/transform.h"
#include "sim/predict/result.h"
#include "sim/trace/import.h"
#include "sim/trace/step_search.h"
#include "workloads/network.h"

namespace tandem {

struct ReplayOptions {
  std::string trace_path;
  std::string base_path;   // a second trace of the same model at another batch
  std::string traced_gpu;  // the config of the traced GPU, where the trace does not tell which
  StepChoice steps;        // where the trace does not mark them, or marks others
  std::int64_t traced_batch = 0;  // items of a traced step; 0: what the trace tells
  double peak_memory_bytes = 0;   // of the traced run; 0: what the trace tells
  WhatIfs what_ifs;
  std::string host = "default";
  double measured_step_us = 0;  // of the traced step without the profiler; 0: nobody timed it
  ModeOptions mode;
  JobRequest job;
  Profiler profiler = Profiler::remove;
  CacheState cache = CacheState::warm;
  std::string counters_path;  // Nsight Compute CSV; empty: the kernel model alone
  std::string configs;        // folder with gpus/, hosts/ and kernels/
  ImportOptions import;
  std::optional<Task> network_task;  // nothing: what a network was recorded with; of an ONNX file,
                                     // which says neither, train
  std::string network_optimizer;     // empty: the default one
  std::optional<std::int64_t> network_length;  // of a sequence; nothing: the network's default
};

/// How the second trace of a prediction from two is read: what was said of the first one's steps,
/// batch and memory does not hold for it.
ReplayOptions options_of_second(ReplayOptions options);

/// "train" or "infer". Errors: InputError at `file` and `place`.
Task parse_task(std::string_view text, std::string_view file, std::string_view place);

/// The name that `text` stands for, as users may spell it (models/whatif/aliases.h).
std::string canonical_mode(std::string_view text);

/// A mode as users write it: a name of modes(), or jit_alias, which stands for "compile" by
/// `compiler` (empty: inductor). Errors: InputError that lists the names.
void set_mode(std::string_view text, std::string_view compiler, Mode& mode, WhatIfs& what_ifs);
/// Errors: InputError for an option that only says how, without the what-if that it belongs to.
void check_asked(const WhatIfs& asked, Mode mode);
/// What set_mode reads as this.
std::string_view mode_text(Mode mode, const WhatIfs& what_ifs);
/// The names that set_mode knows.
std::string mode_texts(std::string_view separator);

}  // namespace tandem
