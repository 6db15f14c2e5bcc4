#include "models/whatif/gpu/retarget_law.h"

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

std::vector<Field<RetargetErrors>> error_fields() {
  using E = RetargetErrors;
  return {field<E>("with_shapes", "ratio", "kernels of validated kinds", &E::with_shapes),
          field<E>("without_shapes", "ratio", "the same, no operands recorded", &E::without_shapes),
          field<E>("other_work", "ratio", "kinds that no validation case has", &E::other_work),
          field<E>("unknown_kernel", "ratio", "names that no rule knows", &E::unknown_kernel),
          field<E>("same_generation", "ratio", "share of the above within a generation",
                   &E::same_generation),
          field<E>("carried_change", "ratio",
                   "within a generation, share of the logarithm by which the time changes",
                   &E::carried_change),
          field<E>("unmeasured_generation", "ratio",
                   "times the errors where nobody measured the generation of a GPU",
                   &E::unmeasured_generation),
          field<E>("energy_constants", "ratio", "least, of a chip with another one's constants",
                   &E::energy_constants)};
}

}  // namespace

RetargetErrors load_retarget_errors(const std::string& path) {
  const Json json = read_json_file(path);
  const Place file{path, ""};
  require_object(json, file);
  if (json.size() != 1 || !json.contains("errors")) file.fail("other keys", "one key: errors");
  RetargetErrors errors;
  read_all_sourced(json["errors"], file / "errors", error_fields(), errors, errors.origins);
  return errors;
}

}  // namespace tandem
