#include "sim/cli/complete/complete.h"

#include "models/arch/gpu_config.h"
#include "sim/cli/arguments.h"
#include "sim/core/named.h"
#include "sim/predict/configs.h"
#include "sim/predict/network_run.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// "a|b|c" in pieces; one word alone is a description, not a value.
std::vector<std::string> alternatives(const std::string& shown) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (shown.find('|') != std::string::npos) {
    const std::size_t end = shown.find('|', begin);
    words.push_back(shown.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return words;
}

class Words {
 public:
  explicit Words(const std::string& root)
      : gpus_(name_list(load_catalogue(root + "/configs/gpus").gpus)),
        hosts_(host_names(root + "/configs")),
        networks_(network_names(root + "/workloads/nets")) {}

  /// What `shown`, the value of an option in help, stands for; empty: a file, or anything.
  std::vector<std::string> of(const std::string& shown) const {
    if (shown == gpu_value) return gpus_;
    if (shown == host_value) return hosts_;
    if (shown == network_value) return networks_;
    return alternatives(shown);
  }

 private:
  std::vector<std::string> gpus_, hosts_, networks_;
};

Completed completed(const po::option_description& option, const Words& words) {
  const std::string shown = option.semantic()->name();
  return {"--" + option.long_name(), option.semantic()->max_tokens() > 0,
          words.of(shown.substr(0, shown.find(" (=")))};
}

CompletedCommand completed(const CommandLine& line, const Words& words) {
  CompletedCommand out;
  out.name = line.command;
  for (const po::options_description& group : line.groups) {
    for (const auto& option : group.options()) {
      out.options.push_back(completed(*option, words));
      const bool first = !line.places.empty() && option->long_name() == line.places.front().name;
      if (first) out.place = out.options.back();
    }
  }
  out.options.push_back({"--help", false, {}});
  return out;
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const std::string& root) {
  const Words words(root);
  std::vector<CompletedCommand> out;
  for (const Command& command : commands()) {
    if (command.parts == nullptr) {
      out.push_back(completed(command.line(), words));
      continue;
    }
    out.push_back({std::string(command.name), {}, {}, name_list(command.parts())});
    for (const Command& part : command.parts()) out.push_back(completed(part.line(), words));
  }
  return out;
}

}  // namespace tandem
