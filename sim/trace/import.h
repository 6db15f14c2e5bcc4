// Ingest: one importer a file, chosen by content from one table.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sim/trace/trace.h"

namespace tandem {

struct ImportOptions {
  /// Called now and then with (bytes read, file size) of the stored file; empty: no progress.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// Reads a profiler trace, plain or compressed (gzip, zstd), in a streaming fashion with bounded
/// memory. The format is recognised from the content. Throws InputError naming file, place, what
/// was found and what was expected; what is dropped or repaired is counted in Trace::losses.
Trace import_trace(const std::string& path, const ImportOptions& options = {});

}  // namespace tandem
