#include <fcntl.h>
#include <fmt/format.h>
#include <tandem_commit.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "sim/cli/command.h"
#include "sim/core/error.h"
#include "sim/core/named.h"

namespace {

using tandem::Command;

void print_usage(std::FILE* out) {
  fmt::print(out,
             "usage: tandem COMMAND ...\n\n{}\n'tandem COMMAND --help' lists the options of a "
             "command, 'tandem --version' says what was built.\n",
             tandem::command_list(tandem::commands()));
}

int run(int argc, char** argv) {
  const tandem::Arguments all(argv + 1, argv + argc);
  if (all.empty()) {
    print_usage(stderr);
    return tandem::exit_bad_input;
  }
  if (all[0] == "--help" || all[0] == "-h" || all[0] == "help") {
    print_usage(stdout);
    return tandem::exit_ok;
  }
  if (all[0] == "--version") {
    fmt::print("tandem {} (commit {}, {} build, {})\n", TANDEM_VERSION, TANDEM_COMMIT,
               TANDEM_BUILD_TYPE, TANDEM_COMPILER);
    return tandem::exit_ok;
  }
  const auto known = tandem::commands();
  for (const Command& command : known) {
    if (command.name == all[0]) return command.run({all.begin() + 1, all.end()});
  }
  std::error_code none;
  const bool is_file = std::filesystem::exists(all[0], none);
  throw tandem::InputError(
      "command line", "", "unknown command \"" + all[0] + "\"",
      is_file ? "a command before the file, e.g. tandem replay " + all[0]
              : tandem::expected_name(tandem::name_list(known), tandem::command_meant(all[0])));
}

/// A standard stream that is closed must not become the number of the next file that is opened:
/// what is printed would go there. Using one of these fails.
void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

tandem::InputError no_room(int error) {
  return {"standard output", "", std::strerror(error), "room to write"};
}

/// run(), and all that was printed is out. Errors: InputError where it could not be.
int run_and_flush(int argc, char** argv) {
  int status = 0;
  try {
    status = run(argc, argv);
  } catch (const std::filesystem::filesystem_error&) {
    throw;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) throw no_room(error.code().value());
    throw;
  }
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw no_room(errno != 0 ? errno : EIO);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  try {
    return run_and_flush(argc, argv);
  } catch (const tandem::InputError& error) {
    fmt::print(stderr, "tandem: {}\n", tandem::printable(error.what()));
    return tandem::exit_bad_input;
  } catch (const std::filesystem::filesystem_error& error) {
    fmt::print(stderr, "tandem: {}\n", tandem::printable(tandem::message_of(error)));
    return tandem::exit_bad_input;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tandem: internal error: {}\nPlease report this with the input.\n",
               tandem::printable(error.what()));
    return tandem::exit_bug;
  }
}
