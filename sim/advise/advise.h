// What would make a step faster, ranked: every candidate predicted, the best ones combined.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/predict/network_run.h"

namespace tandem {

/// A step to give advice on: of a trace, or of a network that is generated anew where a candidate
/// changes its GPU, batch or layout.
struct AdviceSubject {
  ReplayOptions options;  // without what-ifs, in the mode as traced
  std::optional<NetworkRequest> network;
  Configs configs;  // of the options
  TracedRun run;
};

/// Reads options.trace_path, a trace or a network; of a network "gpu" and "batch" of the what-ifs
/// say where and how large it is. Errors: InputError.
AdviceSubject load_subject(ReplayOptions options);
/// The same for callers that ask often: of a trace, with the configs of the options, both of which
/// they have read.
AdviceSubject subject_of(Trace trace, ReplayOptions options, Configs configs);

/// A step as one candidate, or several that go together, would make it.
struct AdvisedRow {
  std::string name;
  std::string how;      // what to change in a program of PyTorch; empty for others
  std::string options;  // of `tandem replay` or `tandem run`, to see all of it
  bool is_base = false;
  bool combined = false;
  bool same_work = true;           // at the batch and on the GPU of the base
  SpeedUp speed_up;                // throughput over that of the base
  std::string why;                 // empty of the base
  std::vector<std::string> notes;  // what the prediction warns of; of others than the base,
                                   // beyond what that warns of
  Result result;
  bool fits() const { return !result.memory || result.memory->fits; }
};

/// What was not predicted, and why.
struct Refusal {
  std::string name;
  std::string reason;
};

struct Advice {
  /// The base is among them. First what fits its GPU, then the rest; the most throughput first.
  std::vector<AdvisedRow> rows;
  std::vector<Refusal> refused;
  bool generated = false;  // the step is that of a network
  const AdvisedRow& base() const;
  /// The best row that fits but the base; those with the same batch on the same GPU, or the others.
  /// Null: there is none.
  const AdvisedRow* best(bool same_work) const;
  /// No row that fits has a band that lies above 1.
  bool nothing_helps() const;
};

/// `gpus`: other GPUs to try. `threads`: 0: as many as the machine has; the advice is the same with
/// any number. Errors: InputError for the step itself and for GPUs that nobody knows; what
/// candidates need and the step does not have is in Advice::refused.
Advice advise(const AdviceSubject& subject, const std::vector<std::string>& gpus, int threads = 0);

}  // namespace tandem
