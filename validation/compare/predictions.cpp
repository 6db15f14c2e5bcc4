#include "validation/compare/predictions.h"

#include "sim/predict/network_run.h"

namespace tandem {

Replays::Replays(std::string configs) : configs_(std::move(configs)) {}

Replay Replays::of(const AskedPrediction& asked) {
  ReplayOptions o;
  o.trace_path = asked.trace;
  o.base_path = asked.second_trace;
  o.what_ifs = asked.what_ifs;
  o.host = asked.host;
  o.mode = {asked.mode, asked.graph_scope};
  o.profiler = asked.profiler;
  o.cache = asked.cache;
  o.counters_path = asked.counters;
  o.configs = configs_;
  const Configs& configs =
      by_host_.of(asked.host, [&] { return load_configs(configs_, asked.host); });
  if (!is_network(asked.trace)) return replay(o, configs);
  NetworkRequest request = take_request(asked.trace, o);
  request.length = asked.length;
  return run_network(request, o, configs);
}

Predictions::Predictions(std::string configs) : replays_(std::move(configs)) {}

const Result& Predictions::of(const AskedPrediction& asked) {
  return results_.of(asked, [&] { return replays_.of(asked).prediction.result; });
}

}  // namespace tandem
