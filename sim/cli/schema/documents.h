// Where results leave the program: whatever is published of one is held against its table of
// fields first, once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// A document, or a list of them, that holds what the row of published_schemas() says that its
/// "schema" names: nothing else is shown or written. Make it before any of it is shown. Errors:
/// std::logic_error, a bug, that names field and value; also for a document of none of them.
class CheckedDocument {
 public:
  CheckedDocument(Json document);  // implicit: whatever is written is checked
  /// The list of them; they are not held against anything again.
  explicit CheckedDocument(const std::vector<CheckedDocument>& list);

  const Json& json() const { return json_; }
  /// `indent`: of its lines; -1: one line. A kernel name or a path need not be UTF-8; the text is.
  std::string text(int indent) const;

 private:
  Json json_;
};

/// Writes the text of `document` and a line break to `path`, as write_file(); nothing to an empty
/// path.
void write_document(const std::string& path, const CheckedDocument& document);

}  // namespace tandem
