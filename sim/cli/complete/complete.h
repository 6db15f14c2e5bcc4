// What shells complete, read off the descriptions of the commands' options.
#pragma once

#include <string>
#include <vector>

namespace tandem {

/// What may stand behind an option, or in a command's place.
struct Completed {
  std::string name;                // "--mode"; of a place empty
  bool takes_value = true;         // false: a flag
  std::vector<std::string> words;  // empty: names of files
};

/// A command, or a part of one: "replay", "describe gpu".
struct CompletedCommand {
  std::string name;
  std::vector<Completed> options;
  Completed place;                 // the first one
  std::vector<std::string> parts;  // of a command that consists of parts, whose lines follow
};

/// Every command of commands(); GPUs, hosts and networks by the names that `root` holds.
std::vector<CompletedCommand> completed_commands(const std::string& root);

/// A script that bash reads: source <(tandem completion bash). zsh reads it through bashcompinit.
std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);

}  // namespace tandem
