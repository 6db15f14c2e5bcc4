// CUDA runtime and driver call names -> what the call does.
#pragma once

#include <string_view>

#include "sim/trace/trace.h"

namespace tandem {

/// Kind of a call by its name; version and stream suffixes (_v2, _v3020, _ptsz, _ptds) are ignored.
/// Names that are not in the table cost host time only: ApiKind::other.
ApiKind api_kind(std::string_view call_name);

/// The name without these suffixes.
std::string_view plain_api_name(std::string_view call_name);

}  // namespace tandem
