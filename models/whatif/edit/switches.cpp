#include "models/whatif/edit/switches.h"

#include <algorithm>
#include <utility>

namespace tandem {

void add_switch(AlgorithmSwitches& switches, std::string_view from, std::string_view to,
                double us) {
  const auto known = std::find_if(switches.begin(), switches.end(), [&](const AlgorithmSwitch& s) {
    return s.from == from && s.to == to;
  });
  AlgorithmSwitch& row =
      known != switches.end()
          ? *known
          : switches.emplace_back(AlgorithmSwitch{std::string(from), std::string(to)});
  ++row.count;
  row.us += us;
}

void report_switches(AlgorithmSwitches switches, TransformReport& report) {
  std::stable_sort(switches.begin(), switches.end(),
                   [](const AlgorithmSwitch& a, const AlgorithmSwitch& b) { return a.us > b.us; });
  std::int64_t count = 0;
  ReportList list{switches_list.name, {}};
  for (const AlgorithmSwitch& s : switches) {
    count += s.count;
    list.rows.push_back({reported(switch_columns[0], s.from), reported(switch_columns[1], s.to),
                         reported(switch_columns[2], std::int64_t{s.count}),
                         reported(switch_columns[3], s.us)});
  }
  const bool any = !switches.empty();
  report.values.push_back(reported(switched_field, count, any));
  report.values.push_back(reported(
      main_switch_field, any ? switches.front().from + " -> " + switches.front().to : "none", any));
  report.lists.push_back(std::move(list));
}

}  // namespace tandem
