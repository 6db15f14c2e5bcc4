#include "sim/predict/network_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/ops/op_table.h"
#include "models/step/memory/workspace.h"
#include "models/whatif/precision/precision.h"
#include "sim/core/files/folder.h"
#include "sim/core/named.h"
#include "workloads/compiled_memory.h"
#include "workloads/generate.h"
#include "workloads/layout.h"
#include "workloads/memory.h"
#include "workloads/onnx/onnx.h"

namespace tandem {

namespace {

constexpr std::string_view batch_symbol = "batch";
constexpr std::string_view length_symbol = "seq";

/// Errors: InputError for a task that the recording is not of: its operations are those of one.
void check_task(const Network& network, const NetworkRequest& request) {
  if (!request.task || *request.task == network.task) return;
  throw InputError(
      "command line", "--task",
      fmt::format("{} for a recorded {} step ({})", to_string(*request.task),
                  network.task == Task::train ? "training" : "inference", request.path),
      fmt::format("--task {}, another recording, or an ONNX file, which takes both",
                  to_string(network.task)));
}

Network load_request(const NetworkRequest& request) {
  if (!is_onnx(request.path)) {
    Network network = load_network(request.path);
    check_task(network, request);
    if (request.whole_type) network = in_form(std::move(network), *request.whole_type);
    if (request.optimizer.empty() || request.optimizer == network.optimizer) return network;
    throw InputError("command line", "--optimizer", "\"" + request.optimizer + "\"",
                     network.optimizer.empty() ? "none, for " + request.path + " does not train"
                                               : network.optimizer + ", which " + request.path +
                                                     " was recorded with; ONNX files take any");
  }
  const Task asked = request.task.value_or(Task::train);
  if (asked == Task::infer && !request.optimizer.empty()) {
    throw InputError("command line", "--optimizer",
                     "\"" + request.optimizer + "\" beside task infer",
                     "task train, or no optimizer");
  }
  OnnxTask task{asked, default_optimizer};
  if (!request.optimizer.empty()) task.optimizer = request.optimizer;
  return load_onnx(request.path, task);
}

/// Errors: InputError for a batch where the sizes of an ONNX file are numbers.
void check_sizes(const Network& network, const NetworkRequest& request) {
  if (!is_onnx(request.path)) return;
  const auto check = [&](std::string_view symbol, const std::optional<std::int64_t>& asked) {
    for (const Symbol& s : network.symbols) {
      if (s.name == symbol) return;
    }
    if (!asked) return;
    throw InputError(
        "command line", "--" + std::string(symbol),
        std::to_string(*asked) + " for a file whose inputs have fixed sizes (" + request.path + ")",
        "a model exported with a named size there (dim_param), or no --" + std::string(symbol));
  };
  check(batch_symbol, request.batch);
  check(length_symbol, request.length);
}

/// Tables whose rows stand for positions: their indices are the same for all samples, one for each
/// place of a sequence. Counts those that are longer than their table, which no program runs.
/// `usual`: the network at its own sizes, where positions fit.
std::int64_t positions_beyond_tables(const BoundNetwork& bound, const BoundNetwork& usual) {
  std::int64_t out = 0;
  for (const NetworkOp& op : bound.network->ops) {
    const OpRow* const row = find_op(op.name);
    const bool gathers = row != nullptr && row->kind == OpKind::gather &&
                         row->layer == Layer::embedding && op.arguments.size() > 1;
    if (!gathers || op.arguments[0].tensors.empty() || op.arguments[1].tensors.empty()) continue;
    const auto beyond = [&](const BoundNetwork& at) {
      const TensorShape& table = at.tensors[op.arguments[0].tensors[0]];
      const TensorShape& indices = at.tensors[op.arguments[1].tensors[0]];
      const bool of_places = indices.rank == 1 || (indices.rank == 2 && indices.dims[0] == 1);
      return of_places && indices.elements() > table.dims[0];
    };
    out += beyond(bound) && !beyond(usual);
  }
  return out;
}

BoundNetwork bind_request(const Network& network, const NetworkRequest& request) {
  std::vector<SymbolValue> values;
  if (request.batch) values.push_back({batch_symbol, *request.batch});
  if (request.length) values.push_back({length_symbol, *request.length});
  return bind_network(network, values);
}

/// By the batch; `batch` 0: of a network of fixed sizes, where no part grows.
PeakMemory peak_by_batch(const NetworkMemory& memory, std::int64_t batch, double workspace_bytes) {
  const auto of_an_item = [&](const MemoryMoment& m) {
    const double items = static_cast<double>(std::max<std::int64_t>(batch, 1));
    return MemoryMoment{workspace_bytes + m.fixed_bytes, m.growing_bytes / items};
  };
  PeakMemory out;
  out.kept_bytes = workspace_bytes + memory.kept.fixed_bytes;
  out.kept_item_bytes = of_an_item(memory.kept).growing_bytes;
  out.update_bytes = memory.update_bytes;
  for (const MemoryMoment& m : memory.moments) out.moments.push_back(of_an_item(m));
  return out;
}

double bytes_of(const BoundNetwork& at, StorageKind kind) {
  double bytes = 0;
  for (std::size_t s = 0; s < at.storage_bytes.size(); ++s) {
    bytes += at.network->storages[s] == kind ? static_cast<double>(at.storage_bytes[s]) : 0;
  }
  return bytes;
}

/// `compiles`: whether somebody may ask for the compiled step.
void set_memory(const Network& network, NetworkRequest request, const BoundNetwork& at,
                double workspace_bytes, bool compiles, TracedRun& run) {
  const std::int64_t batch = at.value(batch_symbol, 0);
  if (batch > 0) request.batch = 2 * batch;
  const BoundNetwork larger = bind_request(network, request);
  const BoundNetwork* const twice = batch > 0 ? &larger : nullptr;
  const bool training = network.task == Task::train;
  const bool pytorch = network.framework == Framework::pytorch;
  // Data-parallel ranks sum gradients in copies of all of them.
  const double buckets = pytorch ? bytes_of(at, StorageKind::gradient) : 0;
  const auto peaks = [&](const NetworkMemory& of, MemoryBasis basis) {
    PeakMemory memory = peak_by_batch(of, batch, workspace_bytes);
    memory.training = training;
    memory.basis = basis;
    memory.bucket_bytes = buckets;
    memory.kept.parameters =
        bytes_of(at, StorageKind::parameter) + bytes_of(at, StorageKind::buffer);
    memory.kept.states = bytes_of(at, StorageKind::state);
    memory.kept.workspaces = workspace_bytes;
    return memory;
  };
  const NetworkMemory eager = network_memory(at, twice);
  run.memory = peaks(eager, MemoryBasis::network);
  if (!pytorch) return;  // compilers need operations of PyTorch
  if (batch > 0) {
    // Frames of Python hold what no operation reads any longer.
    run.memory = step_memory(*run.memory, run.traced_step, batch).value_or(*run.memory);
  }
  if (!compiles) return;
  const auto compiled = [&](Saving saving) {
    NetworkMemory of = compiled_memory(at, saving, twice);
    of.update_bytes = eager.update_bytes;
    return peaks(of, MemoryBasis::compiled_network);
  };
  run.compiled_memory = {compiled(Saving::cheapest), compiled(Saving::least)};
}

/// Errors: InputError for options that say something of a trace.
void check_no_trace(const NetworkRequest& request, const ReplayOptions& options) {
  const bool said = !options.steps.annotation.empty() || options.steps.count != 0 ||
                    options.traced_batch != 0 || options.peak_memory_bytes > 0 ||
                    !options.traced_gpu.empty() || !options.base_path.empty();
  if (!said) return;
  throw InputError("command line",
                   "--steps, --step, --traced-batch, --peak-memory, --traced-gpu, --base",
                   "a network, " + request.path, "none of them, for they are of traces");
}

/// Errors: InputError for sizes that overflow.
Network in_channels_last(Network network) {
  const std::string path = network.path;
  try {
    return with_channels_last(std::move(network));
  } catch (const SizeOverflow& error) {
    throw InputError(path, "tensors", error.what(), "sizes of a network");
  }
}

TracedRun generated_run(const NetworkRequest& request, const ReplayOptions& options,
                        Configs configs, bool compiles) {
  check_no_trace(request, options);
  Network network = load_request(request);
  if (request.channels_last) network = in_channels_last(std::move(network));
  check_sizes(network, request);
  const BoundNetwork bound = bind_request(network, request);
  add_gpu_file(configs, request.gpu);
  const LoweringRules rules = load_lowering_rules(options.configs + "/kernels/lowering.json");
  const EagerHost eager = load_eager_host(options.configs + "/hosts/eager/pytorch.json");
  const GpuArch gpu =
      find_gpu(configs.gpus, request.gpu.empty() ? configs.default_gpus.network : request.gpu);
  GpuArch used = gpu;  // whose TF32 a program may forbid: then it runs as if there were none
  if (!allows_tf32(network)) used.tensor_tf32_fma_per_clk = 0;
  const MeasuredOn measured{configs.layers, find_gpu(configs.gpus, configs.layers.gpu)};
  Trace trace =
      generate_trace({bound,
                      {used, configs.time, configs.libraries, rules, configs.batch.sums, &measured},
                      configs.host,
                      eager});
  const double unmeasured = configs.time.measured(gpu) ? 1 : configs.retarget.unmeasured_generation;
  TracedRun run =
      analyse(std::move(trace), options, std::move(configs), rules.expected_error * unmeasured);
  run.gpu = gpu;
  if (request.length) {
    run.losses.add("positions_beyond_table", Severity::warning,
                   "tables of positions with fewer rows than the sequence is long: the network as "
                   "recorded does not run at this length",
                   positions_beyond_tables(bound, bind_network(network, {})));
  }
  run.summary.batch = bound.value(batch_symbol, network.fixed_batch);
  if (network.symbols.empty() && !is_onnx(request.path)) return run;
  set_memory(network, request, bound,
             run.configs.batch.device_memory.workspaces(
                 gpu.compute_major, product_handles(run.traced_step, dataflow(run.traced_step),
                                                    network.task == Task::train)),
             compiles, run);
  return run;
}

}  // namespace

std::string network_path(const std::string& network, const std::string& task,
                         const std::string& folder) {
  std::error_code error;
  if (network.ends_with(".json") || is_onnx(network) ||
      std::filesystem::is_regular_file(network, error)) {
    return network;
  }
  std::string path = folder + "/" + network + "-" + (task.empty() ? "train" : task) + ".json";
  if (std::filesystem::is_regular_file(path, error)) return path;
  const std::vector<std::string> names = network_names(folder);
  if (std::find(names.begin(), names.end(), network) != names.end()) {
    throw InputError("network", network, "task " + task, "the other task: --task train or infer");
  }
  throw InputError("network", "", "unknown network \"" + network + "\"",
                   "the path of a file, or " + expected_name(names, network));
}

std::vector<std::string> network_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const std::string& path : json_files(folder)) {
    const std::string stem = std::filesystem::path(path).stem().string();
    names.push_back(stem.substr(0, stem.rfind('-')));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

TracedRun analyse_network(const NetworkRequest& request, const ReplayOptions& options) {
  return analyse_network(request, options, load_configs(options.configs, options.host));
}

TracedRun analyse_network(const NetworkRequest& request, const ReplayOptions& options,
                          Configs configs) {
  return generated_run(request, options, std::move(configs), true);
}

std::optional<DataType> whole_type(const WhatIfs& what_ifs) {
  if (!what_ifs.has("precision")) return {};
  const Precision asked = parse_precision(what_ifs.get("precision"));
  return is_whole(asked) ? std::optional(half_of(asked)) : std::nullopt;
}

NetworkRequest take_request(const std::string& path, ReplayOptions& options) {
  NetworkRequest request;
  request.path = path;
  request.task = options.network_task;
  request.optimizer = options.network_optimizer;
  request.length = options.network_length;
  request.gpu = options.what_ifs.get("gpu");
  if (options.what_ifs.has("batch")) {
    request.batch = parse_count("batch", options.what_ifs.get("batch"));
  }
  request.channels_last = options.what_ifs.has("layout");
  request.whole_type = whole_type(options.what_ifs);
  options.what_ifs.set("gpu", asks_nothing);
  options.what_ifs.set("layout", asks_nothing);
  options.what_ifs.set("batch", asks_nothing);
  return request;
}

bool is_network(const std::string& path) {
  if (is_onnx(path)) return true;
  std::error_code error;
  // Who looked into a pipe would take its beginning away.
  if (!path.ends_with(".json") || !std::filesystem::is_regular_file(path, error)) return false;
  constexpr std::size_t looked_at = 100;
  std::string begin(looked_at, ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(looked_at));
  return begin.find("tandem.network/") != std::string::npos;
}

Replay run_network(const NetworkRequest& request, const ReplayOptions& options) {
  return run_network(request, options, load_configs(options.configs, options.host));
}

Replay run_network(const NetworkRequest& request, const ReplayOptions& options, Configs configs) {
  TracedRun run =
      generated_run(request, options, std::move(configs), options.what_ifs.has("compile"));
  Prediction prediction = predict(run, options);
  return {std::move(run), std::move(prediction)};
}

}  // namespace tandem
