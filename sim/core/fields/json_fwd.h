// Names of JSON and of described fields for headers that only mention them. Who reads or writes
// JSON includes sim/core/fields/field.h: it is the costliest header to compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tandem {

using Json = nlohmann::ordered_json;
template <class T>
struct Field;

}  // namespace tandem
