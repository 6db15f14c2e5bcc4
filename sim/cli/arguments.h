// Options of a command: one way to read them, one way to say what is wrong with them.
#pragma once

#include <boost/program_options.hpp>
#include <initializer_list>
#include <string>

#include "sim/cli/command.h"

namespace tandem {

/// An option whose value may stand without its name; `count` values, -1: all that are left.
struct Positional {
  const char* name;
  int count = 1;
};

/// `command`: as it is called, e.g. "calibrate host". Errors: InputError for what `options` does
/// not know or cannot read.
boost::program_options::variables_map parse_arguments(
    const std::string& command, const Arguments& arguments,
    const boost::program_options::options_description& options,
    std::initializer_list<Positional> positional = {});

}  // namespace tandem
