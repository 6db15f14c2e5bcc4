#include "sim/report/check_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

bool is_good(const UseVerdict& v) { return !v.touched || v.concern == Concern::note; }

std::string_view verdict_text(const UseVerdict& v) {
  if (is_good(v)) return "good";
  return v.concern == Concern::wrong ? "wrong" : "doubtful";
}

std::vector<std::string_view> touched(UseSet touches) {
  std::vector<std::string_view> out;
  for (const Named<Use>& use : uses) {
    if (touches.has(use.value)) out.push_back(use.name);
  }
  return out;
}

std::string number(double value, std::string_view unit) {
  if (unit == "count") return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}{}{}", value, unit == "ratio" ? "" : " ", unit == "ratio" ? "" : unit);
}

}  // namespace

std::string check_text(const TraceSummary& trace, const CheckReport& report) {
  std::string text =
      fmt::format("trace      {} ({}, {}): {} steps, {} device activities\n", trace.path,
                  to_string(trace.framework), trace.gpu, trace.steps, trace.kernels);
  for (const UseVerdict& v : report.verdicts) {
    const bool good = is_good(v);
    text +=
        fmt::format("  {:<14} {}{}{}\n", name_of(uses, v.use), verdict_text(v), good ? "" : ": ",
                    good ? "" : fmt::format("{}", fmt::join(v.because, ", ")));
  }
  if (report.findings.empty()) {
    text += fmt::format("nothing found by {} checks\n", report.checks);
  }
  for (const Finding& f : report.findings) {
    text += fmt::format("{:<6} {}: {} {} (expected at most {}; {}). For {}: {}. {}\n",
                        name_of(concerns, f.seen.concern), f.code, f.what,
                        number(f.seen.value, f.unit), number(f.seen.expected, f.unit), f.seen.place,
                        fmt::join(touched(f.touches), ", "), f.means, f.advice);
  }
  return text;
}

Json check_json(const TraceSummary& trace, const CheckReport& report) {
  Json out;
  out["schema"] = check_schema;
  out["tandem_version"] = TANDEM_VERSION;
  out["trace"] = {
      {"path", trace.path}, {"format", trace.format}, {"framework", to_string(trace.framework)},
      {"gpu", trace.gpu},   {"steps", trace.steps},   {"kernels", trace.kernels}};
  for (const UseVerdict& v : report.verdicts) {
    const bool good = is_good(v);
    out["verdicts"][std::string(name_of(uses, v.use))] = {
        {"verdict", verdict_text(v)},
        {"because", good ? std::vector<std::string_view>{} : v.because}};
  }
  out["findings"] = Json::array();
  for (const Finding& f : report.findings) {
    out["findings"].push_back({{"code", f.code},
                               {"severity", name_of(concerns, f.seen.concern)},
                               {"value", f.seen.value},
                               {"expected", f.seen.expected},
                               {"unit", f.unit},
                               {"place", f.seen.place},
                               {"what", f.what},
                               {"uses", touched(f.touches)},
                               {"means", f.means},
                               {"advice", f.advice}});
  }
  out["checks"] = report.checks;
  return out;
}

}  // namespace tandem
