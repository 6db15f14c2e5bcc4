#include "sim/cli/many/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace tandem {

std::function<void(std::size_t, std::size_t)> progress_line(std::string things) {
  if (isatty(STDERR_FILENO) != 1) return {};
  return [things = std::move(things), begin = std::chrono::steady_clock::now()](std::size_t done,
                                                                                std::size_t all) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const double left = spent.count() / static_cast<double>(done) * static_cast<double>(all - done);
    fmt::print(stderr, "\r{} of {} {}, {:.0f} s left   {}", done, all, things, left,
               done == all ? "\n" : "");
  };
}

}  // namespace tandem
