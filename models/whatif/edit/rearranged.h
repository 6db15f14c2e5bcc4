// A step put together anew from parts of it: some run once more, elsewhere too, some are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// Host items one behind the other with their works, and what the trace says of their time:
/// operations, annotations and calls of modules that begin in it.
struct HostPart {
  std::uint32_t first = 0, end = 0;  // items of the plan
  TimePoint from = TimePoint::min(), until = TimePoint::max();
  /// 0: the step itself; else it runs once more. The parts of one copy have one number, ascending.
  std::uint32_t copy = 0;
  std::optional<ThreadId> of = {};     // only what this thread did
  std::uint32_t runs_like = no_index;  // all of a copy runs on the thread of this item
  /// What the part makes a copy makes anew, in memory of its own; else it makes the same again.
  bool makes_anew = false;
};

struct Rearranged {
  Step step;
  /// Per part: what its traced times are moved by in the new trace.
  std::vector<Duration> shift;
  /// Per part: its items in the new plan, in order.
  std::vector<std::uint32_t> first_item, end_item;
};

/// The parts one behind the other; those of the step itself in their order, and one of them comes
/// first. What refers to a part that is there more than once means its own copy, else the last one
/// before it; what refers to one that is left out means what its thread did before. Copies have
/// numbers of autograd, calls and operations of their own, as if they had been recorded.
Rearranged rearranged(const Step& step, std::span<const HostPart> parts);

/// Errors: InputError for steps of which `option` cannot put parts together: such as CUDA graphs or
/// compiled ones launched.
void check_eager(const Step& step, const Dataflow& flow, std::string_view option);

/// The first item of a thread in [first, end), or no_index.
std::uint32_t first_of_thread(const Step& step, ThreadId thread, std::uint32_t first,
                              std::uint32_t end);

/// The first item of a call that begins at `at` or later, or the end of the step behind the last.
std::uint32_t first_item_from(const Step& step, TimePoint at);

}  // namespace tandem
