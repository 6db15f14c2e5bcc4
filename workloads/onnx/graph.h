// The graph of an ONNX file as plain data: nodes, inputs with sizes, and of the tensors in the file
// type and sizes. Weights are never needed; of short tensors the numbers are kept, for they say
// shapes, axes and scales.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/tensors/tensor.h"

namespace tandem::onnx {

/// A tensor that stands in the file, or beside it.
struct StoredTensor {
  std::string name;
  DataType type = DataType::unknown;
  std::vector<std::int64_t> dims;
  // Of short tensors whose numbers stand in the file; `numbers` of whole ones and truth values.
  std::optional<std::vector<std::int64_t>> numbers;
  std::optional<std::vector<double>> fractions;
};

struct Node;

/// An attribute; what its kind does not have stays empty.
struct NodeAttribute {
  std::int64_t number = 0;
  double fraction = 0;
  std::string text;
  std::vector<std::int64_t> numbers;
  std::vector<double> fractions;
  std::optional<StoredTensor> tensor;
  std::vector<Node> nodes;  // of a graph, the body of a loop
};

struct Node {
  std::string name, type, domain;
  std::vector<std::string> inputs;  // empty: not given
  std::vector<std::string> outputs;
  std::map<std::string, NodeAttribute, std::less<>> attributes;

  /// As errors name it: `node "conv1" (Conv)`.
  std::string place() const;
};

/// A size of an input: a number, or a name, which stands for any number.
struct InputSize {
  std::int64_t number = 0;
  std::string name;  // empty: the number counts
};

struct GraphInput {
  std::string name;
  DataType type = DataType::unknown;
  std::vector<InputSize> dims;
};

struct Graph {
  std::string path;
  std::string name;
  std::int64_t opset = 0;
  std::vector<GraphInput> inputs;  // without those that have a value in the file
  std::vector<StoredTensor> stored;
  std::vector<std::string> outputs;
  std::vector<Node> nodes;  // each after those whose results it reads
};

/// The type by ONNX's number of it; `unknown` for what no operation here takes.
DataType element_type(std::int64_t number);

/// The domain of nodes that fuse() makes and no file may contain.
inline constexpr std::string_view own_domain = "tandem";

/// Errors: InputError for files that are no ONNX models, of opsets before 13, with tensors or
/// inputs whose types or sizes cannot be used, and for graphs with cycles or names that nothing
/// makes.
Graph read_graph(const std::string& path);

/// Nodes whose results reach an output.
void drop_unused(Graph& graph);

}  // namespace tandem::onnx
