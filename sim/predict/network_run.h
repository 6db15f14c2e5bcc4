// A step without a trace: a network, read and generated, as the run that predictions start from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/predict/predict.h"
#include "workloads/network.h"

namespace tandem {

/// Which network, at which sizes, on which GPU.
struct NetworkRequest {
  std::string path;
  std::string gpu;                     // name or path of a config; empty: that of the configs
  std::optional<std::int64_t> batch;   // nothing: the network's default
  std::optional<std::int64_t> length;  // of a sequence
  std::optional<Task> task = {};       // nothing: as recorded; of ONNX files train
  std::string optimizer = {};          // empty: the network's own, default_optimizer for ONNX files
  bool channels_last = false;          // images in NHWC order
  std::optional<DataType> whole_type = {};  // of a model of 16 bits, which may do other work
};

/// Of ONNX files that train, where nobody names one.
inline constexpr const char* default_optimizer = "sgd";

/// The file of a network: a path, or the name of a file of `folder` without task (empty: train) and
/// ending.
/// Errors: InputError for a name that is none, or not for that task.
std::string network_path(const std::string& network, const std::string& task,
                         const std::string& folder);

/// The names that network_path knows, in order.
std::vector<std::string> network_names(const std::string& folder);

/// The generated step as if it had been traced on that GPU, with its peak of memory, also once it
/// is compiled. Errors:
/// InputError for anything wrong with the network, the configs or the options.
TracedRun analyse_network(const NetworkRequest& request, const ReplayOptions& options);
/// The same for callers that ask often: with the configs of options.host, which they have read
/// (without the file that request.gpu may name).
TracedRun analyse_network(const NetworkRequest& request, const ReplayOptions& options,
                          Configs configs);

/// One prediction: its run knows the peak of the compiled step only if `options` ask for that step.
Replay run_network(const NetworkRequest& request, const ReplayOptions& options);
Replay run_network(const NetworkRequest& request, const ReplayOptions& options, Configs configs);

/// The type of 16 bits that model and inputs have where the what-if "precision" asks for one.
std::optional<DataType> whole_type(const WhatIfs& what_ifs);

/// Takes what a network is generated at out of the options: what-ifs "gpu", "batch"
/// and "layout"; "precision" stays, of which the type of a whole model is known here, too.
NetworkRequest take_request(const std::string& path, ReplayOptions& options);

/// Whether a file is a network rather than a trace: ONNX by its ending, others by their schema,
/// which is among the first characters.
bool is_network(const std::string& path);

}  // namespace tandem
