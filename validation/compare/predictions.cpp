#include "validation/compare/predictions.h"

#include <tbb/task_arena.h>

#include "sim/predict/network_run.h"

namespace tandem {

struct Predictions::Entry {
  std::once_flag once;
  Result result;
};

Predictions::Predictions(std::string configs) : configs_(std::move(configs)) {}
Predictions::~Predictions() = default;

const Result& Predictions::of(const Asked& asked) {
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Entry>& slot = entries_[asked];
    if (!slot) slot = std::make_unique<Entry>();
    entry = slot.get();
  }
  std::call_once(entry->once, [&] {
    ReplayOptions o;
    o.trace_path = asked.trace;
    o.base_path = asked.second_trace;
    o.what_ifs = asked.what_ifs;
    o.host = asked.host;
    o.mode = {asked.mode, asked.graph_scope};
    o.cache = asked.cache;
    o.counters_path = asked.counters;
    o.configs = configs_;
    // Isolated, so that this thread does not take up a task that waits for what it computes.
    tbb::this_task_arena::isolate([&] { entry->result = replay_or_run(o).prediction.result; });
  });
  return entry->result;
}

}  // namespace tandem
