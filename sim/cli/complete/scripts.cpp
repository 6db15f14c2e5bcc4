#include <fmt/format.h>

#include "sim/cli/complete/complete.h"

namespace tandem {

namespace {

// {0}: commands, {1}: those with parts, {2}: values, {3}: options and places.
constexpr const char* script = R"(_tandem() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at=${{COMP_WORDS[1]}}
  local words='' options=''
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{0} --help --version' -- "$cur"))
    return
  fi
  case $at in
{1}  esac
  case "$at $prev" in
{2}  esac
  case $at in
{3}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur") $(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}}
complete -o filenames -F _tandem tandem
)";

std::string parts_of(const CompletedCommand& c) {
  return fmt::format(
      "    {})\n      if ((COMP_CWORD == 2)); then\n"
      "        COMPREPLY=($(compgen -W '{} --help' -- \"$cur\"))\n        return\n      fi\n"
      "      at+=\" ${{COMP_WORDS[2]}}\" ;;\n",
      c.name, fmt::join(c.parts, " "));
}

/// What follows an option that takes a value.
std::string value_of(const CompletedCommand& c, const Completed& option) {
  const std::string reply = option.words.empty() ? "compgen -f -- \"$cur\""
                                                 : fmt::format("compgen -W '{}' -- \"$cur\"",
                                                               fmt::join(option.words, " "));
  return fmt::format("    '{} {}') COMPREPLY=($({})); return ;;\n", c.name, option.name, reply);
}

std::string options_of(const CompletedCommand& c) {
  std::string names;
  for (const Completed& option : c.options) names += (names.empty() ? "" : " ") + option.name;
  return fmt::format("    '{}') options='{}' words='{}' ;;\n", c.name, names,
                     fmt::join(c.place.words, " "));
}

}  // namespace

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string names, parts, values, options;
  for (const CompletedCommand& c : commands) {
    if (c.name.find(' ') == std::string::npos) names += (names.empty() ? "" : " ") + c.name;
    if (!c.parts.empty()) parts += parts_of(c);
    if (c.options.empty()) continue;
    options += options_of(c);
    for (const Completed& option : c.options) {
      if (option.takes_value) values += value_of(c, option);
    }
  }
  return "# Completion of tandem's commands, options and their values.\n" +
         fmt::format(script, names, parts, values, options);
}

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  return "(( $+functions[compdef] )) || { autoload -U +X compinit && compinit }\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_completion(commands);
}

}  // namespace tandem
