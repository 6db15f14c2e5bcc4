#include "sim/cli/schema/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

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

}  // namespace

void check_document(const Json& document) {
  if (document.is_array()) {
    for (const Json& one : document) check_document(one);
    return;
  }
  Published(schema_of(document).fields()).check(document);
}

std::string document_text(const Json& document, int indent) {
  check_document(document);
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void write_document(const std::string& path, const Json& document) {
  if (path.empty()) return check_document(document);
  const std::string text = document_text(document, 2);
  write_file(path, [&](std::ostream& out) { out << text << '\n'; });
}

}  // namespace tandem
