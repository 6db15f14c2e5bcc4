// What commands that take many inputs show of each, in their order.
#pragma once

#include <boost/program_options.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/schema/documents.h"

namespace tandem {

/// What is left of one input when its work is over.
struct Shown {
  std::string path;
  std::string text;
  std::optional<CheckedDocument> json;  // none: it cannot be used
  std::string error;                    // why not
  bool lost = false;                    // part of it was not
};

/// Does `work(i)` for each i below `count` on --threads threads and prints in their order; one that
/// cannot be used does not stop the others. `all`: what those that can came to. The exit status: of
/// what is worst.
int show_in_order(std::size_t count, const boost::program_options::variables_map& values,
                  const std::function<Shown(std::size_t)>& work, std::vector<CheckedDocument>& all);

}  // namespace tandem
