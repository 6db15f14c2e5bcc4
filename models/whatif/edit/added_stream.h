// Streams that a what-if adds to a step, and what works on several streams wait for.
#pragma once

#include <cstdint>
#include <string>

#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "sim/core/collective.h"

namespace tandem {

class AddedStream {
 public:
  /// Both must outlive it.
  AddedStream(Step& step, const HostModel& host, std::string name);

  /// `work` runs on the stream instead of its own, as soon as what came before it there is over.
  void take(std::uint32_t work);
  /// The same of a collective, which takes part in `message`.
  void take(std::uint32_t work, const Collective& message);

 private:
  Step& step_;
  Duration gap_;
  StreamId stream_;
};

/// The work before `work` on its stream, or none.
std::uint32_t before_on_stream(const Plan& plan, std::uint32_t work);

/// `work` also waits for an event of another stream.
void wait_for(const WorkEdge& event, std::uint32_t work, Plan& plan);

}  // namespace tandem
