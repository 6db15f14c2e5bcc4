#include "workloads/onnx/patterns.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

namespace tandem::onnx {

namespace {

constexpr int most_steps = 8;  // of a scalar's computation

/// Looks along the edges of a graph.
class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    for (const StoredTensor& tensor : graph.stored) stored_.emplace(tensor.name, &tensor);
    for (const Node& node : graph.nodes) {
      for (const std::string& name : node.outputs) maker_.emplace(name, &node);
      for (const std::string& name : node.inputs) {
        reader_[name] = &node;
        ++readers_[name];
      }
    }
    for (const std::string& name : graph.outputs) ++readers_[name];
  }

  const StoredTensor* stored(const std::string& name) const {
    const auto found = stored_.find(name);
    return found == stored_.end() ? nullptr : found->second;
  }
  /// The node that makes a name, if it is of that type.
  const Node* maker(const std::string& name, std::string_view type) const {
    const auto found = maker_.find(name);
    return found == maker_.end() || found->second->type != type ? nullptr : found->second;
  }
  const Node* maker(const std::string& name) const {
    const auto found = maker_.find(name);
    return found == maker_.end() ? nullptr : found->second;
  }
  /// The only reader of a node's result, if it is of that type.
  const Node* reader(const Node& node, std::string_view type) const {
    const std::string& name = node.outputs[0];
    const auto count = readers_.find(name);
    const auto found = reader_.find(name);
    if (found == reader_.end() || count->second != 1 || found->second->type != type) return nullptr;
    return found->second;
  }
  bool is_read_once(const std::string& name) const {
    const auto count = readers_.find(name);
    return count != readers_.end() && count->second == 1;
  }
  bool is_vector(const std::string& name) const {
    const StoredTensor* tensor = stored(name);
    return tensor != nullptr && tensor->dims.size() == 1;
  }
  /// One number that is known before the step.
  bool is_scalar(const std::string& name, int steps = most_steps) const {
    if (const StoredTensor* tensor = stored(name)) {
      for (const std::int64_t d : tensor->dims) {
        if (d != 1) return false;
      }
      return true;
    }
    const auto found = maker_.find(name);
    if (found == maker_.end() || steps == 0) return false;
    const Node& node = *found->second;
    if (node.type == "Constant") return true;
    const bool picks = node.type == "Slice" || node.type == "Gather" || node.type == "Squeeze";
    if (picks)
      return !node.inputs.empty() &&
             (maker(node.inputs[0], "Shape") != nullptr || is_scalar(node.inputs[0], steps - 1));
    if (node.type != "Sqrt" && node.type != "Cast" && node.type != "Div" && node.type != "Mul" &&
        node.type != "Reciprocal" && node.type != "Pow") {
      return false;
    }
    for (const std::string& input : node.inputs) {
      if (!is_scalar(input, steps - 1)) return false;
    }
    return true;
  }
  /// The operand of a pair that is not a scalar, where the other one is.
  const std::string* beside_scalar(const Node& node) const {
    if (node.inputs.size() != 2) return nullptr;
    if (is_scalar(node.inputs[1])) return &node.inputs[0];
    return is_scalar(node.inputs[0]) ? &node.inputs[1] : nullptr;
  }
  /// Without a factor or divisor.
  const std::string& unscaled(const std::string& name) const {
    for (const char* type : {"Mul", "Div"}) {
      const Node* node = maker(name, type);
      const std::string* rest = node != nullptr ? beside_scalar(*node) : nullptr;
      if (rest != nullptr) return *rest;
    }
    return name;
  }
  /// A number in the file, or `otherwise`.
  double fraction(const std::string& name, double otherwise) const {
    const StoredTensor* tensor = stored(name);
    if (const Node* node = maker(name, "Constant")) {
      const auto value = node->attributes.find("value");
      if (value != node->attributes.end() && value->second.tensor) tensor = &*value->second.tensor;
    }
    if (tensor == nullptr || !tensor->fractions || tensor->fractions->size() != 1) return otherwise;
    return tensor->fractions->front();
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::string_view, const StoredTensor*> stored_;
  std::unordered_map<std::string_view, const Node*> maker_, reader_;
  std::unordered_map<std::string_view, int> readers_;
};

/// A node that stands for a pattern: it takes the place of the pattern's last node.
struct Fused {
  const Node* last = nullptr;
  Node node;
};

using Found = std::optional<Fused>;

Found fused(const Node& last, std::string type, std::vector<std::string> inputs,
            std::string_view domain = "") {
  Fused out{&last, {}};
  out.node.name = last.name;
  out.node.type = std::move(type);
  out.node.domain = domain;
  out.node.inputs = std::move(inputs);
  out.node.outputs = last.outputs;
  return out;
}

/// The operands of a pair, the one that fits first.
std::optional<std::pair<std::string, std::string>> ordered(
    const Node& node, const std::function<bool(const std::string&)>& fits) {
  if (node.inputs.size() != 2) return {};
  if (fits(node.inputs[0])) return std::pair(node.inputs[0], node.inputs[1]);
  if (fits(node.inputs[1])) return std::pair(node.inputs[1], node.inputs[0]);
  return {};
}

Found find_linear(const Finder& finder, const Node& node) {
  if (node.type != "Add") return {};
  const auto parts = ordered(node, [&](const std::string& name) { return finder.is_vector(name); });
  if (!parts) return {};
  const Node* product = finder.maker(parts->second, "MatMul");
  if (product == nullptr || product->inputs.size() != 2 || finder.reader(*product, "Add") != &node)
    return {};
  const std::string& weight = product->inputs[1];
  const Node* turned = finder.maker(weight, "Transpose");
  const StoredTensor* tensor =
      finder.stored(turned != nullptr && !turned->inputs.empty() ? turned->inputs[0] : weight);
  if (tensor == nullptr || tensor->dims.size() != 2) return {};
  return fused(node, "Linear", {product->inputs[0], weight, parts->first}, own_domain);
}

/// x * sigmoid(x).
Found find_silu(const Finder& finder, const Node& node) {
  if (node.type != "Mul") return {};
  const auto parts = ordered(
      node, [&](const std::string& name) { return finder.maker(name, "Sigmoid") != nullptr; });
  if (!parts ||
      finder.maker(parts->first, "Sigmoid")->inputs != std::vector<std::string>{parts->second})
    return {};
  return fused(node, "Swish", {parts->second});
}

Found find_rsqrt(const Finder& finder, const Node& node) {
  const bool divides =
      node.type == "Div" && node.inputs.size() == 2 && finder.fraction(node.inputs[0], 0) == 1;
  if (node.inputs.empty() || (node.type != "Reciprocal" && !divides)) return {};
  const Node* root = finder.maker(node.inputs.back(), "Sqrt");
  if (root == nullptr) return {};
  return fused(node, "Rsqrt", root->inputs, own_domain);
}

/// 0.5 * x * (1 + erf(x / sqrt(2))), the factor before or after.
Found find_gelu(const Finder& finder, const Node& node) {
  if (node.type != "Erf" || node.inputs.size() != 1) return {};
  const std::string& x = finder.unscaled(node.inputs[0]);
  const Node* sum = finder.reader(node, "Add");
  if (&x == &node.inputs[0] || sum == nullptr || finder.beside_scalar(*sum) == nullptr) return {};
  const Node* product = finder.reader(*sum, "Mul");
  if (product == nullptr) return {};
  const auto parts =
      ordered(*product, [&](const std::string& name) { return name == sum->outputs[0]; });
  if (!parts) return {};
  if (parts->second != x) {
    if (finder.unscaled(parts->second) != x) return {};
    return fused(*product, "Gelu", {x});
  }
  const Node* half = finder.reader(*product, "Mul");
  if (half == nullptr || finder.beside_scalar(*half) == nullptr) return {};
  return fused(*half, "Gelu", {x});
}

/// (x - mean) / sqrt(mean of squares + epsilon) * weight + bias, as opsets before 17 have it.
Found find_layer_norm(const Finder& finder, const Node& node) {
  if (node.type != "Div" || node.inputs.size() != 2) return {};
  const Node* centred = finder.maker(node.inputs[0], "Sub");
  const Node* root = finder.maker(node.inputs[1], "Sqrt");
  if (centred == nullptr || root == nullptr || centred->inputs.size() != 2) return {};
  const Node* mean = finder.maker(centred->inputs[1], "ReduceMean");
  const Node* sum = finder.maker(root->inputs[0], "Add");
  const std::string* variance = sum != nullptr ? finder.beside_scalar(*sum) : nullptr;
  const Node* spread = variance != nullptr ? finder.maker(*variance, "ReduceMean") : nullptr;
  const Node* square = spread != nullptr ? finder.maker(spread->inputs[0], "Pow") : nullptr;
  if (mean == nullptr || square == nullptr || mean->inputs[0] != centred->inputs[0] ||
      square->inputs[0] != node.inputs[0]) {
    return {};
  }
  const Node* scaled = finder.reader(node, "Mul");
  const Node* shifted = scaled != nullptr ? finder.reader(*scaled, "Add") : nullptr;
  if (shifted == nullptr) return {};
  const auto vector = [&](const std::string& name) { return finder.is_vector(name); };
  const auto weight = ordered(*scaled, vector), bias = ordered(*shifted, vector);
  if (!weight || !bias) return {};
  return fused(*shifted, "LayerNormalization", {centred->inputs[0], weight->first, bias->first});
}

/// The keys of a product with queries: turned by a view, or by way of three dimensions.
struct Keys {
  std::string name;
  bool turned = false;  // rows are columns
};

std::optional<Keys> keys_of(const Finder& finder, const std::string& name) {
  Keys keys;
  const Node* outer = finder.maker(name, "Reshape");
  const Node* turn = finder.maker(outer != nullptr ? outer->inputs[0] : name, "Transpose");
  if (turn == nullptr) return {};
  const Node* inner = outer != nullptr ? finder.maker(turn->inputs[0], "Reshape") : nullptr;
  if (outer != nullptr && inner == nullptr) return {};
  keys.name = inner != nullptr ? inner->inputs[0] : name;
  keys.turned = inner == nullptr;
  const Node* before = finder.maker(inner != nullptr ? keys.name : turn->inputs[0], "Reshape");
  if (before != nullptr && finder.maker(before->inputs[0], "Expand") != nullptr)
    return {};  // shared
  return keys;
}

/// Queries times keys, scaled and masked.
struct Scores {
  std::string queries;
  Keys keys;
  std::string mask;
};

std::optional<Scores> scores_of(const Finder& finder, const std::string& name) {
  const auto product_of = [&](const std::string& scaled) {
    return finder.maker(finder.unscaled(scaled), "MatMul");
  };
  Scores out;
  const Node* product = product_of(name);
  if (const Node* sum = finder.maker(name, "Add")) {
    const auto parts =
        ordered(*sum, [&](const std::string& part) { return product_of(part) != nullptr; });
    if (!parts) return {};
    product = product_of(parts->first);
    out.mask = parts->second;
  }
  if (product == nullptr || product->inputs.size() != 2) return {};
  if (!finder.is_read_once(name) || !finder.is_read_once(product->outputs[0])) return {};
  const auto keys = keys_of(finder, finder.unscaled(product->inputs[1]));
  if (!keys) return {};
  out.queries = finder.unscaled(product->inputs[0]);
  out.keys = *keys;
  return out;
}

constexpr std::size_t most_ancestors = 64;  // of a mask

/// Positions 0, 1, 2 ..., reshaped.
bool is_positions(const Finder& finder, std::string name) {
  for (int i = 0; i < most_steps; ++i) {
    const Node* node = finder.maker(name);
    if (node == nullptr) return false;
    if (node->type == "Range") return true;
    const bool reshapes = node->type == "Unsqueeze" || node->type == "Reshape" ||
                          node->type == "Expand" || node->type == "Cast";
    if (!reshapes || node->inputs.empty()) return false;
    name = node->inputs[0];
  }
  return false;
}

/// Whether a mask compares positions with positions, or is a triangle: nobody looks ahead.
bool is_causal(const Finder& finder, const std::string& mask) {
  std::vector<std::string> names{mask};
  for (std::size_t i = 0; i < names.size() && i < most_ancestors; ++i) {
    const Node* node = finder.maker(names[i]);
    if (node == nullptr) continue;
    if (node->type == "Trilu") return true;
    const bool compares = node->type == "Less" || node->type == "LessOrEqual" ||
                          node->type == "Greater" || node->type == "GreaterOrEqual";
    if (compares && node->inputs.size() == 2 && is_positions(finder, node->inputs[0]) &&
        is_positions(finder, node->inputs[1]))
      return true;
    for (const std::string& input : node->inputs) {
      if (std::find(names.begin(), names.end(), input) == names.end()) names.push_back(input);
    }
  }
  return false;
}

/// Softmax where rows without a single finite score become zeros.
Found find_safe_softmax(const Finder& finder, const Node& node) {
  if (node.type != "Where" || node.inputs.size() != 3) return {};
  const Node* softmax = finder.maker(node.inputs[2], "Softmax");
  const Node* guard = finder.maker(node.inputs[0], "IsNaN");
  if (softmax == nullptr || guard == nullptr || guard->inputs != softmax->outputs) return {};
  Found out = fused(node, "SafeSoftmax", softmax->inputs, own_domain);
  out->node.attributes = softmax->attributes;
  return out;
}

Found find_attention(const Finder& finder, const Node& node) {
  if (node.type != "MatMul" || node.inputs.size() != 2) return {};
  std::string weights = node.inputs[0];
  double ratio = 0;
  if (const Node* dropout = finder.maker(weights, "Dropout")) {
    weights = dropout->inputs[0];
    if (dropout->inputs.size() > 1) ratio = finder.fraction(dropout->inputs[1], 0);
  }
  // Rows without any key are not numbers; exporters put zeros there.
  const Node* guard = finder.maker(weights, "Where");
  if (guard != nullptr && guard->inputs.size() == 3 &&
      finder.maker(guard->inputs[0], "IsNaN") != nullptr) {
    weights = guard->inputs[2];
  }
  const Node* softmax = finder.maker(weights, "Softmax");
  if (softmax == nullptr || softmax->inputs.empty()) return {};
  const auto axis = softmax->attributes.find("axis");
  const std::int64_t along = axis == softmax->attributes.end() ? -1 : axis->second.number;
  if (along != -1 && along != 3) return {};
  const auto scores = scores_of(finder, softmax->inputs[0]);
  if (!scores) return {};
  Found out =
      fused(node, "Attention", {scores->queries, scores->keys.name, node.inputs[1]}, own_domain);
  if (!scores->mask.empty()) {
    out->node.inputs.push_back(scores->mask);
    out->node.attributes["causal"].number = is_causal(finder, scores->mask) ? 1 : 0;
  }
  out->node.attributes["turned"].number = scores->keys.turned ? 1 : 0;
  out->node.attributes["dropout"].fraction = ratio;
  return out;
}

using Inner = std::map<std::string_view, const Node*>;

/// Makers of the names inside a loop, branches included.
void collect(const std::vector<Node>& nodes, Inner& inner) {
  for (const Node& node : nodes) {
    for (const std::string& name : node.outputs) inner.emplace(name, &node);
    for (const auto& [name, attribute] : node.attributes) collect(attribute.nodes, inner);
  }
}

const Node* inner_maker(const Inner& inner, const std::string& name, std::string_view type) {
  const auto found = inner.find(name);
  return found == inner.end() || found->second->type != type || found->second->inputs.empty()
             ? nullptr
             : found->second;
}

/// A table and the positions whose rows are summed.
using Bag = std::pair<std::string, std::string>;

/// Rows of a bag gathered inside the loop, or before it and perhaps weighted.
std::optional<Bag> bag_of(const Finder& finder, const Inner& inner, const std::string& summed) {
  const auto rows_of = [&](const Node* gather) {
    return gather != nullptr && gather->inputs.size() == 2 &&
           finder.stored(gather->inputs[0]) != nullptr;
  };
  if (const Node* gather = inner_maker(inner, summed, "Gather")) {
    const Node* part = rows_of(gather) ? inner_maker(inner, gather->inputs[1], "Slice") : nullptr;
    if (part == nullptr || inner.count(part->inputs[0]) > 0) return {};
    return Bag(gather->inputs[0], part->inputs[0]);
  }
  const Node* part = inner_maker(inner, summed, "Slice");
  if (part == nullptr || inner.count(part->inputs[0]) > 0) return {};
  std::string rows = part->inputs[0];
  if (const Node* weighted = finder.maker(rows, "Mul")) rows = weighted->inputs[0];
  const Node* gather = finder.maker(rows, "Gather");
  if (!rows_of(gather)) return {};
  return Bag(gather->inputs[0], gather->inputs[1]);
}

/// nn.EmbeddingBag, which exporters spell as a loop over bags that sums rows of a table. Newer ones
/// let a condition end the loop, `bag < bags`, and join the bags afterwards.
Found find_bag(const Finder& finder, const Node& node) {
  const bool joins = node.type == "ConcatFromSequence";
  const Node* loop = joins && !node.inputs.empty() ? finder.maker(node.inputs[0], "Loop") : &node;
  if (loop == nullptr || loop->type != "Loop" || loop->inputs.size() != (joins ? 4U : 2U))
    return {};
  const auto body = loop->attributes.find("body");
  const Node* less = joins ? finder.maker(loop->inputs[1], "Less") : nullptr;
  if (body == loop->attributes.end() || (joins && (less == nullptr || less->inputs.size() != 2)))
    return {};
  Inner inner;
  collect(body->second.nodes, inner);
  for (const auto& [name, sum] : inner) {
    if ((sum->type != "ReduceSum" && sum->type != "ReduceMean") || sum->inputs.empty()) continue;
    const auto bag = bag_of(finder, inner, sum->inputs[0]);
    if (bag)
      return fused(node, "EmbeddingBag",
                   {bag->first, bag->second, joins ? less->inputs[1] : loop->inputs[0]},
                   own_domain);
  }
  return {};
}

/// Exporters store equal tensors once, and name the others by Identity: copies again.
void copy_stored(Graph& graph) {
  std::unordered_map<std::string, StoredTensor> stored;
  for (const StoredTensor& tensor : graph.stored) stored.emplace(tensor.name, tensor);
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    const bool copies = node.type == "Identity" && node.domain.empty() && node.inputs.size() == 1 &&
                        node.outputs.size() == 1;
    const auto found = copies ? stored.find(node.inputs[0]) : stored.end();
    if (found == stored.end()) {
      kept.push_back(std::move(node));
      continue;
    }
    StoredTensor copy = found->second;
    copy.name = node.outputs[0];
    graph.stored.push_back(copy);
    stored.emplace(copy.name, std::move(copy));
  }
  graph.nodes = std::move(kept);
}

using Find = Found (*)(const Finder&, const Node&);

constexpr Find patterns[] = {find_linear,     find_silu,      find_rsqrt, find_gelu,
                             find_layer_norm, find_attention, find_bag,   find_safe_softmax};

}  // namespace

void fuse(Graph& graph) {
  copy_stored(graph);
  std::unordered_map<const Node*, Node> replaced;
  const Finder finder(graph);
  for (const Node& node : graph.nodes) {
    for (const Find find : patterns) {
      if (!node.domain.empty()) break;
      if (Found found = find(finder, node)) replaced.emplace(found->last, std::move(found->node));
    }
  }
  for (Node& node : graph.nodes) {
    const auto found = replaced.find(&node);
    if (found != replaced.end()) node = std::move(found->second);
  }
  drop_unused(graph);
}

}  // namespace tandem::onnx
