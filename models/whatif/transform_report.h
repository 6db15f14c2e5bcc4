// What a what-if says of what it did: the same struct for all of them, so that results, summaries,
// sweeps and validation need to know none by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tandem {

/// A number or a text that a what-if reports.
struct ReportValue {
  std::string_view name;
  std::string_view unit;  // count, share, ratio, us, B, bool or text
  std::string_view doc;   // reads with the value before it: "12" "casts added"
  std::variant<bool, std::int64_t, double, std::string> value;
  bool headline = false;  // shown in the summary
};

/// A list whose rows have the same names each, e.g. the kernels that a compiler generates.
struct ReportList {
  std::string_view name;
  std::vector<std::vector<ReportValue>> rows;
};

/// Kernel time of which nothing tells whether it is there, relative to all of it.
struct UntoldShare {
  double more = 0;  // that is not predicted and may be there
  double less = 0;  // that is predicted and may not be
};

struct TransformReport {
  std::string_view name;  // of the row of transforms()
  std::string_view json;  // its object in the result
  std::string from, to;   // what it changed: "fp32" and "amp"
  std::vector<ReportValue> values;
  std::vector<ReportList> lists;
  double expected_error = 0;  // relative, of the GPU time
  UntoldShare untold = {};    // of the GPU time
};

/// The report of what-if `name`, or null if it was not asked for.
const TransformReport* find_report(const std::vector<TransformReport>& reports,
                                   std::string_view name);

/// A value as a number, bool as 0 or 1; `otherwise` where there is no such number.
double report_number(const TransformReport* report, std::string_view name, double otherwise);

}  // namespace tandem
