#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "validation/compare/compare.h"

namespace tandem {

namespace {

std::string percent(double ratio) { return fmt::format("{:.2f} %", 100 * ratio); }

std::string limit(double ratio) { return ratio > 0 ? percent(ratio) : "-"; }

std::string verdict_text(const CaseResult& r) {
  const std::int64_t number = r.what.deviation ? r.what.deviation->number : 0;
  switch (r.verdict()) {
    case Verdict::missed: return "MISSED";
    case Verdict::accepted: return fmt::format("missed, deviation {}", number);
    case Verdict::gap_closed: return fmt::format("GAP CLOSED, deviation {}", number);
    case Verdict::gap_grew: return fmt::format("GAP GREW, deviation {}", number);
    case Verdict::no_data: return "no data";
    case Verdict::too_few: return "too few captures";
    case Verdict::ok: break;
  }
  return r.what.mean_limit <= 0 && r.what.worst_limit <= 0 ? "not enforced" : "ok";
}

/// "mean 2.76 % is below 12.00 %", for a figure that has left its band.
std::string moved(std::string_view figure, double value, const std::optional<GapBand>& band) {
  if (!band || (value >= band->lower && value <= band->upper)) return {};
  const bool closed = value < band->lower;
  return fmt::format(" {} {} is {} {},", figure, percent(value), closed ? "below" : "above",
                     percent(closed ? band->lower : band->upper));
}

/// What has become of the gap and what to do about it.
std::string deviation_line(const CaseResult& r) {
  const Verdict verdict = r.verdict();
  if (verdict != Verdict::gap_closed && verdict != Verdict::gap_grew) return {};
  const Deviation& deviation = *r.what.deviation;
  return fmt::format(
      "deviation {} of \"{}\":{}{} {}\n", deviation.number, r.what.name,
      moved("mean", r.mean_error, deviation.mean), moved("worst", r.worst_error, deviation.worst),
      verdict == Verdict::gap_closed
          ? "so the gap has closed: take the deviation out of the case file, or narrow it to what "
            "is left, and say so in DEVIATIONS.md"
          : "so the gap has grown: find the change that did it; the band is not widened to hide "
            "it");
}

std::string case_row(const CaseResult& r) {
  if (r.rows.empty()) {
    return fmt::format("| {} | 0 | - | - | - | {} / {} | no data |\n", r.what.name,
                       limit(r.what.mean_limit), limit(r.what.worst_limit));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} / {} | {} |\n", r.what.name, r.rows.size(),
                     percent(r.mean_error), percent(r.worst_error), r.worst_name,
                     limit(r.what.mean_limit), limit(r.what.worst_limit), verdict_text(r));
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
  for (const CaseResult& r : results) text += deviation_line(r);
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
