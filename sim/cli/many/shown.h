// What commands that take many inputs show of each, in their order.
#pragma once

#include <boost/program_options.hpp>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem {

/// What is left of one input when its work is over.
struct Shown {
  std::string path;
  std::string text;
  nlohmann::ordered_json json;
  std::string error;  // it cannot be used
  bool lost = false;  // part of it was not
};

/// Does `work(i)` for each i below `count` on --threads threads and prints in their order; one that
/// cannot be used does not stop the others. `all`: the JSON of those that can. The exit status: of
/// what is worst.
int show_in_order(std::size_t count, const boost::program_options::variables_map& values,
                  const std::function<Shown(std::size_t)>& work,
                  std::vector<nlohmann::ordered_json>& all);

}  // namespace tandem
