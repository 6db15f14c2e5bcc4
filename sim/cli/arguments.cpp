#include "sim/cli/arguments.h"

#include "sim/core/error.h"

namespace tandem {

namespace po = boost::program_options;

po::variables_map parse_arguments(const std::string& command, const Arguments& arguments,
                                  const po::options_description& options,
                                  std::initializer_list<Positional> positional) {
  po::positional_options_description places;
  for (const Positional& p : positional) places.add(p.name, p.count);
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).positional(places).run(), values);
    po::notify(values);
  } catch (const po::error& error) {
    throw InputError("command line", command, error.what(),
                     "options that 'tandem " + command + " --help' lists");
  }
  return values;
}

}  // namespace tandem
