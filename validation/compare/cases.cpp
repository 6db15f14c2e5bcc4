#include "validation/compare/cases.h"

#include <algorithm>
#include <initializer_list>

#include "sim/core/fields/field.h"
#include "sim/core/files/folder.h"
#include "sim/predict/options.h"

namespace tandem {

namespace {

constexpr std::string_view kind_names[] = {
    "fidelity",        "unprofiled",   "counters",      "gpu_time",    "compute_time",
    "step_time",       "kernel_count", "level",         "peak_memory", "power",
    "calibrated_host", "mode_ratio",   "energy_change", "throughput",  "operators"};
constexpr std::string_view error_names[] = {"relative", "absolute"};
constexpr std::string_view bound_names[] = {"any", "gpu", "host"};
/// Describes an enum member by the table of its names.
template <class E>
Field<Case> named_field(std::string_view name, std::string_view doc, E Case::*member,
                        std::span<const Named<E>> table) {
  return {std::string(name), "name", std::string(doc),
          [=](Case& c, const Json& json, const Place& place) {
            std::string text;
            read_json(json, place, Range::positive, text);
            c.*member = parse_named(table, text, place.file, place.key);
          },
          [=](const Case& c) { return Json(std::string(name_of(table, c.*member))); }};
}

/// Of every option of a what-if a field: what the prediction is asked. Numbers of the GPU cannot be
/// changed: their option has the name of the set.
void add_what_ifs(std::vector<Field<Case>>& fields) {
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      if (option.kind == OptionKind::assignments) continue;
      const std::string name(option.name);
      fields.push_back({name, "", std::string(option.doc),
                        [name](Case& c, const Json& json, const Place& place) {
                          std::string text;
                          if (json.is_number()) {
                            text = json.dump();
                          } else {
                            read_json(json, place, Range::positive, text);
                          }
                          c.what_ifs.set(name, text);
                        },
                        [name](const Case& c) { return Json(c.what_ifs.get(name)); }});
    }
  }
}

/// The compiler of mode jit may stand before the mode or after it. Another mode in its place takes
/// the what-if away that it stood for.
void read_mode(Case& c, const Json& json, const Place& place) {
  std::string text;
  read_json(json, place, Range::positive, text);
  try {
    if (c.compiles_by_mode && text != jit_alias) c.what_ifs.set("compile", "");
    set_mode(text, c.what_ifs.get("compile"), c.mode, c.what_ifs);
    c.compiles_by_mode = text == jit_alias;
  } catch (const InputError& error) {
    place.fail(error.found(), error.expected());
  }
}

std::vector<Field<Case>> case_fields() {
  std::vector<Field<Case>> fields{
      field<Case>("question", "", "first column of the table", &Case::question),
      field<Case>("description", "", "what is compared with what", &Case::description),
      field<Case>("set", "", "which captures; second column of the table", &Case::set),
      field<Case>("note", "", "what is special about the set", &Case::note),
      choice_field<Case>("kind", "what is compared", &Case::kind, kind_names),
      choice_field<Case>("bound", "which captures are taken", &Case::bound, bound_names),
      {"mode", "name", "execution mode of the prediction, or jit, which --compiler refines",
       read_mode, [](const Case& c) { return Json(std::string(mode_text(c.mode, c.what_ifs))); }},
      named_field("graph_scope", "what a CUDA graph captures", &Case::graph_scope, graph_scopes()),
      field<Case>("host", "", "host config of the prediction", &Case::host),
      named_field("cache", "of operators: warm, or cold before every kernel", &Case::cache,
                  std::span<const Named<CacheState>>(cache_states)),
      field<Case>("quantity", "",
                  "metric of kernel_time, or column of what was measured of operators",
                  &Case::quantity),
      choice_field<Case>("error", "what an error is", &Case::absolute, error_names),
      field<Case>("rests_on", "", "configs whose constants are in question", &Case::rests_on),
      field<Case>("folder", "", "that traces and pairs lie in", &Case::folder),
      field<Case>("traces", "", "captures, or FOLDER/*, below a data folder", &Case::traces),
      field<Case>("excluded", "", "name prefixes that FOLDER/* leaves out", &Case::excluded),
      field<Case>("mean_limit", "ratio", "largest mean error", &Case::mean_limit),
      field<Case>("worst_limit", "ratio", "largest error", &Case::worst_limit),
      field<Case>("least_rows", "count", "comparisons from which the limits are enforced",
                  &Case::least_rows, Range::non_negative),
      {"compiler", "", "of mode jit: as compile",
       [](Case& c, const Json& json, const Place& place) {
         std::string text;
         read_json(json, place, Range::positive, text);
         c.what_ifs.set("compile", text);
       },
       [](const Case& c) { return Json(c.what_ifs.get("compile")); }},
  };
  add_what_ifs(fields);
  return fields;
}

CasePair read_pair(const Json& json, const Place& place) {
  std::vector<std::string> names;
  read_json(json, place, Range::positive, names);
  if (names.size() == 2) return {names[0], "", names[1]};
  if (names.size() == 3) return {names[0], names[1], names[2]};
  place.fail(describe_json(json),
             "[base capture, measured capture] or [base, second base, measured]");
}

/// A row {"network", "per_s" or "gpu_ms", "source", "seq", options of what-ifs}.
PublishedRate read_rate(const Json& json, const Place& place) {
  require_object(json, place);
  PublishedRate rate;
  for (const auto& [key, value] : json.items()) {
    const Place at = place / key;
    if (key == "network") {
      read_json(value, at, Range::positive, rate.network);
    } else if (key == "source") {
      read_json(value, at, Range::positive, rate.source);
    } else if (key == "per_s") {
      read_json(value, at, Range::positive, rate.per_s);
    } else if (key == "gpu_ms") {
      read_json(value, at, Range::positive, rate.gpu_ms);
    } else if (key == "seq") {
      read_json(value, at, Range::positive, rate.length.emplace());
    } else if (find_option(key) != nullptr) {
      std::string text = value.is_number() ? value.dump() : std::string();
      if (text.empty()) read_json(value, at, Range::positive, text);
      rate.what_ifs.set(key, text);
    } else {
      place.fail("unknown key \"" + key + "\"",
                 "network, per_s, gpu_ms, source, seq or an option of a what-if");
    }
  }
  if (rate.network.empty() || rate.source.empty() || (rate.per_s > 0) == (rate.gpu_ms > 0)) {
    place.fail(describe_json(json), "a network, its samples per_s or its gpu_ms, and their source");
  }
  return rate;
}

std::vector<PublishedRate> read_rates(const Json& json, const Place& place) {
  if (!json.is_array()) place.fail(describe_json(json), "a list of published rates");
  std::vector<PublishedRate> rates;
  for (const Json& rate : json) rates.push_back(read_rate(rate, place));
  return rates;
}

std::vector<CasePair> read_pairs(const Json& json, const Place& place) {
  if (!json.is_array()) place.fail(describe_json(json), "a list of pairs");
  std::vector<CasePair> pairs;
  for (const Json& pair : json) pairs.push_back(read_pair(pair, place));
  return pairs;
}

GapBand read_band(const Json& json, const Place& place, double limit) {
  static const std::vector<Field<GapBand>> fields{
      field<GapBand>("lower", "ratio", "below, the gap has closed", &GapBand::lower),
      field<GapBand>("upper", "ratio", "above, the gap has grown", &GapBand::upper)};
  GapBand band;
  read_fields(json, place, std::span<const Field<GapBand>>(fields), band);
  if (limit <= 0 || band.lower < limit || band.upper <= band.lower) {
    place.fail(describe_json(json), "a limit of this figure <= lower < upper");
  }
  return band;
}

/// `of` has its limits already.
Deviation read_deviation(const Json& json, const Place& place, const Case& of) {
  require_object(json, place);
  Deviation deviation;
  for (const auto& [key, value] : json.items()) {
    if (key == "number") {
      read_json(value, place / key, Range::positive, deviation.number);
    } else if (key == "mean") {
      deviation.mean = read_band(value, place / key, of.mean_limit);
    } else if (key == "worst") {
      deviation.worst = read_band(value, place / key, of.worst_limit);
    } else {
      place.fail("unknown key \"" + key + "\"", "one of: number, mean, worst");
    }
  }
  if (deviation.number == 0 || !(deviation.mean || deviation.worst)) {
    place.fail(describe_json(json), "a number of DEVIATIONS.md and a band of mean or worst");
  }
  return deviation;
}

bool compares_pairs(CaseKind kind) {
  return kind == CaseKind::mode_ratio || kind == CaseKind::gpu_time ||
         kind == CaseKind::step_time || kind == CaseKind::compute_time ||
         kind == CaseKind::kernel_count || kind == CaseKind::energy_change ||
         kind == CaseKind::level || kind == CaseKind::peak_memory;
}

void require_limit(const Case& c, const Place& place) {
  if (c.mean_limit <= 0 && c.worst_limit <= 0) {
    place.fail("no limit", "mean_limit, worst_limit or both");
  }
}

void check(const Case& c, const Place& place) {
  const bool of_rates = c.kind == CaseKind::throughput;
  for (const PublishedRate& rate : c.rates) {
    if (!of_rates && c.kind != CaseKind::gpu_time) {
      place.fail("rates of another kind", "rates for kinds throughput and gpu_time");
    }
    if ((rate.per_s > 0) != of_rates) {
      place.fail("a rate without the number of this kind",
                 "per_s for kind throughput, gpu_ms for gpu_time");
    }
  }
  if (of_rates && c.rates.empty()) place.fail("no rates", "rates of kind throughput");
  if (!c.rates.empty() && c.traces.empty() && c.pairs.empty()) {
    require_limit(c, place);
    return;
  }
  const bool of_pairs = compares_pairs(c.kind);
  if (c.pairs.empty() == of_pairs || c.traces.empty() != of_pairs) {
    place.fail("neither or both of traces and pairs, or the wrong one",
               "traces; pairs for mode_ratio, gpu_time, compute_time, step_time, kernel_count, "
               "level, peak_memory and energy_change");
  }
  require_limit(c, place);
}

void require(const Json& json, const Place& place, std::initializer_list<std::string> keys) {
  for (const std::string& key : keys) {
    if (!json.contains(key)) place.fail("no key \"" + key + "\"", "all of: " + join({keys}));
  }
}

/// Reads what a question says of all its sets, or a set of itself, over what `out` says already.
void read_case(const Json& json, const Place& place, Case& out) {
  require_object(json, place);
  const auto fields = case_fields();
  const std::span<const Field<Case>> view(fields);
  const auto read = [&](const std::string& key, const Json& value) {
    find_field(view, key, place).read(out, value, place / key);
  };
  if (json.contains("mode")) read("mode", json["mode"]);  // before what it would take away
  for (const auto& [key, value] : json.items()) {
    if (key == "pairs") {
      out.pairs = read_pairs(value, place / key);
    } else if (key == "rates") {
      out.rates = read_rates(value, place / key);
    } else if (key != "sets" && key != "deviation" && key != "mode") {
      read(key, value);
    }
  }
  if (json.contains("deviation")) {  // after the limits that it is held against
    out.deviation = read_deviation(json["deviation"], place / "deviation", out);
  }
}

/// Traces and pairs named below the set's folder become named below a data folder.
void name_from_data_folder(Case& c) {
  if (c.folder.empty()) return;
  for (std::string& trace : c.traces) trace = c.folder + "/" + trace;
  for (CasePair& pair : c.pairs) {
    for (std::string* name : {&pair.base, &pair.second_base, &pair.measured}) {
      if (!name->empty()) *name = c.folder + "/" + *name;
    }
  }
}

void load_question(const std::string& path, std::vector<Case>& cases) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  Case question;
  question.file = path;
  read_case(json, place, question);
  require(json, place, {"question", "description", "kind", "sets"});
  const Json& sets = json["sets"];
  const Place below = place / "sets";
  if (!sets.is_array() || sets.empty()) below.fail(describe_json(sets), "a list of sets");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Place at = below / std::to_string(i);
    Case c = question;
    read_case(sets[i], at, c);
    require(sets[i], at, {"set"});
    name_from_data_folder(c);
    check(c, at);
    cases.push_back(std::move(c));
  }
}

}  // namespace

std::string name_of(const Case& c) { return c.question + ", " + c.set; }

std::vector<Case> load_cases(const std::string& folder) {
  const std::vector<std::string> paths = json_files(folder);
  if (paths.empty()) throw InputError(folder, "", "no case", "a folder with *.json case files");
  std::vector<Case> cases;
  for (const std::string& path : paths) load_question(path, cases);
  return cases;
}

}  // namespace tandem
