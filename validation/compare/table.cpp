#include <fmt/format.h>

#include "validation/compare/compare.h"

namespace tandem {

namespace {

std::string percent(double ratio) { return fmt::format("{:.2f} %", 100 * ratio); }

std::string limit(double ratio) { return ratio > 0 ? percent(ratio) : "-"; }

std::string verdict(const CaseResult& r) {
  if (r.what.mean_limit <= 0 && r.what.worst_limit <= 0) return "not enforced";
  if (!r.enough()) return "too few captures";
  if (r.within_limits()) return "ok";
  return r.passed() ? fmt::format("missed, deviation {}", r.what.deviation) : "MISSED";
}

std::string case_row(const CaseResult& r) {
  if (r.rows.empty()) {
    return fmt::format("| {} | 0 | - | - | - | {} / {} | no data |\n", r.what.name,
                       limit(r.what.mean_limit), limit(r.what.worst_limit));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} / {} | {} |\n", r.what.name, r.rows.size(),
                     percent(r.mean_error), percent(r.worst_error), r.worst_name,
                     limit(r.what.mean_limit), limit(r.what.worst_limit), verdict(r));
}

std::string missing_line(const CaseResult& r) {
  if (r.missing.empty()) return {};
  const std::string more =
      r.missing.size() > 1 ? fmt::format(" and {} more", r.missing.size() - 1) : "";
  return fmt::format("not found in any data folder, left out of \"{}\": {}{}\n", r.what.name,
                     r.missing.front(), more);
}

}  // namespace

std::string table_text(const std::vector<CaseResult>& results, bool rows) {
  std::string text =
      "| case | n | mean error | worst error | worst | limits (mean / worst) | verdict |\n"
      "| --- | ---: | ---: | ---: | --- | ---: | --- |\n";
  for (const CaseResult& r : results) text += case_row(r);
  for (const CaseResult& r : results) text += missing_line(r);
  if (!rows) return text;
  for (const CaseResult& r : results) {
    text += fmt::format("\n{}: {}\n", r.what.name, r.what.description);
    for (const Comparison& row : r.rows) {
      text += fmt::format("  {:>+8.2f} %  measured {:>14.3f}  predicted {:>14.3f}  {}\n",
                          100 * row.error(), row.measured, row.predicted, row.name);
    }
  }
  return text;
}

}  // namespace tandem
