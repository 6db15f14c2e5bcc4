// Published fields as the tree that they make.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/predict/invariants/invariants.h"
#include "sim/report/fields/fields.h"

namespace tandem {

/// What stands at a field that has no fields of its own.
enum class FieldKind : std::uint8_t { number, text, truth, map, any };

/// A list's element is the child "[]".
struct FieldNode {
  std::string name;
  const PublishedField* field = nullptr;  // null: an object or a list of which no row speaks
  std::vector<FieldNode> children;
  FieldKind kind = FieldKind::number;
  NumberRange range;                                        // of a number
  std::vector<std::pair<std::size_t, std::size_t>> orders;  // of children: small, large

  bool is_list() const { return children.size() == 1 && children.front().name == "[]"; }
  bool may_be_null() const;
  bool may_be_absent() const;
};

/// Refers to `fields`.
FieldNode field_tree(std::span<const PublishedField> fields);

/// "a.b[].c" as a, b, [], c.
std::vector<std::string> path_parts(std::string_view path);

}  // namespace tandem
