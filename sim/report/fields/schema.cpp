#include <nlohmann/json.hpp>

#include "sim/report/fields/field_tree.h"
#include "sim/report/fields/fields.h"

namespace tandem {

namespace {

const char* type_of(const std::string& unit) {
  if (unit == "text") return "string";
  if (unit == "bool") return "boolean";
  return unit == "object" || unit == "map" ? "object" : "number";
}

Json with_null(const char* type, bool null) {
  return null ? Json(Json::array({type, "null"})) : Json(type);
}

Json schema_of(const FieldNode& node) {
  Json out = Json::object();
  const bool null = node.may_be_null();
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
  for (const FieldNode& child : node.children) {
    out["properties"][child.name] = schema_of(child);
    if (!child.may_be_absent()) required.push_back(child.name);
  }
  out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
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
  out.update(schema_of(field_tree(fields)));
  out["properties"]["schema"] = {{"const", std::string(id)}};
  return out;
}

}  // namespace tandem
