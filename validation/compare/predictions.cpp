#include "validation/compare/predictions.h"

#include "sim/predict/network_run.h"

namespace tandem {

Replays::Replays(std::string configs) : configs_(std::move(configs)) {}

ReplayOptions Replays::options_of(const AskedPrediction& asked) const {
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
  return o;
}

const Configs& Replays::configs_of(const std::string& host) {
  return by_host_.of(host, [&] { return load_configs(configs_, host); });
}

Replay Replays::of(const AskedPrediction& asked) {
  ReplayOptions o = options_of(asked);
  const Configs& configs = configs_of(asked.host);
  if (!is_network(asked.trace)) return replay(o, configs);
  NetworkRequest request = take_request(asked.trace, o);
  request.length = asked.length;
  return run_network(request, o, configs);
}

Predictions::Predictions(std::string configs) : replays_(std::move(configs)) {}

const Result& Predictions::of(const AskedPrediction& asked) {
  return results_.of(asked, [&] { return result_of(asked); });
}

Result Predictions::result_of(const AskedPrediction& asked) {
  if (is_network(asked.trace)) return replays_.of(asked).prediction.result;
  const ReplayOptions options = replays_.options_of(asked);
  const auto run = run_of(asked, asked.trace, options);
  if (asked.second_trace.empty()) return predict(*run, options).result;
  const auto second = run_of(asked, asked.second_trace, options_of_second(options));
  return predict(*run, *second, options).result;
}

std::shared_ptr<const TracedRun> Predictions::run_of(const AskedPrediction& asked,
                                                     const std::string& trace,
                                                     const ReplayOptions& options) {
  const AskedRun key{trace, asked.host, asked.cache, asked.counters, asked.profiler};
  return runs_.of(key, [&] {
    const auto read = traces_.of(trace, [&] { return import_trace(trace); });
    return analyse(*read, options, replays_.configs_of(asked.host));
  });
}

}  // namespace tandem
