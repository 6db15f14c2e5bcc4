// tandem completion: scripts for shells, made from the descriptions of the options.
#include <fmt/format.h>

#include <array>

#include "sim/cli/arguments.h"
#include "sim/cli/complete/complete.h"

namespace tandem {

namespace {

CommandLine bash_line() {
  return {"completion bash", "", "For bash: source <(tandem completion bash)", {}, {}};
}

int run_bash(const Arguments& arguments) {
  if (!parse_arguments(bash_line(), arguments)) return exit_ok;
  fmt::print("{}", bash_completion(completed_commands(data_root())));
  return exit_ok;
}

CommandLine zsh_line() {
  return {"completion zsh", "", "For zsh: source <(tandem completion zsh)", {}, {}};
}

int run_zsh(const Arguments& arguments) {
  if (!parse_arguments(zsh_line(), arguments)) return exit_ok;
  fmt::print("{}", zsh_completion(completed_commands(data_root())));
  return exit_ok;
}

}  // namespace

std::span<const Command> completion_parts() {
  static constexpr std::array parts{
      Command{"bash", "", "source <(tandem completion bash)", run_bash, bash_line},
      Command{"zsh", "", "source <(tandem completion zsh)", run_zsh, zsh_line}};
  return parts;
}

int run_completion(const Arguments& arguments) {
  return run_part("completion", completion_parts(), arguments);
}

}  // namespace tandem
