// The commands of the program, one per file, behind one table in command.cpp.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

inline constexpr int exit_ok = 0;
inline constexpr int exit_check_failed = 1;
inline constexpr int exit_bad_input = 2;
inline constexpr int exit_data_loss = 3;
inline constexpr int exit_bug = 70;

using Arguments = std::vector<std::string>;
struct CommandLine;

struct Command {
  std::string_view name;
  std::string_view arguments;
  std::string_view description;
  int (*run)(const Arguments&);
  CommandLine (*line)() = nullptr;  // its options; null where it consists of parts
  std::span<const Command> (*parts)() = nullptr;
};

/// All of them, in the order of help.
std::span<const Command> commands();

/// The command that people mean by a word of other tools ("compare": diff), for a suggestion; other
/// words as they are.
std::string_view command_meant(std::string_view word);

/// Name, arguments and description of each, in columns.
std::string command_list(std::span<const Command> list);

/// Runs the part of `command` that the first argument names, or prints what there is for --help.
/// Errors: InputError for a name that is none of them.
int run_part(std::string_view command, std::span<const Command> parts, const Arguments& arguments);

int run_replay(const Arguments& arguments);
int run_network_command(const Arguments& arguments);
int run_advise(const Arguments& arguments);
int run_demo(const Arguments& arguments);
int run_blocks(const Arguments& arguments);
int run_square(const Arguments& arguments);
int run_match(const Arguments& arguments);
int run_check(const Arguments& arguments);
int run_diff(const Arguments& arguments);
int run_validate(const Arguments& arguments);
int run_calibrate(const Arguments& arguments);
int run_sweep_command(const Arguments& arguments);
int run_describe(const Arguments& arguments);
int run_completion(const Arguments& arguments);

CommandLine replay_line();
CommandLine network_line();
CommandLine advise_line();
CommandLine demo_line();
CommandLine blocks_line();
CommandLine square_line();
CommandLine match_line();
CommandLine check_line();
CommandLine diff_line();
CommandLine validate_line();
CommandLine sweep_line();

std::span<const Command> calibrate_parts();
std::span<const Command> describe_parts();
std::span<const Command> completion_parts();

/// Folder that holds configs/ and validation/: $TANDEM_ROOT, else the source or install tree that
/// the program, or the Python module, was built for. Errors: InputError if it is not there.
std::string data_root();

/// A path that cannot be used, as an InputError would say it.
std::string message_of(const std::filesystem::filesystem_error& error);

}  // namespace tandem
