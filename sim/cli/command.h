// The commands of the program, one per file, behind one table in main.cpp.
#pragma once

#include <filesystem>
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

struct Command {
  std::string_view name;
  std::string_view arguments;
  std::string_view description;
  int (*run)(const Arguments&);
};

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

/// Folder that holds configs/ and validation/: $TANDEM_ROOT, else the source or install tree that
/// the program, or the Python module, was built for. Errors: InputError if it is not there.
std::string data_root();

/// A path that cannot be used, as an InputError would say it.
std::string message_of(const std::filesystem::filesystem_error& error);

}  // namespace tandem
