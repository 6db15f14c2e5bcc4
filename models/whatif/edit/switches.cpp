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
  ReportList list{"switches", {}};
  for (const AlgorithmSwitch& s : switches) {
    count += s.count;
    list.rows.push_back({{"from", "text", "how the library ran it", s.from},
                         {"to", "text", "how it runs it", s.to},
                         {"count", "count", "layers and products", std::int64_t{s.count}},
                         {"time_us", "us", "on the GPU", s.us}});
  }
  const bool any = !switches.empty();
  report.values.push_back({"switched", "count", "layers and products run another way", count, any});
  report.values.push_back({"main_switch", "text", "(most of their time)",
                           any ? switches.front().from + " -> " + switches.front().to : "none",
                           any});
  report.lists.push_back(std::move(list));
}

}  // namespace tandem
