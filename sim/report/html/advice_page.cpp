#include "sim/report/html/advice_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/text/texts.h"
#include "sim/report/advice_report.h"

namespace tandem::html {

namespace {

Figure best_figure(const char* name, const AdvisedRow* row) {
  if (row == nullptr || row->speed_up.value <= 1) return {name, "nothing", ""};
  return {name, row->name, gain_text(row->speed_up)};
}

Section answer(const Advice& advice) {
  const AdvisedRow& base = advice.base();
  const AdvisedRow* best = advice.best(true);
  Section out{"What would help", "", {}};
  out.text = advice.nothing_helps() || best == nullptr
                 ? "Nothing is sure to make the step faster."
                 : fmt::format("{} makes it {} as fast.{}{}", best->name, gain_text(best->speed_up),
                               best->how.empty() ? "" : " ", best->how);
  out.blocks.push_back(Figures{{{"step as it is", time_text(base.result.step.time_us),
                                 fmt::format("limited by {}", to_string(base.result.limited_by))},
                                best_figure("same batch, same GPU", best),
                                best_figure("another batch or GPU", advice.best(false))}});
  BarChart chart{"Throughput over that of the step as it is", "speed-up", "x", {}, {}};
  BarSeries series;
  for (const AdvisedRow& row : advice.rows) {
    if (row.is_base || !row.fits()) continue;
    chart.bars.push_back(row.name);
    series.values.push_back(row.speed_up.value);
    series.low.push_back(row.speed_up.low);
    series.high.push_back(row.speed_up.high);
    chart.most = std::max(chart.most, row.speed_up.high);
  }
  chart.series.push_back(std::move(series));
  if (!chart.bars.empty()) out.blocks.push_back(std::move(chart));
  return out;
}

std::string joined(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += (out.empty() ? "" : "; ") + note;
  return out;
}

std::vector<TableCell> cells_of(const AdvisedRow& row) {
  const Result& r = row.result;
  const bool energy = r.energy && r.energy->energy_j > 0 && r.scenario.batch;
  return {row.name,
          row.speed_up.value,
          row.speed_up.low,
          row.speed_up.high,
          r.step.time_us,
          r.scenario.batch ? r.step.throughput_per_s : page_unknown,
          energy ? r.energy->energy_j / static_cast<double>(*r.scenario.items()) : page_unknown,
          r.memory ? r.memory->peak_bytes : page_unknown,
          std::string(!r.memory    ? "not known"
                      : row.fits() ? "yes"
                                   : "no"),
          row.why,
          joined(row.notes),
          row.how,
          row.options};
}

Section rows(const Advice& advice) {
  Table table{"Everything that was predicted",
              {{"what"},
               {"speed-up", "x", "throughput over that of the step as it is"},
               {"low", "x", "nine of ten measured ones lie above"},
               {"high", "x", "and below this"},
               {"step time", "us"},
               {"samples/s", "1/s"},
               {"energy a sample", "J"},
               {"peak memory", "B"},
               {"fits"},
               {"why", "", "", true},
               {"notes", "", "", true},
               {"how", "", "", true},
               {"options of tandem", "", "", true}},
              {}};
  for (const AdvisedRow& row : advice.rows) table.rows.push_back(cells_of(row));
  return {"Rows", "", {std::move(table)}};
}

Section refused(const Advice& advice) {
  Table table{"Not predicted", {{"what"}, {"why", "", "", true}}, {}};
  for (const Refusal& r : advice.refused) table.rows.push_back({r.name, r.reason});
  return {"Not predicted", "What was not tried, and what it would need.", {std::move(table)}};
}

}  // namespace

Page advice_page(const Advice& advice) {
  const Result& base = advice.base().result;
  Page page{"What would make this step faster",
            fmt::format("{} on {}", base.trace.path, base.scenario.gpu),
            {}};
  page.sections = {answer(advice), rows(advice)};
  if (!advice.refused.empty()) page.sections.push_back(refused(advice));
  return page;
}

}  // namespace tandem::html
