// The functions behind the importer table in import.cpp.
#pragma once

#include <string_view>

#include "sim/trace/json/window.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Each recogniser sees the first chunk of the content; each importer reads the whole of it.
bool is_kineto(std::string_view prefix);
void import_kineto(JsonWindow& content, Trace& trace);

bool is_xprof(std::string_view prefix);
void import_xprof(JsonWindow& content, Trace& trace);

}  // namespace tandem
