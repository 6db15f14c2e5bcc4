#include "sim/cli/many/shown.h"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "sim/cli/arguments.h"
#include "sim/cli/many/in_order.h"
#include "sim/core/error.h"

namespace tandem {

int show_in_order(std::size_t count, const boost::program_options::variables_map& values,
                  const std::function<Shown(std::size_t)>& work,
                  std::vector<CheckedDocument>& all) {
  const bool quiet = fills_stdout(values) || values.count("quiet") > 0;
  int status = exit_ok;
  const auto show = [&](Shown shown) {
    if (!shown.error.empty()) {
      fmt::print(stderr, "tandem: {}\n", printable(shown.error));
      status = exit_bad_input;
      return;
    }
    if (!quiet) fmt::print("{}{}", all.empty() ? "" : "\n", shown.text);
    all.push_back(std::move(shown.json).value());
    const int lost = loss_status(shown.lost, accepts_loss(values), shown.path);
    if (status == exit_ok) status = lost;
  };
  in_order(count, threads_of(values), work, show);
  return status;
}

}  // namespace tandem
