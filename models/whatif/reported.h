// What the reports of what-ifs hold, a row a value: reports are made of these rows, and what is
// published of results (`describe metric`, schemas) is read from them.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/whatif/transform_report.h"

namespace tandem {

/// As of ReportValue.
struct ReportField {
  std::string_view name;
  std::string_view unit;
  std::string_view doc;
};

/// A list of a report; its name is empty where there is none.
struct ReportedList {
  std::string_view name;
  std::span<const ReportField> columns;
};

/// The object of one what-if in a result.
struct ReportedObject {
  std::string_view json;  // its key, as of the what-if's row in transforms()
  std::string_view doc;
  std::span<const ReportField> values;
  ReportedList list = {};
  bool null_unless_asked = false;  // else it is absent
};

/// Of every what-if that reports values, in the order of application.
std::vector<ReportedObject> reported_objects();

/// A value of a field; `headline`: shown in the summary.
inline ReportValue reported(const ReportField& field, decltype(ReportValue::value) value,
                            bool headline = false) {
  return {field.name, field.unit, field.doc, std::move(value), headline};
}

}  // namespace tandem
