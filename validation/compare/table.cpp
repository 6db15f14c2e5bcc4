#include <fmt/format.h>

#include <nlohmann/json.hpp>
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
  return "ok";
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
      "deviation {} of \"{}\":{}{} {}\n", deviation.number, name_of(r.what),
      moved("mean", r.mean_error, deviation.mean), moved("worst", r.worst_error, deviation.worst),
      verdict == Verdict::gap_closed
          ? "so the gap has closed: take the deviation out of the case file, or narrow it to what "
            "is left, and say so in DEVIATIONS.md"
          : "so the gap has grown: find the change that did it; the band is not widened to hide "
            "it");
}

std::string data_text(const CaseResult& r) {
  return r.data ? std::string(to_string(*r.data)) : "-";
}

std::string limits_text(const Case& c) {
  return limit(c.mean_limit) + " / " + limit(c.worst_limit);
}

/// "27 of 30": measurements inside the stated bands.
std::string inside_text(const CaseResult& r) {
  if (r.with_band() == 0) return "-";
  return fmt::format("{} of {}", r.inside(), r.with_band());
}

std::string case_row(const CaseResult& r) {
  const Case& c = r.what;
  if (r.rows.empty()) {
    return fmt::format("| {} | {} | 0 | - | - | - | {} | - | - | no data |\n", c.question, c.set,
                       limits_text(c));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", c.question, c.set,
                     r.rows.size(), percent(r.mean_error), percent(r.worst_error), r.worst_name,
                     limits_text(c), inside_text(r), data_text(r), verdict_text(r));
}

Json band_json(const StatedBand& band) {
  const BandParts& p = band.parts;
  Json what_ifs = Json::object();
  for (const auto& [name, error] : p.what_ifs) what_ifs[name] = error;
  return {{"low", band.low},
          {"high", band.high},
          {"host_basis", to_string(p.basis)},
          {"host_fast_us", p.host.fast_us},
          {"host_slow_us", p.host.slow_us},
          {"gpu_share", p.gpu_share},
          {"generated_error", p.generated_error},
          {"launched", to_string(p.launched)},
          {"what_ifs", std::move(what_ifs)},
          {"memory", p.memory ? Json(to_string(*p.memory)) : Json(nullptr)}};
}

std::string missing_line(const CaseResult& r) {
  if (r.missing.empty()) return {};
  const std::string more =
      r.missing.size() > 1 ? fmt::format(" and {} more", r.missing.size() - 1) : "";
  return fmt::format("not found in any data folder, left out of \"{}\": {}{}\n", name_of(r.what),
                     r.missing.front(), more);
}

}  // namespace

std::string table_text(const std::vector<CaseResult>& results, bool rows) {
  std::string text =
      "| question | set | n | mean error | worst error | worst | limits (mean / worst) | "
      "inside | data | verdict |\n| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | --- | --- "
      "|\n";
  for (const CaseResult& r : results) text += case_row(r);
  for (const CaseResult& r : results) text += missing_line(r);
  for (const CaseResult& r : results) text += deviation_line(r);
  if (!rows) return text;
  for (const CaseResult& r : results) {
    text += fmt::format("\n{}: {}{}{}\n", name_of(r.what), r.what.description,
                        r.what.note.empty() ? "" : ". ", r.what.note);
    for (const Comparison& row : r.rows) {
      text += fmt::format("  {:>+8.2f} %  measured {:>14.3f}  predicted {:>14.3f}  {}\n",
                          100 * row.error(), row.measured, row.predicted, row.name);
    }
  }
  return text;
}

Json rows_json(const std::vector<CaseResult>& results) {
  Json list = Json::array();
  for (const CaseResult& r : results) {
    for (const Comparison& row : r.rows) {
      Json one = {{"question", r.what.question}, {"set", r.what.set}, {"host", r.what.host},
                  {"data", data_text(r)},        {"name", row.name},  {"measured", row.measured},
                  {"predicted", row.predicted},  {"band", nullptr}};
      if (row.band) one["band"] = band_json(*row.band);
      list.push_back(std::move(one));
    }
  }
  return {{"schema", "tandem.validation/1"}, {"rows", std::move(list)}};
}

std::string markdown_text(const std::vector<CaseResult>& results) {
  std::string text;
  std::string_view question;
  for (const CaseResult& r : results) {
    const Case& c = r.what;
    if (c.question != question) {
      text += fmt::format(
          "{}## {}\n\n{}.\n\n| set | n | mean error | worst error | limits (mean / "
          "worst) | inside | data | verdict |\n| --- | ---: | ---: | ---: | ---: | ---: | --- | "
          "--- "
          "|\n",
          text.empty() ? "" : "\n", c.question, c.description);
      question = c.question;
    }
    if (r.rows.empty()) {
      text += fmt::format("| {} | 0 | - | - | {} | - | - | no data |\n", c.set, limits_text(c));
      continue;
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", c.set, r.rows.size(),
                        percent(r.mean_error), percent(r.worst_error), limits_text(c),
                        inside_text(r), data_text(r), verdict_text(r));
  }
  return text;
}

}  // namespace tandem
