// Which kernels a what-if makes the libraries run another way, as its report states them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/whatif/reported.h"

namespace tandem {

/// Works of a step that were run one way and are run another.
struct AlgorithmSwitch {
  std::string from, to;
  std::uint32_t count = 0;
  double us = 0;  // on the GPU after it
};
using AlgorithmSwitches = std::vector<AlgorithmSwitch>;

/// Counts one more work; those of one kind are one row.
void add_switch(AlgorithmSwitches& switches, std::string_view from, std::string_view to, double us);

/// What report_switches() adds.
inline constexpr ReportField switched_field{"switched", "count",
                                            "layers and products run another way"};
inline constexpr ReportField main_switch_field{"main_switch", "text", "(most of their time)"};
inline constexpr ReportField switch_columns[] = {{"from", "text", "how the libraries ran them"},
                                                 {"to", "text", "how they run them now"},
                                                 {"count", "count", "layers and products"},
                                                 {"time_us", "us", "on the GPU now"}};
inline constexpr ReportedList switches_list{"switches", switch_columns};

/// Their number, what most of them are by time, and a list of all, longest first.
void report_switches(AlgorithmSwitches switches, TransformReport& report);

}  // namespace tandem
