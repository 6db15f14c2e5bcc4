// Options of a command: one description that help prints, arguments are read by and shells
// complete; one way to say what is wrong with them.
#pragma once

#include <boost/program_options.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command.h"
#include "sim/cli/files.h"

namespace tandem {

/// An option whose value may stand without its name; `count` values, -1: all that are left.
struct Positional {
  const char* name;
  int count = 1;
};

/// A command as it is called.
struct CommandLine {
  std::string command;  // "calibrate host"
  std::string usage;    // what follows it: "TRACE[=SECONDS]... [options]"
  std::string about;    // what it does, in sentences
  std::vector<Positional> places;
  std::vector<boost::program_options::options_description> groups;  // each with a title
  /// Options of other commands, known so that an error can say why they are none of this one's;
  /// help and completion leave them out.
  std::vector<boost::program_options::options_description> unshown = {};
};

// What an option takes; help shows it, completion reads it: FILE and DIR are paths, GPU, HOST and
// NETWORK names of configs, "a|b|c" these words.
inline constexpr const char* file_value = "FILE";
inline constexpr const char* folder_value = "DIR";
inline constexpr const char* gpu_value = "GPU";
inline constexpr const char* host_value = "HOST";
inline constexpr const char* network_value = "NETWORK";

/// Of options that name a trace.
inline constexpr const char* trace_doc =
    "profiler trace (.json, .json.gz or .json.zst); -: standard input";

/// The value of an option: a text, empty unless `otherwise` says so.
boost::program_options::typed_value<std::string>* text_value(const std::string& shown,
                                                             const std::string& otherwise = "");
/// Any number of texts.
boost::program_options::typed_value<std::vector<std::string>>* texts_value(
    const std::string& shown);

/// "a,b" as its parts, which may be empty.
std::vector<std::string> comma_list(std::string_view text);

/// --threads; 0, the default: as many as the machine has. Errors: InputError for what no machine
/// has.
void add_threads_option(boost::program_options::options_description& options);
int threads_of(const boost::program_options::variables_map& values);

/// --allow-data-loss, of commands that use what traces hold.
void add_loss_option(boost::program_options::options_description& options);
bool accepts_loss(const boost::program_options::variables_map& values);
/// exit_data_loss, with a word on standard error, where part of `what` was `lost` and nobody
/// accepts that; else exit_ok.
int loss_status(bool lost, bool accepted, const std::string& what);

/// Whether a file that an option but --out names is standard output, where then nothing else goes.
bool fills_stdout(const boost::program_options::variables_map& values);

/// What the values name that is read: texts of all options but those of outputs.
std::vector<NamedFile> read_files(const boost::program_options::variables_map& values);

std::string help_text(const CommandLine& line);

/// The values, with --help known to every command; nothing if it was asked for, and then printed.
/// Errors: InputError for what the command does not know or cannot read, and for an output that
/// would take the place of an input or of another output.
std::optional<boost::program_options::variables_map> parse_arguments(const CommandLine& line,
                                                                     const Arguments& arguments);

}  // namespace tandem
