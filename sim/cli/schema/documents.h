// Where results leave the program: whatever is published of one is held against its table of
// fields first.
#pragma once

#include <string>

#include "sim/core/json_fwd.h"

namespace tandem {

/// Holds a document, or each of a list of them, against the row of published_schemas() that its
/// "schema" names. Errors: std::logic_error, a bug, that names field and value; also for a document
/// of none of them.
void check_document(const Json& document);

/// A document, or a list of them, that was checked, as text. `indent`: of its lines; -1: one line.
/// A kernel name or a path need not be UTF-8; the text is.
std::string document_text(const Json& document, int indent);

/// Writes document_text() and a line break to `path`, as write_file(). Nothing is written to an
/// empty path, but the document is checked all the same: call it before any of it is shown.
void write_document(const std::string& path, const Json& document);

}  // namespace tandem
