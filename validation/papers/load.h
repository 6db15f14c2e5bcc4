// Files of claims and figures: validation/claims.
#pragma once

#include <string>
#include <vector>

#include "validation/papers/claim.h"
#include "validation/papers/figure.h"

namespace tandem {

inline constexpr std::string_view claims_schema = "tandem.claims/1";

struct Claims {
  std::vector<Claim> claims;
  std::vector<Figure> figures;
};

/// Every file of `folder`, in the order of their names. `configs`: the folder that GPUs are looked
/// up in. Errors: InputError `file:key: found X, expected Y` for a malformed row.
Claims load_claims(const std::string& folder, const std::string& configs);

}  // namespace tandem
