// Runs validation cases and tabulates their errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validation/compare/cases.h"

namespace tandem {

/// One number against its measurement; the error is predicted / measured - 1.
struct Comparison {
  std::string name;
  double measured = 0;
  double predicted = 0;
  bool absolute = false;
  double error() const { return absolute ? predicted - measured : predicted / measured - 1; }
};

struct CaseResult {
  Case what;
  std::vector<Comparison> rows;
  std::vector<std::string> missing;  // captures that no data folder holds
  double mean_error = 0;             // of absolute errors
  double worst_error = 0;
  std::string worst_name;
  bool within_limits() const;
  /// Within the limits, or too few captures to judge them by, or a miss that DEVIATIONS.md accepts.
  bool passed() const { return !enough() || within_limits() || what.deviation > 0; }
  bool enough() const { return static_cast<std::int64_t>(rows.size()) >= what.least_rows; }
};

struct CompareOptions {
  std::vector<std::string> data_folders;  // searched in order
  std::string configs;
};

/// Runs every case; captures run in parallel. Errors: InputError from the traces.
std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const CompareOptions& options);

/// The table that README shows, and with `rows` every comparison under it.
std::string table_text(const std::vector<CaseResult>& results, bool rows);

}  // namespace tandem
