#include "sim/cli/many/shown.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/cli/many/in_order.h"
#include "sim/core/error.h"

namespace tandem {

int show_in_order(std::size_t count, const boost::program_options::variables_map& values,
                  const std::function<Shown(std::size_t)>& work,
                  std::vector<CheckedDocument>& all) {
  const bool quiet = values["json"].as<std::string>() == "-" || values.count("quiet") > 0;
  const bool accepts_loss = values.count("allow-data-loss") > 0;
  int status = exit_ok;
  const auto show = [&](Shown shown) {
    if (!shown.error.empty()) {
      fmt::print(stderr, "tandem: {}\n", printable(shown.error));
      status = exit_bad_input;
      return;
    }
    if (!quiet) fmt::print("{}{}", all.empty() ? "" : "\n", shown.text);
    all.push_back(std::move(shown.json).value());
    if (!shown.lost || accepts_loss) return;
    fmt::print(stderr, "tandem: part of {} could not be used; --allow-data-loss accepts that\n",
               printable(shown.path));
    if (status == exit_ok) status = exit_data_loss;
  };
  in_order(count, threads_of(values), work, show);
  return status;
}

}  // namespace tandem
