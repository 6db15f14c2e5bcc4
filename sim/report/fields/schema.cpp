#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "sim/report/fields/fields.h"

namespace tandem {

namespace {

/// Fields as the tree that they make; a list's element is the child "[]".
struct Node {
  std::string name;
  const PublishedField* field = nullptr;
  std::vector<Node> children;

  bool is_list() const { return children.size() == 1 && children.front().name == "[]"; }
};

/// Where `children` has the one with that name; their end if it has none.
auto find_named(auto& children, const std::string& name) {
  return std::find_if(children.begin(), children.end(),
                      [&](const Node& node) { return node.name == name; });
}

/// The child of `node` with that name, which it gets if it has none.
Node& child_of(Node& node, const std::string& name) {
  const auto known = find_named(node.children, name);
  return known != node.children.end() ? *known
                                      : node.children.emplace_back(Node{name, nullptr, {}});
}

/// "a.b[].c" as a, b, [], c.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    const bool list = part.ends_with("[]");
    parts.push_back(list ? part.substr(0, part.size() - 2) : part);
    if (list) parts.emplace_back("[]");
    begin = end + 1;
  }
  return parts;
}

Node tree_of(std::span<const PublishedField> fields) {
  Node root;
  for (const PublishedField& field : fields) {
    Node* node = &root;
    for (const std::string& part : parts_of(field.path)) node = &child_of(*node, part);
    node->field = &field;
  }
  return root;
}

bool may_be_null(const Node& node) {
  return node.field != nullptr && (node.field->presence == Presence::may_be_null ||
                                   node.field->presence == Presence::may_be_both);
}

bool may_be_absent(const Node& node) {
  return node.field != nullptr && (node.field->presence == Presence::may_be_absent ||
                                   node.field->presence == Presence::may_be_both);
}

const char* type_of(const std::string& unit) {
  if (unit == "text") return "string";
  if (unit == "bool") return "boolean";
  return unit == "object" || unit == "map" ? "object" : "number";
}

Json with_null(const char* type, bool null) {
  return null ? Json(Json::array({type, "null"})) : Json(type);
}

Json schema_of(const Node& node) {
  Json out = Json::object();
  const bool null = may_be_null(node);
  if (node.field != nullptr) out["description"] = node.field->doc;
  if (node.is_list()) {
    out["type"] = with_null("array", null);
    out["items"] = schema_of(node.children.front());
    return out;
  }
  if (node.children.empty()) {
    if (node.field->unit == "any") return out;
    out["type"] = with_null(type_of(node.field->unit), null);
    if (node.field->unit == "map") out["additionalProperties"] = {{"type", "string"}};
    if (out["type"].dump().find("number") != std::string::npos) out["unit"] = node.field->unit;
    return out;
  }
  out["type"] = with_null("object", null);
  out["properties"] = Json::object();
  Json required = Json::array();
  for (const Node& child : node.children) {
    out["properties"][child.name] = schema_of(child);
    if (!may_be_absent(child)) required.push_back(child.name);
  }
  out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

void compare(const Json& json, const Node& node, const std::string& path,
             std::set<std::string>& out) {
  if (json.is_null()) {
    if (!may_be_null(node) && (node.field == nullptr || node.field->unit != "any")) {
      out.insert(path + ": null");
    }
    return;
  }
  if (json.is_array()) {
    if (!node.is_list()) {
      out.insert(path + "[]: not described");
      return;
    }
    for (const Json& one : json) compare(one, node.children.front(), path + "[]", out);
    return;
  }
  if (!json.is_object()) {
    if (!node.children.empty()) out.insert(path + ": a value, not an object");
    if (json.is_number() && !std::isfinite(json.get<double>())) {
      out.insert(path + ": no finite number");
    }
    return;
  }
  if (node.field != nullptr && node.field->unit == "map") return;
  const auto below = [&path](const std::string& key) {
    return path.empty() ? key : path + "." + key;
  };
  for (const auto& item : json.items()) {
    const auto child = find_named(node.children, item.key());
    if (child == node.children.end()) {
      out.insert(below(item.key()) + ": not described");
    } else {
      compare(item.value(), *child, below(item.key()), out);
    }
  }
  for (const Node& child : node.children) {
    if (!may_be_absent(child) && !json.contains(child.name)) {
      out.insert(below(child.name) + ": described, but not there");
    }
  }
}

}  // namespace

void add_rows(std::span<const FieldRow> rows, std::vector<PublishedField>& out) {
  for (const FieldRow& row : rows) out.push_back({row.path, row.unit, row.doc, row.presence});
}

Json json_schema(std::string_view id, std::string_view title,
                 std::span<const PublishedField> fields) {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"$id", "urn:" + std::string(id)},
              {"title", std::string(title)}};
  out.update(schema_of(tree_of(fields)));
  out["properties"]["schema"] = {{"const", std::string(id)}};
  return out;
}

std::vector<std::string> differences(const Json& json, std::span<const PublishedField> fields) {
  std::set<std::string> out;
  compare(json, tree_of(fields), "", out);
  return {out.begin(), out.end()};
}

void check_published(const Json& json, std::span<const PublishedField> fields) {
  const std::vector<std::string> wrong = differences(json, fields);
  if (wrong.empty()) return;
  throw std::logic_error(
      fmt::format("result: {} ({} in all are not as published)", wrong.front(), wrong.size()));
}

}  // namespace tandem
