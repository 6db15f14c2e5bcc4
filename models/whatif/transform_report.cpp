#include "models/whatif/transform_report.h"

namespace tandem {

const TransformReport* find_report(const std::vector<TransformReport>& reports,
                                   std::string_view name) {
  for (const TransformReport& report : reports) {
    if (report.name == name) return &report;
  }
  return nullptr;
}

double report_number(const TransformReport* report, std::string_view name, double otherwise) {
  if (report == nullptr) return otherwise;
  for (const ReportValue& v : report->values) {
    if (v.name != name) continue;
    if (const auto* number = std::get_if<double>(&v.value)) return *number;
    if (const auto* count = std::get_if<std::int64_t>(&v.value)) return static_cast<double>(*count);
    if (const auto* flag = std::get_if<bool>(&v.value)) return *flag ? 1 : 0;
  }
  return otherwise;
}

}  // namespace tandem
