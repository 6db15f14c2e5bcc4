// Finding the row of a name: overloads, forms in place, endings, autograd nodes.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/ops/op_table.h"

namespace tandem {
namespace {

constexpr std::string_view engine_prefix = "autograd::engine::evaluate_function: ";
constexpr std::string_view framework = "aten::";
constexpr std::string_view node_ending = "Backward";  // and a number

constexpr OpRow unknown_row{"",
                            OpKind::other,
                            Layer::around,
                            CastPolicy::promote,
                            OutputRule::largest,
                            arguments("tensor ...")};

/// Lower case without underscores: what the names of an operation and of its node have in common.
std::string squashed(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

class Index {
 public:
  Index() {
    for (const OpRow& row : op_table()) {
      for (const std::string_view name : names_of(row)) add(name, row);
    }
  }

  const OpRow* exact(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }
  const OpRow* by_beginning(std::string_view name) const {
    const auto it = std::find_if(beginnings_.begin(), beginnings_.end(),
                                 [&](const auto& b) { return name.starts_with(b.first); });
    return it == beginnings_.end() ? nullptr : it->second;
  }
  const OpRow* forward(const std::string& node) const {
    const auto it = by_node_.find(node);
    return it == by_node_.end() ? nullptr : it->second;
  }

 private:
  void add(std::string_view name, const OpRow& row) {
    if (name.ends_with('*')) {
      name.remove_suffix(1);
      beginnings_.emplace_back(name, &row);
      return;
    }
    by_name_.emplace(name, &row);
    if (!row.backward) by_node_.emplace(squashed(name), &row);
  }

  std::unordered_map<std::string_view, const OpRow*> by_name_;
  std::vector<std::pair<std::string_view, const OpRow*>> beginnings_;
  std::unordered_map<std::string, const OpRow*> by_node_;
};

const Index& index() {
  static const Index known;
  return known;
}

/// "add.Tensor" is an "add".
std::string_view without_overload(std::string_view name) { return name.substr(0, name.find('.')); }

const OpRow* exact_or_in_place(std::string_view name) {
  const OpRow* row = index().exact(name);
  return row == nullptr && is_in_place(name) ? index().exact(name.substr(0, name.size() - 1)) : row;
}

}  // namespace

std::vector<std::string_view> names_of(const OpRow& row) {
  std::vector<std::string_view> out;
  for (std::string_view rest = row.names; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    out.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

const OpRow* find_op(std::string_view name) {
  name = without_framework(name);
  const OpRow* row = exact_or_in_place(name);
  if (row == nullptr) row = exact_or_in_place(without_overload(name));
  return row == nullptr ? index().by_beginning(name) : row;
}

const OpRow& op_row(std::string_view name) {
  const OpRow* row = find_op(name);
  return row == nullptr ? unknown_row : *row;
}

bool is_known(const OpRow& row) { return !row.names.empty(); }

bool is_framework_op(std::string_view name) { return name.starts_with(framework); }

std::string_view without_framework(std::string_view name) {
  if (is_framework_op(name)) name.remove_prefix(framework.size());
  return name;
}

bool is_backward_node(std::string_view name) { return name.find(node_ending) != name.npos; }

bool has_engine_prefix(std::string_view name) { return name.starts_with(engine_prefix); }

std::string_view without_engine_prefix(std::string_view name) {
  if (has_engine_prefix(name)) name.remove_prefix(engine_prefix.size());
  return name;
}

const OpRow* forward_of_node(std::string_view node) {
  node = without_engine_prefix(node);
  const std::size_t end = node.find(node_ending);
  return end == node.npos ? nullptr : index().forward(squashed(node.substr(0, end)));
}

bool is_in_place(std::string_view name) {
  return without_overload(name).ends_with('_') && !name.ends_with("__");
}

bool is_layer(const OpRow& row) { return row.arguments.parameters != 0 && !row.backward; }

bool is_convolution(const OpRow& row) {
  return row.kind == OpKind::convolution || row.kind == OpKind::convolution_backward;
}

bool is_matrix_product(const OpRow& row) {
  return row.kind == OpKind::matmul && row.arguments.has(ArgumentName::left) && !row.is(batched);
}

bool is_product_with_bias(const OpRow& row) {
  return is_matrix_product(row) && row.arguments.at(ArgumentName::left) > 0;
}

bool is_layer_product(const OpRow& row) {
  return row.kind == OpKind::matmul && row.arguments.has(ArgumentName::weight) &&
         !row.arguments.has(ArgumentName::left);
}

CastPolicy cast_policy(std::string_view name) {
  const CastPolicy policy = op_row(name).autocast;
  return is_in_place(name) ? CastPolicy::promote : policy;
}

}  // namespace tandem
