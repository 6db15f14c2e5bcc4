#include "sim/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

#include "sim/cli/arguments.h"
#include "sim/core/error.h"
#include "sim/core/named.h"

namespace tandem {

std::span<const Command> commands() {
  static constexpr std::array table{
      Command{"replay", "TRACE [options]", "replay a profiler trace and predict a scenario",
              run_replay, replay_line},
      Command{"run", "NETWORK [options]", "predict a step without a trace and without a GPU",
              run_network_command, network_line},
      Command{"advise", "TRACE|NETWORK [options]", "what would make a step faster, ranked",
              run_advise, advise_line},
      Command{"demo", "[--out DIR]", "replay the ResNet-50 training trace that comes with tandem",
              run_demo, demo_line},
      Command{"blocks", "TRACE --kernel NAME", "blocks of one kernel over SMs, waves and tail",
              run_blocks, blocks_line},
      Command{"square", "--blocks B --threads T",
              "a tiny kernel back to back: SM activity, occupancy", run_square, square_line},
      Command{"match", "TRACE NCU.csv [options]", "join a trace with an Nsight Compute report",
              run_match, match_line},
      Command{"check", "TRACE [NCU.csv] [options]", "can this measurement be trusted, and for what",
              run_check, check_line},
      Command{"sweep", "TRACE --batch 16,32,64 ...", "predict a grid of scenarios in parallel",
              run_sweep_command, sweep_line},
      Command{"validate", "[--data DIR]", "check the predictions against the measured runs",
              run_validate, validate_line},
      Command{"calibrate", "host|energy|cache ...", "constants from measurements, as a config",
              run_calibrate, nullptr, calibrate_parts},
      Command{"describe", "SUBJECT [NAME]",
              "explain GPU configs, modes, what-ifs, metrics or checks", run_describe, nullptr,
              describe_parts},
      Command{"completion", "bash|zsh", "a script that completes commands and options",
              run_completion, nullptr, completion_parts},
  };
  return table;
}

std::string command_list(std::span<const Command> list) {
  std::string out;
  for (const Command& command : list) {
    fmt::format_to(std::back_inserter(out), "  {:<10} {:<26} {}\n", command.name, command.arguments,
                   command.description);
  }
  return out;
}

int run_part(std::string_view command, std::span<const Command> parts, const Arguments& arguments) {
  const std::string name = arguments.empty() ? "" : arguments[0];
  if (name == "--help" || name == "-h") {
    fmt::print(
        "usage: tandem {0} NAME ...\n\n{1}\n'tandem {0} NAME --help' lists the options of each.\n",
        command, command_list(parts));
    return exit_ok;
  }
  const auto part =
      std::find_if(parts.begin(), parts.end(), [&](const Command& p) { return p.name == name; });
  if (part != parts.end()) return part->run({arguments.begin() + 1, arguments.end()});
  throw InputError("command line", command, name.empty() ? "nothing" : "\"" + name + "\"",
                   expected_name(name_list(parts), name));
}

std::string data_root() {
  namespace fs = std::filesystem;
  std::vector<std::string> places;
  if (const char* set = std::getenv("TANDEM_ROOT"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) places.push_back((program.parent_path() / "../share/tandem").lexically_normal());
    places.emplace_back(TANDEM_DEFAULT_ROOT);
  }
  for (const std::string& place : places) {
    if (fs::is_directory(place + "/configs/gpus")) return place;
  }
  throw InputError(places.back(), "", "no folder configs/gpus",
                   "tandem's source or install tree; set TANDEM_ROOT");
}

}  // namespace tandem
