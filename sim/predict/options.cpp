#include "sim/predict/options.h"

#include "models/whatif/aliases.h"

namespace tandem {

namespace {

/// The names of modes(), and jit_alias.
std::vector<std::string_view> mode_names() {
  std::vector<std::string_view> names;
  for (const Named<Mode>& known : modes()) names.push_back(known.name);
  names.push_back(jit_alias);
  return names;
}

}  // namespace

std::string canonical_mode(std::string_view text) { return canonical("mode", text, mode_names()); }

void set_mode(std::string_view text, std::string_view compiler, Mode& mode, WhatIfs& what_ifs) {
  const std::string name = canonical_mode(text);
  if (name == jit_alias) {
    mode = Mode::as_traced;
    what_ifs.set("compile", compiler.empty() ? "inductor" : compiler);
    return;
  }
  for (const Named<Mode>& known : modes()) {
    if (known.name != name) continue;
    mode = known.value;
    return;
  }
  const auto names = mode_names();
  throw InputError("command line", "--mode", "\"" + std::string(text) + "\"",
                   expected_value("mode", names, text));
}

void check_asked(const WhatIfs& asked, Mode mode) {
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      if (!asked.has(option.name) || is_asked(transform, asked)) continue;
      if (option.for_graphs && mode == Mode::cuda_graph) continue;
      const std::string needed = "--" + std::string(transform.name);
      throw InputError("command line", "--" + std::string(option.name), "no " + needed,
                       needed + " beside it" + (option.for_graphs ? " (or --mode jit)" : ""));
    }
  }
}

std::string_view mode_text(Mode mode, const WhatIfs& what_ifs) {
  return mode_text(mode, what_ifs.has("compile"));
}

std::string mode_texts(std::string_view separator) {
  return names_of(modes(), separator).append(separator).append(jit_alias);
}

ReplayOptions options_of_second(ReplayOptions options) {
  options.steps.count = 0;
  options.traced_batch = 0;
  options.peak_memory_bytes = 0;
  return options;
}

Task parse_task(std::string_view text, std::string_view file, std::string_view place) {
  for (const Task task : {Task::train, Task::infer}) {
    if (to_string(task) == text) return task;
  }
  throw InputError(file, place, "\"" + std::string(text) + "\"", "train or infer");
}

}  // namespace tandem
