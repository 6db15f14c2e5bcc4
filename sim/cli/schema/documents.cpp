#include "sim/cli/schema/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "sim/cli/files.h"
#include "sim/cli/schema/schemas.h"
#include "sim/report/fields/published.h"

namespace tandem {

namespace {

const PublishedSchema& schema_of(const Json& document) {
  const std::string id = document.is_object() ? document.value("schema", "") : "";
  const std::span<const PublishedSchema> all = published_schemas();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const PublishedSchema& s) { return s.id == id; });
  if (known != all.end()) return *known;
  throw std::logic_error(fmt::format("result: schema is \"{}\", which is not published", id));
}

void check(const Json& document) {
  if (!document.is_array()) return Published(schema_of(document).fields()).check(document);
  for (const Json& one : document) check(one);
}

}  // namespace

CheckedDocument::CheckedDocument(Json document) : json_(std::move(document)) { check(json_); }

CheckedDocument::CheckedDocument(const std::vector<CheckedDocument>& list) : json_(Json::array()) {
  for (const CheckedDocument& one : list) json_.push_back(one.json());
}

std::string CheckedDocument::text(int indent) const {
  return json_.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void write_document(const std::string& path, const CheckedDocument& document) {
  if (path.empty()) return;
  write_file(path, [&](std::ostream& out) { out << document.text(2) << '\n'; });
}

}  // namespace tandem
