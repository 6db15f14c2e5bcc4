#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "sim/cli/command.h"
#include "sim/core/error.h"

namespace {

using tandem::Command;

constexpr std::array<Command, 13> commands{{
    {"replay", "TRACE [options]", "replay a profiler trace and predict a scenario",
     tandem::run_replay},
    {"run", "NETWORK [options]", "predict a step without a trace and without a GPU",
     tandem::run_network_command},
    {"advise", "TRACE|NETWORK [options]", "what would make a step faster, ranked",
     tandem::run_advise},
    {"demo", "[--out DIR]", "replay the ResNet-50 training trace that comes with tandem",
     tandem::run_demo},
    {"blocks", "TRACE --kernel NAME", "blocks of one kernel over SMs, waves and tail",
     tandem::run_blocks},
    {"square", "--blocks B --threads T", "a tiny kernel back to back: SM activity, occupancy",
     tandem::run_square},
    {"match", "TRACE NCU.csv [options]", "join a trace with an Nsight Compute report",
     tandem::run_match},
    {"check", "TRACE [NCU.csv] [options]", "can this measurement be trusted, and for what",
     tandem::run_check},
    {"diff", "A B [options]", "where the steps of two traces or results differ", tandem::run_diff},
    {"sweep", "EXPERIMENT.json [options]", "predict a grid of scenarios in parallel",
     tandem::run_sweep_command},
    {"validate", "[--data DIR]", "check the predictions against the measured runs",
     tandem::run_validate},
    {"calibrate", "host|energy|cache ...", "constants from measurements, as a config",
     tandem::run_calibrate},
    {"describe", "SUBJECT [NAME]", "explain GPU configs, modes, what-ifs, metrics or checks",
     tandem::run_describe},
}};

void print_usage(std::FILE* out) {
  fmt::print(out, "usage: tandem COMMAND ...\n\n");
  for (const Command& command : commands) {
    fmt::print(out, "  {:<9} {:<26} {}\n", command.name, command.arguments, command.description);
  }
  fmt::print(out, "\n'tandem COMMAND --help' lists the options of a command.\n");
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
    fmt::print("tandem {}\n", TANDEM_VERSION);
    return tandem::exit_ok;
  }
  for (const Command& command : commands) {
    if (command.name == all[0]) return command.run({all.begin() + 1, all.end()});
  }
  fmt::print(stderr, "tandem: unknown command \"{}\"\n\n", all[0]);
  print_usage(stderr);
  return tandem::exit_bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
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
