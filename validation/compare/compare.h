// Runs validation cases and tabulates their errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/fields/json_fwd.h"
#include "sim/predict/bands.h"
#include "validation/compare/cases.h"
#include "validation/compare/manifest.h"
#include "validation/compare/parallel.h"

namespace tandem {

/// Where a prediction said that nine of ten measurements lie.
struct StatedBand {
  double low = 0;
  double high = 0;
  BandParts parts;
};

/// One number against its measurement; the error is predicted / measured - 1.
struct Comparison {
  std::string name;
  double measured = 0;
  double predicted = 0;
  bool absolute = false;
  std::optional<StatedBand> band = {};  // of kinds that state one
  double error() const { return absolute ? predicted - measured : predicted / measured - 1; }
  bool inside() const { return band && band->low <= measured && measured <= band->high; }
};

enum class Verdict : std::uint8_t {
  ok,
  missed,
  accepted,    // a miss that lies where its deviation says
  gap_closed,  // the deviation names a miss that is no more, or less than it says
  gap_grew,
  no_data,
  too_few,  // captures to judge the limits by
};

struct CaseResult {
  Case what;
  std::vector<Comparison> rows;
  std::vector<std::string> missing;  // captures that no data folder holds
  std::optional<DataUse> data;       // of the captures that were scored; nothing: no manifest tells
  double mean_error = 0;             // of absolute errors
  double worst_error = 0;
  std::string worst_name;
  /// Measurements inside the stated bands, and how many rows state one.
  std::size_t inside() const;
  std::size_t with_band() const;
  Verdict verdict() const;
  bool passed() const;
};

struct CompareOptions {
  std::vector<std::string> data_folders;  // searched in order
  std::string configs;
  Progress progress = {};
};

/// Runs every case; captures run in parallel. Errors: InputError from the traces.
std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const CompareOptions& options);

/// The error table, and with `rows` every comparison under it.
std::string table_text(const std::vector<CaseResult>& results, bool rows);

/// Every comparison with the band it stated and what that was made from.
Json rows_json(const std::vector<CaseResult>& results);

/// The same as a document: a section a question, no names of single captures.
std::string markdown_text(const std::vector<CaseResult>& results);

}  // namespace tandem
