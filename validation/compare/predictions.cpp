#include "validation/compare/predictions.h"

#include "sim/predict/network_run.h"

namespace tandem {

Predictions::Predictions(std::string configs) : configs_(std::move(configs)) {}

Replay replay_asked(const AskedPrediction& asked, const std::string& configs) {
  ReplayOptions o;
  o.trace_path = asked.trace;
  o.base_path = asked.second_trace;
  o.what_ifs = asked.what_ifs;
  o.host = asked.host;
  o.mode = {asked.mode, asked.graph_scope};
  o.profiler = asked.profiler;
  o.cache = asked.cache;
  o.counters_path = asked.counters;
  o.configs = configs;
  if (!is_network(asked.trace)) return replay(o);
  NetworkRequest request = take_request(asked.trace, o);
  request.length = asked.length;
  return run_network(request, o);
}

const Result& Predictions::of(const AskedPrediction& asked) {
  return results_.of(asked, [&] { return replay_asked(asked, configs_).prediction.result; });
}

}  // namespace tandem
