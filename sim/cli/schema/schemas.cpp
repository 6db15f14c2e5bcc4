#include "sim/cli/schema/schemas.h"

#include <array>

#include "sim/diff/diff_report.h"
#include "sim/predict/result.h"
#include "sim/report/advice_report.h"
#include "sim/report/check_report.h"
#include "sim/report/match_report.h"
#include "sim/sweep/tables.h"
#include "validation/papers/report.h"

namespace tandem {

namespace {

using P = Presence;

constexpr FieldRow square_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"gpu", "text", "config of the GPU"},
    {"blocks", "count", "of a launch"},
    {"threads", "count", "of a block"},
    {"period_us", "us", "from launch to launch"},
    {"gract", "ratio", "DCGM's GRACT over the period"},
    {"smact", "ratio", "DCGM's SMACT over the period"},
    {"smocc", "ratio", "DCGM's SMOCC over the period"},
};

constexpr FieldRow validation_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"rows[].question", "text", "file of validation/cases"},
    {"rows[].set", "text", "set in it"},
    {"rows[].host", "text", "host config"},
    {"rows[].data", "text", "fitted, seen or holdout"},
    {"rows[].name", "text", "what was compared"},
    {"rows[].measured", "any", "in the unit of the question"},
    {"rows[].predicted", "any", "the same"},
    {"rows[].band", "object", "that the prediction states; null: none", P::may_be_null},
    {"rows[].band.low", "any", "nine of ten measurements lie above"},
    {"rows[].band.high", "any", "and below this"},
    {"rows[].band.host_basis", "text", "what the host time was predicted from"},
    {"rows[].band.host_fast_us", "us", "the step on a fast host"},
    {"rows[].band.host_slow_us", "us", "and on a slow one"},
    {"rows[].band.gpu_share", "ratio", "of the critical path on the GPU"},
    {"rows[].band.generated_error", "ratio", "of a step that was never traced"},
    {"rows[].band.launched", "text", "how the traced kernels are launched"},
    {"rows[].band.what_ifs", "any", "relative error that each what-if expects"},
    {"rows[].band.memory", "text",
     "what the peak of memory is predicted from; null: it is not of memory", P::may_be_null},
};

constexpr FieldRow claim_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"claims[].id", "text", "row of validation/claims"},
    {"claims[].chapter", "text", "where the paper says it"},
    {"claims[].section", "text", "where in it"},
    {"claims[].quantity", "text", "what is claimed"},
    {"claims[].note", "text", "what is special about it"},
    {"claims[].verdict", "text",
     "met, missed, not simulated, or fitted: met by a constant that was chosen on it"},
    {"claims[].reason", "text", "why"},
    {"claims[].checks[].wanted", "text", "what the paper states"},
    {"claims[].checks[].relation", "text", "how that is compared"},
    {"claims[].checks[].value", "any", "the number"},
    {"claims[].checks[].high", "any", "upper end of a range", P::may_be_absent},
    {"claims[].checks[].unit", "text", "of the number"},
    {"claims[].checks[].tolerance", "any", "that is granted"},
    {"claims[].checks[].tolerance_kind", "text", "absolute, percent or factor"},
    {"claims[].checks[].met", "bool", "whether it comes out"},
    {"claims[].checks[].simulated[]", "any", "numbers that were compared"},
    {"claims[].checks[].not_simulated", "any", "what could not be", P::may_be_absent},
    {"claims[].checks[].scenarios[].scenario", "text", "that was simulated"},
    {"claims[].checks[].scenarios[].value", "any", "its number"},
    {"counts[].chapter", "text", "of the paper"},
    {"counts[].claims", "count", "all of them"},
    {"counts[].met", "count", "that come out"},
    {"counts[].missed", "count", "that do not"},
    {"counts[].not_simulated", "count", "that were not tried"},
    {"counts[].fitted", "count", "that come out because a constant was chosen on them"},
};

std::vector<PublishedField> fields_of(std::span<const FieldRow> rows) {
  std::vector<PublishedField> out;
  add_rows(rows, out);
  return out;
}

}  // namespace

std::vector<PublishedField> square_fields() { return fields_of(square_rows); }
std::vector<PublishedField> validation_fields() { return fields_of(validation_rows); }
std::vector<PublishedField> claims_fields() { return fields_of(claim_rows); }

std::span<const PublishedSchema> published_schemas() {
  static constexpr std::array table{
      PublishedSchema{"result", result_schema, "prediction of replay, run and demo", result_fields},
      PublishedSchema{"advice", advice_schema, "what would make a step faster", advice_fields},
      PublishedSchema{"sweep", sweep_schema, "grid of predictions", sweep_fields},
      PublishedSchema{"check", check_schema, "what a measurement is good for", check_fields},
      PublishedSchema{"match", match_schema, "a trace joined with a counter report", match_fields},
      PublishedSchema{"diff", diff_schema, "where the steps of two traces or results differ",
                      diff_fields},
      PublishedSchema{"square", "tandem.square/1", "a tiny kernel back to back", square_fields},
      PublishedSchema{"validation", "tandem.validation/1", "predictions beside measurements",
                      validation_fields},
      PublishedSchema{"claims", claims_result_schema, "claims of papers, and what is simulated",
                      claims_fields},
  };
  return table;
}

}  // namespace tandem
