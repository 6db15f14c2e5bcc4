#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "sim/cli/arguments.h"
#include "sim/core/error.h"
#include "validation/compare/compare.h"

namespace tandem {

namespace po = boost::program_options;

int run_validate(const Arguments& arguments) {
  po::options_description options("tandem validate");
  options.add_options()("help", "show this text")(
      "data", po::value<std::vector<std::string>>()->default_value({}, "$TANDEM_DATA_DIR"),
      "folder with more captures (public/)")("rows", "print every comparison")(
      "markdown", "print a section a question");
  const po::variables_map values = parse_arguments("validate", arguments, options);
  if (values.count("help") > 0) {
    std::cout << options;
    return exit_ok;
  }
  const std::string root = data_root();
  CompareOptions compare{values["data"].as<std::vector<std::string>>(), root + "/configs"};
  const char* from_environment = std::getenv("TANDEM_DATA_DIR");
  if (compare.data_folders.empty() && from_environment != nullptr) {
    compare.data_folders.emplace_back(from_environment);
  }
  for (const std::string& folder : compare.data_folders) {
    if (!std::filesystem::is_directory(folder)) {
      throw InputError(folder, "--data", "no folder", "a folder of captures");
    }
  }
  compare.data_folders.push_back(root + "/validation/captures");
  const auto results = run_cases(load_cases(root + "/validation/cases"), compare);
  fmt::print("{}", values.count("markdown") > 0 ? markdown_text(results)
                                                : table_text(results, values.count("rows") > 0));
  const bool passed =
      std::all_of(results.begin(), results.end(), [](const CaseResult& r) { return r.passed(); });
  return passed ? exit_ok : exit_check_failed;
}

}  // namespace tandem
