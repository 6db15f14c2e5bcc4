// A sweep that the command line states: TRACE or NETWORK, and options whose values are lists.
#pragma once

#include "sim/cli/arguments.h"
#include "sim/sweep/experiment.h"

namespace tandem {

/// --batch 16,32,64 and the like: an option an axis.
boost::program_options::options_description axis_options();
/// Adds what an experiment file says beside its axes.
void add_sweep_inputs(boost::program_options::options_description& options);

/// Whether an option that is an axis is given.
bool asks_axes(const boost::program_options::variables_map& values);

/// Whether the file begins as an experiment does, or may be anything: standard input, or not there.
bool may_be_experiment(const std::string& path);

/// The experiment as if a file held it; `networks`: folder of what `run` knows by name.
/// Errors: InputError as of a file, at "command line".
Experiment asked_experiment(const boost::program_options::variables_map& values,
                            const std::string& networks);

}  // namespace tandem
