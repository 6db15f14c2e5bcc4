#include "sim/cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <typeinfo>

#include "sim/core/error.h"
#include "sim/core/named.h"

namespace tandem {

namespace po = boost::program_options;

namespace {

po::options_description with_help(const CommandLine& line) {
  po::options_description all;
  for (const po::options_description& group : line.groups) all.add(group);
  po::options_description help("Help");
  help.add_options()("help,h", "show this text");
  all.add(help);
  return all;
}

po::options_description known_options(const CommandLine& line) {
  po::options_description all = with_help(line);
  for (const po::options_description& group : line.unshown) all.add(group);
  return all;
}

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  return names;
}

[[noreturn]] void unknown_option(const CommandLine& line, const po::options_description& options,
                                 const std::string& found) {
  const auto names = option_names(options);
  const std::string name = found.substr(0, found.find('='));
  const auto near =
      nearest_name(names, name.substr(std::min(name.find_first_not_of('-'), name.size())));
  throw InputError("command line", line.command, "unknown option \"" + found + "\"",
                   fmt::format("an option that 'tandem {} --help' lists{}", line.command,
                               near ? "; did you mean --" + names[*near] + "?" : std::string()));
}

/// What the option takes, in words.
std::string expected_value(const po::options_description& options, const std::string& name) {
  const po::option_description* option = options.find_nothrow(name, false);
  if (option == nullptr) return "a value";
  const auto* typed = dynamic_cast<const po::typed_value_base*>(option->semantic().get());
  if (typed != nullptr && typed->value_type() == typeid(double)) return "a number";
  if (typed != nullptr &&
      (typed->value_type() == typeid(std::int64_t) || typed->value_type() == typeid(int))) {
    return "a whole number";
  }
  const std::string shown = option->semantic()->name();
  return "a value: " + shown.substr(0, shown.find(" (="));
}

/// "--batch" of how an option was written: "batch", "--bat" or "-b".
std::string key_of(const po::options_description& options, const std::string& written) {
  const std::string name = written.substr(std::min(written.find_first_not_of('-'), written.size()));
  const po::option_description* option = options.find_nothrow(name, true);
  return "--" + (option == nullptr ? name : option->long_name());
}

std::string last_value(const po::parsed_options& parsed, const std::string& key) {
  std::string value;
  for (const po::option& option : parsed.options) {
    if ("--" + option.string_key == key && !option.value.empty()) value = option.value.back();
  }
  return value;
}

po::parsed_options read_options(const CommandLine& line, const po::options_description& options,
                                const Arguments& arguments) {
  po::positional_options_description places;
  for (const Positional& p : line.places) places.add(p.name, p.count);
  try {
    return po::command_line_parser(arguments).options(options).positional(places).run();
  } catch (const po::unknown_option& error) {
    unknown_option(line, options, error.get_option_name());
  } catch (const po::ambiguous_option& error) {
    throw InputError("command line", line.command, "\"" + error.get_option_name() + "\"",
                     fmt::format("one of: {}", fmt::join(error.alternatives(), ", ")));
  } catch (const po::too_many_positional_options_error&) {
    throw InputError("command line", line.command, "more arguments than it takes",
                     "tandem " + line.command + " " + line.usage);
  } catch (const po::invalid_syntax& error) {
    const std::string key = key_of(options, error.get_option_name());
    const bool flag = error.kind() == po::invalid_syntax::extra_parameter;
    throw InputError("command line", key, flag ? "a value" : "no value",
                     flag ? "it alone" : expected_value(options, key.substr(2)));
  } catch (const po::error&) {
    throw InputError("command line", line.command, "arguments that cannot be read",
                     "tandem " + line.command + " " + line.usage);
  }
}

/// A variable of a script that is not set must not pass for an option that is not given. Errors:
/// InputError.
void check_not_empty(const po::options_description& options, const po::variables_map& values) {
  for (const auto& [name, value] : values) {
    const auto* text = boost::any_cast<std::string>(&value.value());
    const auto* texts = boost::any_cast<std::vector<std::string>>(&value.value());
    const bool empty =
        (text != nullptr && text->empty()) ||
        (texts != nullptr && std::find(texts->begin(), texts->end(), "") != texts->end());
    const bool flag = options.find(name, false).semantic()->max_tokens() == 0;
    if (flag || value.defaulted() || !empty) continue;
    throw InputError("command line", "--" + name, "an empty text", expected_value(options, name));
  }
}

/// Options by which every command names what it writes; the others name what is read.
constexpr std::string_view outputs[] = {"json",   "kernels", "timeline", "report",
                                        "sqlite", "out",     "figure",   "figures"};

bool is_output(std::string_view name) {
  return std::find(std::begin(outputs), std::end(outputs), name) != std::end(outputs);
}

/// The files that are written; what lies in a folder its command knows.
std::vector<NamedFile> written_files(const po::options_description& options,
                                     const po::variables_map& values) {
  std::vector<NamedFile> files;
  for (const std::string_view name : outputs) {
    const std::string key(name);
    const po::option_description* option = options.find_nothrow(key, false);
    if (option == nullptr || !option->semantic()->name().starts_with(file_value)) continue;
    files.push_back({"--" + key, values[key].as<std::string>()});
  }
  return files;
}

/// Numbers have one spelling, that of experiment files, in which "+7" is none. Errors: InputError.
void check_numbers(const po::options_description& options, const po::parsed_options& parsed) {
  for (const po::option& option : parsed.options) {
    const std::string expected = expected_value(options, option.string_key);
    if (option.value.empty() || !option.value.back().starts_with("+")) continue;
    if (!expected.ends_with("number")) continue;
    throw InputError("command line", "--" + option.string_key, "\"" + option.value.back() + "\"",
                     expected);
  }
}

/// An option without its value would take the next option for it, and write a file of that name.
/// Errors: InputError.
void check_values(const po::options_description& options, const po::parsed_options& parsed) {
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0) continue;
    for (const std::string& value : option.value) {
      if (!value.starts_with("--")) continue;
      throw InputError("command line", "--" + option.string_key,
                       "the option \"" + value + "\" in place of its value",
                       expected_value(options, option.string_key));
    }
  }
}

po::variables_map read_values(const CommandLine& line, const po::options_description& options,
                              const Arguments& arguments) {
  const po::parsed_options parsed = read_options(line, options, arguments);
  check_values(options, parsed);
  check_numbers(options, parsed);
  po::variables_map values;
  try {
    po::store(parsed, values);
  } catch (const po::multiple_occurrences& error) {
    throw InputError("command line", key_of(options, error.get_option_name()), "it twice",
                     "it once");
  } catch (const po::error_with_option_name& error) {
    const std::string key = key_of(options, error.get_option_name());
    throw InputError("command line", key, "\"" + last_value(parsed, key) + "\"",
                     expected_value(options, key.substr(2)));
  }
  check_not_empty(options, values);
  po::notify(values);
  if (values.count("help") == 0) check_written(read_files(values), written_files(options, values));
  return values;
}

}  // namespace

po::typed_value<std::string>* text_value(const std::string& shown, const std::string& otherwise) {
  auto* value = po::value<std::string>()->value_name(shown);
  // An empty default is none for the reader.
  return otherwise.empty() ? value->default_value("", "") : value->default_value(otherwise);
}

po::typed_value<std::vector<std::string>>* texts_value(const std::string& shown) {
  return po::value<std::vector<std::string>>()->value_name(shown)->default_value({}, "");
}

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return parts;
}

void add_threads_option(po::options_description& options) {
  options.add_options()("threads", po::value<int>()->value_name("N")->default_value(0, ""),
                        "0, the default: as many as the machine has");
}

void add_loss_option(po::options_description& options) {
  options.add_options()("allow-data-loss", "exit 0 even if part of a trace could not be used");
}

bool accepts_loss(const po::variables_map& values) { return values.count("allow-data-loss") > 0; }

int loss_status(bool lost, bool accepted, const std::string& what) {
  if (!lost || accepted) return exit_ok;
  fmt::print(stderr,
             "tandem: part of {} could not be used ('tandem replay' lists it as data_loss); "
             "--allow-data-loss accepts that\n",
             printable(what));
  return exit_data_loss;
}

bool fills_stdout(const po::variables_map& values) {
  // Folders, as --out of some commands, are none.
  constexpr std::string_view files[] = {"json",   "kernels", "timeline",
                                        "report", "sqlite",  "figure"};
  return std::any_of(std::begin(files), std::end(files), [&](std::string_view name) {
    const auto it = values.find(std::string(name));
    return it != values.end() && it->second.as<std::string>() == "-";
  });
}

std::vector<NamedFile> read_files(const po::variables_map& values) {
  std::vector<NamedFile> files;
  const auto add = [&](const std::string& name, const std::string& text) {
    // Also one of several (--gpu A,B), and a trace with its time (TRACE=SECONDS).
    for (const std::string& one : comma_list(text)) {
      files.push_back({"--" + name, one});
      files.push_back({"--" + name, one.substr(0, one.rfind('='))});
    }
    files.push_back({"--" + name, text});
  };
  for (const auto& [name, value] : values) {
    if (is_output(name)) continue;
    if (const auto* text = boost::any_cast<std::string>(&value.value())) add(name, *text);
    if (const auto* texts = boost::any_cast<std::vector<std::string>>(&value.value())) {
      for (const std::string& text : *texts) add(name, text);
    }
  }
  return files;
}

int threads_of(const po::variables_map& values) {
  constexpr int most = 4096;
  const int threads = values["threads"].as<int>();
  if (threads >= 0 && threads <= most) return threads;
  throw InputError("command line", "--threads", std::to_string(threads),
                   fmt::format("0 to {}", most));
}

std::string help_text(const CommandLine& line) {
  std::ostringstream out;
  out << "usage: tandem " << line.command << ' ' << line.usage << "\n\n"
      << line.about << "\n"
      << with_help(line);
  return out.str();
}

std::optional<po::variables_map> parse_arguments(const CommandLine& line,
                                                 const Arguments& arguments) {
  const po::variables_map values = read_values(line, known_options(line), arguments);
  if (values.count("help") == 0) return values;
  std::cout << help_text(line);
  return {};
}

}  // namespace tandem
