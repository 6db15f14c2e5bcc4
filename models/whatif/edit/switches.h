// Which kernels a what-if makes the libraries run another way, as its report states them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/whatif/transform.h"

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

/// Their number, what most of them are by time, and a list of all, longest first.
void report_switches(AlgorithmSwitches switches, TransformReport& report);

}  // namespace tandem
