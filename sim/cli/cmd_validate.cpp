#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/cli/many/progress.h"
#include "sim/cli/schema/documents.h"
#include "sim/core/error.h"
#include "sim/core/fields/field.h"
#include "validation/compare/compare.h"
#include "validation/compare/page.h"
#include "validation/papers/draw.h"
#include "validation/papers/load.h"
#include "validation/papers/report.h"

namespace tandem {

namespace po = boost::program_options;

namespace {

void write_figures(const std::vector<Figure>& figures, Simulations& simulations,
                   const std::string& folder, bool quiet) {
  make_folder(folder);
  for (const DrawnFigure& figure : draw_figures(figures, simulations)) {
    const std::string path = folder + "/" + figure.name + ".svg";
    if (!figure.svg.empty()) write_file(path, [&](std::ostream& out) { out << figure.svg; });
    if (quiet) continue;
    fmt::print("figure     {}\n", figure.svg.empty() ? figure.name + ": not drawn" : path);
    for (const std::string& why : figure.left_out) fmt::print("           without {}\n", why);
  }
}

/// What papers state is theirs: a claim that is missed is no failure.
int validate_claims(const po::variables_map& values, const std::string& root) {
  const Claims claims = load_claims(root + "/validation/claims", root + "/configs");
  Simulations simulations(root);
  const auto results = evaluate_claims(claims.claims, simulations, progress_line("claims"));
  const std::string json = values["json"].as<std::string>();
  write_document(json, claims_json(results));
  if (json != "-") fmt::print("{}", claims_text(results, values.count("rows") > 0));
  const std::string figures = values["figures"].as<std::string>();
  if (!figures.empty()) write_figures(claims.figures, simulations, figures, json == "-");
  return exit_ok;
}

}  // namespace

CommandLine validate_line() {
  po::options_description input("Input"), output("Output");
  input.add_options()("data",
                      po::value<std::vector<std::string>>()
                          ->value_name(folder_value)
                          ->default_value({}, "$TANDEM_DATA_DIR"),
                      "folder with more captures (public/)")(
      "claims",
      "the claims of papers in validation/claims instead: what they state, what is "
      "simulated, met or missed");
  output.add_options()("rows", "print every comparison")("markdown", "print a section a question")(
      "json", text_value(file_value),
      "write every comparison, or with --claims every verdict, here; -: stdout")(
      "report", text_value(file_value),
      "write a page (HTML, needs no network) with charts and tables here; not of --claims")(
      "figures", text_value(folder_value),
      "of --claims: folder to draw the papers' figures in (SVG)");
  return {"validate",
          "[options]",
          "Compares predictions with the measured runs of validation/captures. Exit status\n"
          "1 where an enforced tolerance is missed.",
          {},
          {input, output}};
}

int run_validate(const Arguments& arguments) {
  const auto parsed = parse_arguments(validate_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  const std::string root = data_root();
  if (values.count("claims") > 0) {
    if (!values["report"].as<std::string>().empty()) {
      throw InputError("command line", "--report", "--claims beside it", "one of the two");
    }
    return validate_claims(values, root);
  }
  if (!values["figures"].as<std::string>().empty()) {
    throw InputError("command line", "--figures", "no --claims", "--claims beside it");
  }
  CompareOptions compare{values["data"].as<std::vector<std::string>>(), root + "/configs",
                         progress_line("comparisons")};
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
  write_document(values["json"].as<std::string>(), rows_json(results));
  write_file(values["report"].as<std::string>(),
             [&](std::ostream& out) { out << html::page_html(validation_page(results)); });
  if (!fills_stdout(values)) {
    fmt::print("{}", values.count("markdown") > 0 ? markdown_text(results)
                                                  : table_text(results, values.count("rows") > 0));
  }
  const bool passed =
      std::all_of(results.begin(), results.end(), [](const CaseResult& r) { return r.passed(); });
  return passed ? exit_ok : exit_check_failed;
}

}  // namespace tandem
