#include "sim/cli/command.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <span>
#include <vector>

#include "sim/cli/arguments.h"
#include "sim/core/error.h"
#include "sim/core/named.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

/// Where an installed tandem has its data, from the folder of the program (bin) or of the Python
/// module: in a wheel beside it, else above lib/python3/dist-packages/tandem.
constexpr std::string_view from_program[] = {"../share/tandem"};
constexpr std::string_view from_module[] = {"share/tandem", "../../../../share/tandem"};

std::vector<std::string> installed_places() {
  Dl_info info{};
  link_map* loaded = nullptr;
  const void* code = reinterpret_cast<const void*>(&data_root);
  if (dladdr1(code, &info, reinterpret_cast<void**>(&loaded), RTLD_DL_LINKMAP) == 0) return {};
  fs::path file = loaded->l_name;  // empty: of the program itself
  std::span<const std::string_view> places = from_module;
  if (file.empty()) {
    std::error_code error;
    file = fs::read_symlink("/proc/self/exe", error);
    // A bare chroot has no /proc; the kernel has passed the path that was executed.
    if (error) file = fs::canonical(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), error);
    if (error) return {};
    places = from_program;
  }
  std::vector<std::string> found;
  for (const std::string_view place : places) {
    found.push_back((fs::absolute(file).parent_path() / place).lexically_normal());
  }
  return found;
}

}  // namespace

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
      Command{"diff", "A B [options]", "where the steps of two traces or results differ", run_diff,
              diff_line},
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

std::string_view command_meant(std::string_view word) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"compare", "diff"},    {"analyze", "replay"}, {"predict", "replay"},
      {"simulate", "replay"}, {"suggest", "advise"}, {"recommend", "advise"},
  };
  const auto known = std::find_if(std::begin(words), std::end(words),
                                  [&](const auto& w) { return w.first == word; });
  return known == std::end(words) ? word : known->second;
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
  std::vector<std::string> places;
  if (const char* set = std::getenv("TANDEM_ROOT"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    places = installed_places();
    places.emplace_back(TANDEM_DEFAULT_ROOT);
  }
  for (const std::string& place : places) {
    if (fs::is_directory(place + "/configs/gpus")) return place;
  }
  throw InputError(places.back(), "", "no folder configs/gpus",
                   "tandem's source or install tree; set TANDEM_ROOT");
}

std::string message_of(const fs::filesystem_error& error) {
  return error.path1().string() + ": found " + error.code().message() +
         ", expected a path that can be used";
}

}  // namespace tandem
