#include "workloads/onnx/onnx.h"

#include <algorithm>
#include <unordered_set>

#include "sim/core/error.h"
#include "sim/core/tensors/data_type.h"
#include "workloads/onnx/ops.h"
#include "workloads/onnx/patterns.h"
#include "workloads/onnx/training.h"
#include "workloads/onnx/views.h"

namespace tandem {

namespace onnx {
namespace {

constexpr std::size_t most_rank = 16;

struct KnownSymbol {
  std::string_view name;
  std::int64_t default_value;
};

/// What sizes with names stand for: the first of an input for the batch, others for the sequence.
constexpr KnownSymbol known_symbols[] = {{"batch", 32}, {"seq", 128}};

/// Writes down one file.
class Builder {
 public:
  Builder(const Graph& graph, Network& network) : graph_(graph), network_(network), step_(network) {
    for (const StoredTensor& tensor : graph.stored) stored_.emplace(tensor.name, &tensor);
  }
  void build(const OnnxTask& task);

 private:
  void read_symbols();
  void make_inputs();
  void run(const Node& node);
  const Value* value_of(const Node& node, const OnnxOp* op, std::size_t input);
  bool is_trained(const StoredTensor& tensor, const OnnxOp& op, std::size_t input) const;
  Value parameter(const StoredTensor& tensor, bool turned);
  Value kept(const StoredTensor& tensor);
  void train(const OnnxTask& task);
  void drop_lonely_sequences();
  void drop_unread();

  const Graph& graph_;
  Network& network_;
  Step step_;
  std::unordered_map<std::string_view, const StoredTensor*> stored_;
  std::unordered_map<std::string, std::uint8_t> symbols_;  // names of the file to positions
  std::unordered_map<std::string, Value> values_;
  std::unordered_map<std::string, Value> weights_;  // matrices and larger, which may be shared
  std::vector<Value> parameters_;
  std::vector<Value> vectors_;  // of the node at work
};

void Builder::read_symbols() {
  std::vector<std::string> names[2];  // leading ones, others
  for (const GraphInput& input : graph_.inputs) {
    for (std::size_t d = 0; d < input.dims.size(); ++d) {
      const std::string& name = input.dims[d].name;
      auto& list = names[d == 0 ? 0 : 1];
      if (!name.empty() && std::find(list.begin(), list.end(), name) == list.end())
        list.push_back(name);
    }
  }
  std::erase_if(names[1], [&](const std::string& name) {
    return std::find(names[0].begin(), names[0].end(), name) != names[0].end();
  });
  for (std::size_t kind = 0; kind < 2; ++kind) {
    if (names[kind].empty()) continue;
    if (names[kind].size() > 1) {
      throw InputError(graph_.path, "inputs",
                       "sizes named \"" + names[kind][0] + "\" and \"" + names[kind][1] + "\"",
                       kind == 0 ? "one name for the first size, the batch"
                                 : "one name besides the batch, the sequence; other sizes fixed");
    }
    symbols_.emplace(names[kind][0], static_cast<std::uint8_t>(network_.symbols.size()));
    network_.symbols.push_back(
        {std::string(known_symbols[kind].name), {}, known_symbols[kind].default_value});
  }
}

void Builder::make_inputs() {
  for (const GraphInput& input : graph_.inputs) {
    Dims dims;
    for (const InputSize& size : input.dims) {
      dims.push_back(size.name.empty() ? Expression(size.number)
                                       : Expression::symbol(symbols_.at(size.name)));
    }
    values_.emplace(input.name, step_.value(step_.make(input.type, dims, StorageKind::input)));
  }
  if (network_.symbols.empty() && !graph_.inputs.empty() && !graph_.inputs[0].dims.empty()) {
    network_.fixed_batch = graph_.inputs[0].dims[0].number;
  }
}

/// Parameters are numbers with fractions where an operation has its weights. A single number beside
/// an operand is part of a formula.
bool Builder::is_trained(const StoredTensor& tensor, const OnnxOp& op, std::size_t input) const {
  if ((op.trained >> std::min<std::size_t>(input, 31) & 1U) == 0 || !is_floating(tensor.type))
    return false;
  const bool first_too = (op.trained & 1U) != 0;
  const bool single =
      std::all_of(tensor.dims.begin(), tensor.dims.end(), [](std::int64_t d) { return d == 1; });
  return !tensor.dims.empty() && !(first_too && single);
}

/// Exporters turn the weight of nn.Linear, [to, from], into [from, to]; the framework keeps its
/// own.
Value Builder::parameter(const StoredTensor& tensor, bool turned) {
  Dims dims(tensor.dims.begin(), tensor.dims.end());
  if (turned) std::swap(dims[0], dims[1]);
  Value value = step_.value(step_.make(tensor.type, dims, StorageKind::parameter));
  value.needs_gradient = step_.trains();
  parameters_.push_back(value);
  if (!turned) return value;
  Value view = step_.value(onnx::turned(step_, *value.tensor));
  step_.differentiable("TBackward0", {&view}, {value}, [this, value](const Step::Gradients& g) {
    step_.give(value, onnx::turned(step_, *g[0]));
  });
  return view;
}

Value Builder::kept(const StoredTensor& tensor) {
  const Dims dims(tensor.dims.begin(), tensor.dims.end());
  Value value;
  value.type = tensor.type;
  value.dims = dims;
  if (tensor.numbers) value.numbers = Dims(tensor.numbers->begin(), tensor.numbers->end());
  if (tensor.fractions && tensor.fractions->size() == 1) value.fraction = tensor.fractions->front();
  if (value.on_host()) return value;
  return step_.value(step_.make(tensor.type, dims, StorageKind::buffer));
}

const Value* Builder::value_of(const Node& node, const OnnxOp* op, std::size_t input) {
  const std::string& name = node.inputs[input];
  if (name.empty()) return nullptr;
  const auto found = stored_.find(name);
  if (found != stored_.end() && op != nullptr && is_trained(*found->second, *op, input)) {
    const StoredTensor& tensor = *found->second;
    // Exporters store equal vectors once, so that every use of one is a parameter of its own.
    if (tensor.dims.size() == 1) return &vectors_.emplace_back(parameter(tensor, false));
    const bool turned =
        tensor.dims.size() == 2 && input == 1 && (op->run == matmul || op->run == linear);
    auto known = weights_.find(name);
    if (known == weights_.end()) known = weights_.emplace(name, parameter(tensor, turned)).first;
    return &known->second;
  }
  auto known = values_.find(name);
  if (known == values_.end() && found != stored_.end())
    known = values_.emplace(name, kept(*found->second)).first;
  if (known == values_.end()) {
    throw InputError(graph_.path, node.place(),
                     "input \"" + name + "\", a result that has no rule here",
                     "first results of dropout, batch norm and pooling");
  }
  return &known->second;
}

void Builder::run(const Node& node) {
  const OnnxOp* op = find_op(node.domain, node.type);
  Call call{step_, node, graph_.path, {}, {}};
  vectors_.clear();
  vectors_.reserve(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) call.inputs.push_back(value_of(node, op, i));
  step_.enter(node.name);
  const bool done = node.domain.empty() && run_on_host(call);
  if (!done && op == nullptr) {
    call.fail("an operation without a rule", "one of: " + op_names());
  }
  if (!done) op->run(call);
  for (std::size_t i = 0; i < std::min(node.outputs.size(), call.outputs.size()); ++i) {
    if (call.outputs[i].dims.size() > most_rank)
      call.fail("a result of many dimensions", "at most 16");
    if (!node.outputs[i].empty())
      values_.insert_or_assign(node.outputs[i], std::move(call.outputs[i]));
  }
}

void Builder::train(const OnnxTask& task) {
  for (const std::string& name : graph_.outputs) {
    const auto found = values_.find(name);
    if (found == values_.end() || !found->second.needs_gradient) continue;
    add_loss(step_, found->second);
    step_.run_backward();
    add_optimizer(step_, task.optimizer, parameters_);
    return;
  }
  throw InputError(graph_.path, "outputs", "no output that depends on weights", "scores to train");
}

/// Sequence numbers pair forward and backward; those without a partner mean nothing.
void Builder::drop_lonely_sequences() {
  std::unordered_set<std::int64_t> backward;
  for (const NetworkOp& op : network_.ops) {
    if (op.phase == Phase::backward) backward.insert(op.sequence);
  }
  for (NetworkOp& op : network_.ops) {
    if (backward.count(op.sequence) == 0) op.sequence = -1;
  }
}

/// What only its shape was wanted of is not computed: operations forward whose results nobody
/// reads.
void Builder::drop_unread() {
  std::vector<bool> read(network_.storages.size(), false);
  for (std::size_t s = 0; s < read.size(); ++s)
    read[s] = network_.storages[s] != StorageKind::activation;
  for (const std::string& name : graph_.outputs) {
    const auto found = values_.find(name);
    if (found != values_.end() && found->second.tensor)
      read[step_.tensor(*found->second.tensor).storage] = true;
  }
  const auto is_read = [&](TensorId t) { return read[network_.tensors[t].storage]; };
  std::vector<NetworkOp> kept;
  for (std::size_t i = network_.ops.size(); i-- > 0;) {
    NetworkOp& op = network_.ops[i];
    const bool wanted =
        op.phase != Phase::forward || std::any_of(op.outputs.begin(), op.outputs.end(), is_read);
    if (!wanted) continue;
    for (const NetworkArgument& a : op.arguments) {
      for (const TensorId t : a.tensors) read[network_.tensors[t].storage] = true;
    }
    kept.push_back(std::move(op));
  }
  std::reverse(kept.begin(), kept.end());
  network_.ops = std::move(kept);
}

void Builder::build(const OnnxTask& task) {
  read_symbols();
  make_inputs();
  std::string place = "inputs";
  try {
    for (const Node& node : graph_.nodes) {
      place = node.place();
      run(node);
    }
    place = "backward pass";
    if (task.task == Task::train) train(task);
  } catch (const SizeOverflow& error) {
    throw InputError(graph_.path, place, error.what(), "smaller sizes");
  }
  drop_unread();
  if (network_.ops.empty()) {
    throw InputError(graph_.path, "nodes", "no operation that computes", "at least one");
  }
  drop_lonely_sequences();
}

}  // namespace
}  // namespace onnx

bool is_onnx(std::string_view path) { return path.ends_with(".onnx"); }

Network load_onnx(const std::string& path, const OnnxTask& task) {
  if (task.task == Task::train && !onnx::is_optimizer(task.optimizer)) {
    throw InputError("command line", "--optimizer", "\"" + task.optimizer + "\"",
                     onnx::optimizer_names());
  }
  onnx::Graph graph = onnx::read_graph(path);
  onnx::fuse(graph);
  Network network;
  network.path = path;
  network.name = graph.name;
  network.task = task.task;
  network.source = "ONNX opset " + std::to_string(graph.opset);
  if (task.task == Task::train) network.optimizer = task.optimizer;
  network.modules.emplace_back();
  onnx::Builder(graph, network).build(task);
  return network;
}

}  // namespace tandem
