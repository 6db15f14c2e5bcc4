// Traces that are replayed each on its own.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/import.h"

namespace tandem {

/// Folders for what `paths` give, below one: each the name of the file without its endings, told
/// apart by a number where two would be the same.
std::vector<std::string> folder_names(const std::vector<std::string>& paths);

/// A trace, or why it cannot be used.
struct ReadTrace {
  std::optional<Trace> trace;
  std::string error;
};
ReadTrace read_trace(const std::string& path, const ImportOptions& options);

/// Replays `traces` on all cores and writes and prints in their order; one that cannot be used
/// does not stop the others. `ranks_too`: traces of ranks as well, else they are errors. The exit
/// status: of what is worst. `first`: what was read of the first one, which may be a pipe; else it
/// is read here. Errors: InputError for options that several traces cannot share.
int replay_each(const std::vector<std::string>& traces,
                const boost::program_options::variables_map& values, bool ranks_too,
                std::optional<ReadTrace> first);

}  // namespace tandem
