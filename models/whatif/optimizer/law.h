// Constants of the optimizer what-if.
#pragma once

#include <string>
#include <vector>

#include "models/kernel/time/laws/list_launches.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Times in us. What the constants are stands in law.cpp.
struct OptimizerLaw {
  std::string name;

  ListTimes lists;
  double fused_dram_share = 0;
  double fused_registers = 0;
  double scalar_us = 0;

  // Host times in units of the trace's own launch calls, or of its own calls of list operations.
  double fused_host_ratio = 0;
  double counter_host_ratio = 0, correction_host_ratio = 0, result_host_ratio = 0;
  double scalar_host_ratio = 0;
  double list_host_ratio = 0;
  double expected_error = 0;

  std::vector<Provenance> origins;

  ListTimes fused() const {
    return {lists.floor_us, fused_dram_share, lists.wait_us, lists.access_us};
  }
};

/// Reads configs/kernels/optimizer.json. Errors: InputError `file:key: found X, expected Y`.
OptimizerLaw load_optimizer_law(const std::string& path);

}  // namespace tandem
