#include "sim/report/advice_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/core/text/texts.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

/// Per sample where the batch is known, else per step; nothing without a model of the energy.
std::optional<double> energy_of(const Result& r) {
  if (!r.energy || r.energy->energy_j <= 0) return {};
  return r.energy->energy_j / static_cast<double>(r.scenario.items().value_or(1));
}

/// `text` as lines of at most `width` columns, `indent` of them empty.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > width - indent) {
      end = text.rfind(' ', width - indent);
      if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    }
    out += std::string(indent, ' ').append(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

constexpr std::size_t line_width = 120;
constexpr std::size_t answer_indent = 11;
constexpr std::size_t row_indent = 12;

/// A row that is worth naming before the table; `needed`: also one that is slower.
std::string best_line(std::string_view label, const AdvisedRow* row, std::string_view unit,
                      bool needed) {
  if (row == nullptr || (row->speed_up.value <= 1 && !needed)) return {};
  return fmt::format("{:<10} {}: {} the {}/s\n", label, row->name, gain_text(row->speed_up), unit) +
         wrapped(row->how, answer_indent, line_width);
}

std::string verdict(const Advice& advice) {
  const AdvisedRow* same = advice.best(true);
  const AdvisedRow* other = advice.best(false);
  if (same == nullptr && other == nullptr) {
    return "advice     nothing helps of what can be predicted of this step\n";
  }
  const std::string_view unit = advice.base().result.scenario.batch ? "samples" : "steps";
  const bool needed = !advice.base().fits();  // the step cannot stay as it is
  const bool sure = needed || !advice.nothing_helps();
  std::string text = best_line(sure ? "advice" : "  guess", same, unit, needed);
  text += best_line(text.empty() && sure ? "advice"
                    : sure               ? "otherwise"
                                         : "  guess",
                    other, unit, needed);
  if (sure) return text;
  if (text.empty()) return "advice     nothing helps: no row is faster\n";
  return "advice     nothing helps for sure: no band lies above 1\n" + text;
}

std::string head(const Advice& advice) {
  const Result& r = advice.base().result;
  std::string text = fmt::format(
      "{:<10} {} ({}, {}, batch {})\n", advice.generated ? "network" : "trace", r.trace.path,
      to_string(r.trace.framework), r.scenario.gpu.empty() ? "unknown GPU" : r.scenario.gpu,
      batch_text(r.scenario.batch, r.scenario.passes));
  text += fmt::format("step time  {} ({} to {} in 9 of 10 cases)   limited by {}\n",
                      time_text(r.step.time_us), time_text(r.band.low_us),
                      time_text(r.band.high_us), to_string(r.limited_by));
  if (r.memory && !r.memory->fits) {
    const bool any = std::any_of(advice.rows.begin(), advice.rows.end(),
                                 [](const AdvisedRow& row) { return row.fits(); });
    text += fmt::format("memory     peak {:.2f} GB DOES NOT FIT{}\n", r.memory->peak_bytes * 1e-9,
                        any ? "; rows that do stand first" : ", nor does any row");
  }
  return text;
}

std::string memory_text(const Result& r) {
  if (!r.memory) return "-";
  return fmt::format("{:.2f} GB{}", r.memory->peak_bytes * 1e-9, r.memory->fits ? "" : " NO FIT");
}

std::string row_text(const AdvisedRow& row) {
  const Result& r = row.result;
  const auto energy = energy_of(r);
  std::string text = fmt::format(
      "{:>8.2f}  {:>6.2f} to {:<6.2f}  {:>10}  {:>9.1f}  {:>9}  {:>15}  {}\n", row.speed_up.value,
      row.speed_up.low, row.speed_up.high, time_text(r.step.time_us), r.step.throughput_per_s,
      energy ? fmt::format("{:.3g}", *energy) : "-", memory_text(r), row.name);
  text += wrapped(row.why, row_indent, line_width);
  if (r.job) text += wrapped(job_text(*r.job), row_indent, line_width);
  for (const std::string& note : row.notes) {
    text += wrapped("note: " + note, row_indent, line_width);
  }
  return text;
}

Json gain_json(const SpeedUp& s) { return {{"value", s.value}, {"low", s.low}, {"high", s.high}}; }

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json row_json(const AdvisedRow& row) {
  const Result& r = row.result;
  Json out = {{"name", row.name},
              {"how", row.how},
              {"options", row.options},
              {"is_base", row.is_base},
              {"combined", row.combined},
              {"same_work", row.same_work},
              {"speed_up", gain_json(row.speed_up)},
              {"why", row.why},
              {"notes", row.notes},
              {"gpu", r.scenario.gpu},
              {"batch", or_null(r.scenario.batch)},
              {"passes", r.scenario.passes},
              {"time_us", r.step.time_us},
              {"band", {{"low_us", r.band.low_us}, {"high_us", r.band.high_us}}},
              {"throughput_per_s", r.step.throughput_per_s},
              {"gpu_kernel_us", r.step.gpu_kernel_us},
              {"limited_by", to_string(r.limited_by)},
              {"memory_peak_bytes", r.memory ? Json(r.memory->peak_bytes) : Json(nullptr)},
              {"fits", r.memory ? Json(r.memory->fits) : Json(nullptr)},
              {"energy_per_sample_j", r.scenario.batch ? or_null(energy_of(r)) : Json(nullptr)}};
  if (r.job) out["job"] = job_json(*r.job);
  return out;
}

}  // namespace

std::string gain_text(const SpeedUp& s) {
  return fmt::format("{:.2f} times ({:.2f} to {:.2f} in 9 of 10 cases)", s.value, s.low, s.high);
}

std::string advice_text(const Advice& advice) {
  std::string text = head(advice) + verdict(advice);
  const bool samples = advice.base().result.scenario.batch.has_value();
  text += fmt::format("\n{:>8}  {:^16}  {:>10}  {:>9}  {:>9}  {:>15}  {}\n", "speed-up",
                      "9 of 10 cases", "step time", samples ? "samples/s" : "steps/s",
                      samples ? "J/sample" : "J/step", "peak memory", "what");
  for (const AdvisedRow& row : advice.rows) text += row_text(row);
  if (!advice.refused.empty()) text += "\nnot predicted\n";
  for (const Refusal& r : advice.refused) text += fmt::format("  {:<23}  {}\n", r.name, r.reason);
  return printable(std::move(text));
}

Json advice_json(const Advice& advice) {
  const Result& base = advice.base().result;
  const auto name = [](const AdvisedRow* row) {
    return row == nullptr ? Json(nullptr) : Json(row->name);
  };
  Json out = {{"schema", advice_schema},
              {"tandem_version", TANDEM_VERSION},
              {"trace",
               {{"path", base.trace.path},
                {"framework", to_string(base.trace.framework)},
                {"gpu", base.trace.gpu},
                {"batch", or_null(base.scenario.batch)}}},
              {"best", name(advice.best(true))},
              {"best_other_batch_or_gpu", name(advice.best(false))},
              {"nothing_helps", advice.nothing_helps()},
              {"rows", Json::array()},
              {"refused", Json::array()}};
  for (const AdvisedRow& row : advice.rows) out["rows"].push_back(row_json(row));
  for (const Refusal& r : advice.refused) {
    out["refused"].push_back({{"name", r.name}, {"reason", r.reason}});
  }
  return out;
}

}  // namespace tandem
