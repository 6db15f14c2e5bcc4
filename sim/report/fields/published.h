// Documents against the tables of their fields.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/core/fields/json_fwd.h"
#include "sim/report/fields/fields.h"

namespace tandem {

/// A table of fields, ready to hold documents against it: what the table says of names, presence
/// and null, and what invariants.h says of numbers.
class Published {
 public:
  explicit Published(std::vector<PublishedField> fields);
  ~Published();
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  /// Paths that `document` has and no field describes, those that a field promises and it lacks,
  /// and numbers that are not finite, out of their range, out of order, or no sum of their parts.
  std::vector<std::string> differences(const Json& document) const;

  /// Errors: std::logic_error, a bug, that names the first of the differences.
  void check(const Json& document) const;

  /// The same of one element of a list at the root, of documents that are written in pieces.
  void check_element(const std::string& list, const Json& element) const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace tandem
