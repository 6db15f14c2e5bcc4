#include "sim/report/fields/field_tree.h"

#include <algorithm>

namespace tandem {

namespace {

std::size_t index_of(const FieldNode& node, std::string_view name) {
  const auto known = std::find_if(node.children.begin(), node.children.end(),
                                  [&](const FieldNode& child) { return child.name == name; });
  return static_cast<std::size_t>(known - node.children.begin());
}

/// The child of `node` with that name, which it gets if it has none.
FieldNode& child_of(FieldNode& node, const std::string& name) {
  const std::size_t known = index_of(node, name);
  if (known < node.children.size()) return node.children[known];
  FieldNode& child = node.children.emplace_back();
  child.name = name;
  return child;
}

FieldKind kind_of(std::string_view unit) {
  if (unit == "text") return FieldKind::text;
  if (unit == "bool") return FieldKind::truth;
  if (unit == "map") return FieldKind::map;
  return unit == "any" || unit == "object" ? FieldKind::any : FieldKind::number;
}

void add_invariants(FieldNode& node) {
  if (node.field != nullptr) {
    node.kind = kind_of(node.field->unit);
    node.range = range_of(node.name, node.field->unit);
  }
  const std::size_t all = node.children.size();
  for (const NumberOrder& order : number_orders()) {
    const std::size_t small = index_of(node, order.small), large = index_of(node, order.large);
    if (small < all && large < all) node.orders.emplace_back(small, large);
  }
  for (FieldNode& child : node.children) add_invariants(child);
}

}  // namespace

bool FieldNode::may_be_null() const {
  return field != nullptr &&
         (field->presence == Presence::may_be_null || field->presence == Presence::may_be_both);
}

bool FieldNode::may_be_absent() const {
  return field != nullptr &&
         (field->presence == Presence::may_be_absent || field->presence == Presence::may_be_both);
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    const bool list = part.ends_with("[]");
    parts.emplace_back(list ? part.substr(0, part.size() - 2) : part);
    if (list) parts.emplace_back("[]");
    begin = end + 1;
  }
  return parts;
}

FieldNode field_tree(std::span<const PublishedField> fields) {
  FieldNode root;
  for (const PublishedField& field : fields) {
    FieldNode* node = &root;
    for (const std::string& part : path_parts(field.path)) node = &child_of(*node, part);
    node->field = &field;
  }
  add_invariants(root);
  return root;
}

}  // namespace tandem
