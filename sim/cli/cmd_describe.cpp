// tandem describe: what the tables of the program hold.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "models/arch/gpu_config.h"
#include "models/runtime/host_model.h"
#include "models/runtime/modes.h"
#include "models/whatif/aliases.h"
#include "models/whatif/transform.h"
#include "sim/check/checks.h"
#include "sim/cli/arguments.h"
#include "sim/cli/schema/schemas.h"
#include "sim/core/error.h"
#include "sim/core/fields/field.h"
#include "sim/core/named.h"
#include "sim/predict/configs.h"
#include "sim/predict/network_run.h"
#include "sim/predict/options.h"
#include "sim/predict/result.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

void describe_gpus(const std::string& name) {
  const GpuCatalogue catalogue = load_catalogue(data_root() + "/configs/gpus");
  if (!name.empty()) {
    fmt::print("{}", describe(find_gpu(catalogue, name)));
    return;
  }
  for (const GpuArch& gpu : catalogue.gpus) fmt::print("{:<18} {}\n", gpu.name, gpu.display_name);
}

/// "; also: cudagraph, graph"; nothing for a name that has no other.
std::string also(std::string_view option, std::string_view name) {
  std::string out;
  for (const Alias& alias : aliases()) {
    if (alias.option != option || alias.name != name) continue;
    out.append(out.empty() ? "; also: " : ", ").append(alias.text);
  }
  return out;
}

/// All modes, or the one called `name`. Errors: InputError for a name that is none.
void describe_modes(const std::string& name) {
  const std::string wanted = name.empty() ? name : canonical_mode(name);
  ReplayOptions checked;
  if (!name.empty()) set_mode(name, "", checked.mode.mode, checked.what_ifs);
  for (const Named<Mode>& mode : modes()) {
    if (wanted.empty() || wanted == mode.name) {
      fmt::print("{:<12} {}{}\n", mode.name, mode.doc, also("mode", mode.name));
    }
  }
  if (wanted.empty() || wanted == jit_alias) {
    fmt::print("{:<12} as-traced with the what-if compile{}\n", jit_alias, also("mode", jit_alias));
  }
}

void describe_what_if(const Transform& transform) {
  fmt::print("{:<12} {}\n", transform.name, transform.doc);
  for (const TransformOption& option : transform.options) {
    fmt::print("  --{:<14} {}{}{}\n", option.name, option.doc, option.names.empty() ? "" : ": ",
               fmt::join(option.names, ", "));
    for (const std::string_view one : option.names) {
      const std::string others = also(option.name, one);
      if (!others.empty()) fmt::print("  {:16} {}{}\n", "", one, others);
    }
  }
  fmt::print("  needs            a config of the traced GPU{}{}\n",
             transform.needs.batch ? ", a recognisable batch" : "",
             transform.needs.pytorch ? ", operator shapes of an eager PyTorch run" : "");
}

/// All what-ifs in the order of application, or one. Errors: InputError for a name that is none.
void describe_what_ifs(const std::string& name) {
  bool any = false;
  for (const Transform& transform : transforms()) {
    if (!name.empty() && name != transform.name) continue;
    describe_what_if(transform);
    any = true;
  }
  if (any) return;
  throw InputError("command line", "describe what-if", "\"" + name + "\"",
                   expected_name(name_list(transforms()), name));
}

/// All metrics, or those whose name holds `part`. Errors: InputError if none does.
void describe_metrics(const std::string& part) {
  int shown = 0;
  for (const PublishedField& field : result_fields()) {
    if (field.path.find(part) == std::string::npos) continue;
    fmt::print("{:<46} {:<9} {}\n", field.path, field.unit, field.doc);
    ++shown;
  }
  if (shown > 0) return;
  throw InputError("command line", "describe metric", "\"" + part + "\", which no metric holds",
                   "a part of a name that 'tandem describe metric' lists");
}

/// All checks, or one, with what it means and what to do. Errors: InputError for a name that is
/// none.
void describe_checks(const std::string& name) {
  bool any = false;
  for (const Check& c : checks()) {
    if (!name.empty() && name != c.name) continue;
    fmt::print("{:<26} {} ({})\n", c.name, c.doc, c.unit);
    any = true;
    if (name.empty()) continue;
    std::string touched;
    for (const Named<Use>& use : uses) {
      if (c.touches.has(use.value))
        touched += (touched.empty() ? "" : ", ") + std::string(use.name);
    }
    fmt::print("  for              {}\n  means            {}\n  what to do       {}\n", touched,
               c.means, c.advice);
  }
  if (any) return;
  throw InputError("command line", "describe check", "\"" + name + "\"",
                   expected_name(name_list(checks()), name));
}

/// The formats, or the JSON Schema of one. Errors: InputError for a name that is none.
void describe_schemas(const std::string& name) {
  const auto schemas = published_schemas();
  for (const PublishedSchema& schema : schemas) {
    if (name.empty()) fmt::print("{:<12} {:<22} {}\n", schema.name, schema.id, schema.about);
    if (schema.name != name) continue;
    fmt::print("{}\n", json_schema(schema.id, schema.about, schema.fields()).dump(1));
    return;
  }
  if (name.empty()) return;
  throw InputError("command line", "describe schema", "\"" + name + "\"",
                   expected_name(name_list(schemas), name));
}

void describe_hosts(const std::string& name) {
  const std::string configs = data_root() + "/configs";
  if (name.empty()) {
    for (const std::string& one : host_names(configs)) fmt::print("{}\n", one);
    return;
  }
  const std::string path = host_path(configs, name);
  load_host_model(path);
  for (const auto& [key, entry] : read_json_file(path)["constants"].items()) {
    fmt::print("{:26} {:>10} {:10} {:9} {}\n", key, entry["value"].dump(),
               entry["unit"].get<std::string>(), entry["kind"].get<std::string>(),
               entry["source"].get<std::string>());
  }
}

/// The networks that `run` knows, or those whose name holds `part`. Errors: InputError if none
/// does.
void describe_networks(const std::string& part) {
  bool any = false;
  for (const std::string& name : network_names(data_root() + "/workloads/nets")) {
    if (name.find(part) == std::string::npos) continue;
    fmt::print("{}\n", name);
    any = true;
  }
  if (any) return;
  throw InputError("command line", "describe network", "\"" + part + "\", which no network holds",
                   "a part of a name that 'tandem describe network' lists");
}

struct Subject {
  std::string_view name;
  std::string_view about;
  void (*describe)(const std::string& name);
};
constexpr std::array<Subject, 8> subjects{{
    {"gpu", "GPUs of configs/gpus; NAME: every number of one, with its source", describe_gpus},
    {"host", "hosts of configs/hosts; NAME or path: its constants", describe_hosts},
    {"network", "networks that 'tandem run' knows; NAME: a part of theirs", describe_networks},
    {"mode", "how the host issues a step, and what else a mode may be called", describe_modes},
    {"what-if", "what a step may be changed to, and the options that ask for it",
     describe_what_ifs},
    {"metric", "fields of results with unit and meaning; NAME: a part of their names",
     describe_metrics},
    {"check", "what 'tandem check' looks for; NAME: what it means and what to do", describe_checks},
    {"schema", "formats of JSON output; NAME: the JSON Schema of one (docs/schema)",
     describe_schemas},
}};

CommandLine subject_line(const Subject& subject) {
  po::options_description options("Options");
  const char* const value = subject.describe == describe_gpus       ? gpu_value
                            : subject.describe == describe_hosts    ? host_value
                            : subject.describe == describe_networks ? network_value
                                                                    : "NAME";
  options.add_options()("name", text_value(value), "one of them; default: all");
  if (subject.describe == describe_gpus) {
    options.add_options()("template", "a config to fill in");
  }
  return {"describe " + std::string(subject.name),
          "[NAME]",
          std::string(subject.about) + ".",
          {{"name"}},
          {options}};
}

int describe_subject(const Subject& subject, const Arguments& arguments) {
  const auto values = parse_arguments(subject_line(subject), arguments);
  if (!values) return exit_ok;
  if (values->count("template") > 0) {
    fmt::print("{}\n", gpu_template());
  } else {
    subject.describe((*values)["name"].as<std::string>());
  }
  return exit_ok;
}

// A command is a pair of functions without arguments of their own: one pair a row.
template <std::size_t i>
CommandLine line_of() {
  return subject_line(subjects[i]);
}

template <std::size_t i>
int run_subject(const Arguments& arguments) {
  return describe_subject(subjects[i], arguments);
}

template <std::size_t... i>
constexpr auto parts_of(std::index_sequence<i...>) {
  return std::array{
      Command{subjects[i].name, "[NAME]", subjects[i].about, run_subject<i>, line_of<i>}...};
}

}  // namespace

std::span<const Command> describe_parts() {
  static constexpr auto parts = parts_of(std::make_index_sequence<subjects.size()>());
  return parts;
}

int run_describe(const Arguments& arguments) {
  return run_part("describe", describe_parts(), arguments);
}

}  // namespace tandem
