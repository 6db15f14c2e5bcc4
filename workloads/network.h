// A network as data: the operations of one step as the framework ran them, with sizes as formulas.
// The recorder writes such files (workloads/nets); lower/ and generate.h make a step of them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/tensors/operands.h"
#include "sim/trace/framework.h"
#include "workloads/expression.h"

namespace tandem {

enum class Task : std::uint8_t { train, infer };
enum class Phase : std::uint8_t { forward, backward, optimizer };
/// Who keeps a tensor's memory, and for how long.
enum class StorageKind : std::uint8_t {
  parameter,
  buffer,
  input,
  gradient,
  state,
  activation,
  host,  // memory of the CPU, where TensorFlow keeps sizes, axes and other 32-bit integers
};

std::string_view to_string(Task task);

struct NetworkTensor {
  DataType type = DataType::unknown;
  std::vector<Expression> dims;
  std::vector<Expression> strides;  // empty: contiguous
  std::uint32_t storage = 0;
};

/// One argument of an operation.
struct NetworkArgument {
  enum class Form : std::uint8_t { none, tensor, tensors, number, numbers, value };
  Form form = Form::none;
  std::vector<std::uint32_t> tensors;  // forms tensor and tensors
  std::vector<Expression> numbers;     // forms number and numbers
  Argument value;                      // whatever else: truth values, fractions, texts
};

constexpr std::uint32_t no_call = std::numeric_limits<std::uint32_t>::max();

struct NetworkOp {
  std::string name;  // as profiles show the innermost operation that launches work
  Phase phase = Phase::forward;
  std::uint32_t module = 0;
  std::string node;              // of autograd, e.g. "AddmmBackward0"; empty: none
  std::int64_t sequence = -1;    // that joins an operation and its node; -1: none
  std::uint32_t call = no_call;  // index of Network::calls: the operation that it is part of
  CompiledMask compiled_mask = CompiledMask::not_known;
  std::vector<NetworkArgument> arguments;
  std::vector<std::uint32_t> outputs;
};

/// Memory that a name or a frame of the program holds beyond the last operation on it.
struct HeldMemory {
  std::uint32_t tensor = 0;  // one that lies in it
  std::uint32_t until = 0;   // the operation after which it is gone
};

struct NetworkForm;

struct Network {
  std::string path;
  std::string name;
  Framework framework = Framework::pytorch;
  Task task = Task::train;
  std::string source;
  std::string optimizer;  // empty: none
  std::vector<Symbol> symbols;
  std::int64_t fixed_batch = 1;  // of a network without symbols
  std::vector<std::string> modules;
  std::vector<StorageKind> storages;
  std::vector<NetworkTensor> tensors;
  /// Operations that are made of others, which another precision may run otherwise: name, arguments
  /// and the one that it is part of itself, before it in the list. Those that one is made of stand
  /// side by side.
  std::vector<NetworkOp> calls;
  std::vector<NetworkOp> ops;
  /// In the order in which memory is given back; not known of files that do not say it.
  std::optional<std::vector<HeldMemory>> held;
  /// The step of a model of 16 bits, for types in which the program does other work than in FP32.
  std::vector<NetworkForm> forms;
};

/// A network whose model has another type, written down in FP32 like any other.
struct NetworkForm {
  DataType type = DataType::unknown;
  Network network;
};

/// What the program does in a model of `type`: its form, or the network itself.
Network in_form(Network network, DataType type);

/// The calls around an operation, outermost first.
std::vector<std::uint32_t> calls_around(const Network& network, const NetworkOp& op);

/// Errors: InputError `file:place: found X, expected Y` for whatever does not hold together.
Network load_network(const std::string& path);

/// Whether FP32 convolutions may run in TF32, PyTorch's default (torch.backends.cudnn.allow_tf32):
/// no convolution of the network was recorded without. The setting is the whole program's.
bool allows_tf32(const Network& network);

/// An operation at given sizes.
struct BoundOp {
  /// Of operations whose row says so, in the order of their row (tensorflow_operands.h).
  Operands operands;
  std::vector<TensorShape> outputs;
  bool on_host = false;           // a kernel of the CPU: all that it makes lies in host memory
  std::int64_t copied_bytes = 0;  // of host tensors that are copied before the device reads them
};

/// A network at given sizes. Refers to the network.
struct BoundNetwork {
  const Network* network = nullptr;
  std::vector<std::int64_t> values;  // of the symbols
  std::vector<TensorShape> tensors;
  std::vector<std::int64_t> storage_bytes;
  std::vector<BoundOp> calls;
  std::vector<BoundOp> ops;

  /// The value of a symbol; nothing if the network has none of that name.
  std::int64_t value(std::string_view symbol, std::int64_t otherwise) const;
};

/// A symbol and what it is to be.
struct SymbolValue {
  std::string_view name;
  std::int64_t value = 0;
};

/// Errors: InputError for symbols that the network does not have, and for sizes that overflow.
BoundNetwork bind_network(const Network& network, std::span<const SymbolValue> values);

}  // namespace tandem
