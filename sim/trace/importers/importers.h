// The functions behind the table of importers in sim/trace/import.cpp, a pair a format.
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/trace/source/byte_source.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Each recogniser sees the beginning of the content, at most ByteSource::prefix_bytes. Each reader
/// takes the content from its beginning to its end, in a streaming fashion, and keeps at most
/// `most_rows` events: the first ones. Throws InputError.
bool is_kineto(std::string_view prefix);
Trace read_kineto(ByteSource& source, std::size_t most_rows);

bool is_nsys(std::string_view prefix);
Trace read_nsys(ByteSource& source, std::size_t most_rows);

bool is_xprof(std::string_view prefix);
Trace read_xprof(ByteSource& source, std::size_t most_rows);

}  // namespace tandem
