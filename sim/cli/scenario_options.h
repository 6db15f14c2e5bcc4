// Options of a scenario and of its reports, which `replay`, `demo` and `run` share, and what they
// find.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "sim/cli/arguments.h"
#include "sim/cli/output.h"
#include "sim/predict/ranks/replay_ranks.h"
#include "sim/predict/stated.h"

namespace tandem {

/// Options that say of a trace what it does not say itself; every command that reads one has them.
void add_trace_options(boost::program_options::options_description& options);

/// What such options, and --measured-step, say. Errors: check_stated().
StatedRun stated_run(const boost::program_options::variables_map& values);

/// Errors: InputError for values that no trace can have and for --steps beside --step.
void read_trace_options(const boost::program_options::variables_map& values,
                        ReplayOptions& options);

/// The host that predictions have: --host and --measured-step.
void add_host_options(boost::program_options::options_description& options);

/// Errors: InputError for a step of a length that no step has.
void read_host_options(const boost::program_options::variables_map& values, ReplayOptions& options);

/// Reading a large trace shows on a terminal how far it is.
void show_import(ReplayOptions& options);

/// --samples and --price: what a job of such steps takes.
void add_job_options(boost::program_options::options_description& options);

/// Errors: InputError for numbers that no job has and for --price without --samples.
JobRequest job_of(const boost::program_options::variables_map& values);

/// Errors: InputError for neither "remove" nor "keep".
Profiler parse_profiler(const std::string& text);

/// `input` and the options that say how a trace is read, of `replay` and `demo`.
boost::program_options::options_description of_traces(
    boost::program_options::options_description input);
/// The groups of options that `replay`, `demo` and `run` have, `input` first.
std::vector<boost::program_options::options_description> scenario_groups(
    const boost::program_options::options_description& input);

/// What the options ask for, without the trace. Errors: InputError for values that nobody knows and
/// options that contradict each other.
ReplayOptions scenario_options(const boost::program_options::variables_map& values);

/// Where results go. Errors: InputError for a folder that cannot be made and for a file of it that
/// is an input.
OutputPaths output_paths(const boost::program_options::variables_map& values);

/// The files that --out has in its folder.
OutputPaths files_in(const std::string& folder);

/// The paths as check_written() takes them; `by`: what names them.
std::vector<NamedFile> written_files(const OutputPaths& paths, const std::string& by);

/// What `replay` or `run` found, and what their options ask to be written.
struct Answer {
  RanksReplay found;  // of one trace or network: one replay and no runs
  OutputPaths paths;
  bool accepts_loss = false;
  bool quiet = false;
};

Answer answer_of(const boost::program_options::variables_map& values, RanksReplay found,
                 OutputPaths paths);

/// What the commands find for these arguments; nothing if --help is among them, which is then
/// printed. Errors: InputError.
std::optional<Answer> answer_replay(const Arguments& arguments);
std::optional<Answer> answer_run(const Arguments& arguments);
/// The same of `advise` (of its first step) and `diff`, as their --json.
std::optional<nlohmann::ordered_json> answer_advise(const Arguments& arguments);
std::optional<nlohmann::ordered_json> answer_diff(const Arguments& arguments);

/// Writes what is asked for; the exit status.
int report(const Answer& answer);

}  // namespace tandem
