// Single operations that somebody measured, each against its part of a network of such operations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/predict/predict.h"

namespace tandem {

/// An operation of the network and one of its numbers.
struct OperatorNumbers {
  std::string name;
  double measured = 0;
  double predicted = 0;
};

/// `path`: a CSV with a row for each operation of the network, in its order: `operator` (a name)
/// and columns of which `quantity` is one: gpu_us (sum of its kernels), dram_bytes (read and
/// written), l2_bytes, l1_bytes. Errors: InputError for an unreadable file, a column that is not
/// there, and a number of rows that is not that of the operations that launch something.
std::vector<OperatorNumbers> operator_numbers(const Replay& replay, const std::string& path,
                                              std::string_view quantity);

}  // namespace tandem
