#include "workloads/network.h"

#include <iterator>
#include <optional>

#include "sim/core/fields/field.h"
#include "sim/core/named.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

constexpr std::string_view schemas[] = {"tandem.network/1"};
constexpr std::string_view frameworks[] = {"pytorch", "tensorflow"};
static_assert(std::size(frameworks) == values_up_to(Framework::tensorflow));
constexpr std::string_view tasks[] = {"train", "infer"};
constexpr std::string_view phase_names[] = {"forward", "backward", "optimizer"};
constexpr std::string_view precisions[] = {"fp32", "amp"};
constexpr std::string_view storage_kinds[] = {"parameter", "buffer",     "input", "gradient",
                                              "state",     "activation", "host"};
constexpr std::string_view known_keys =
    "schema, name, framework, task, source, recorded_with, optimizer, precision, symbols, modules, "
    "storages, tensors, held, calls, ops, forms";
constexpr std::string_view form_keys = "type, modules, storages, tensors, held, calls, ops";
constexpr std::string_view op_keys = "op, phase, module, node, seq, call, args, out, masked";
constexpr std::string_view call_keys = "op, call, args, masked";
constexpr std::string_view form_types[] = {"fp16", "bf16"};
constexpr DataType types_of_forms[] = {DataType::fp16, DataType::bf16};
constexpr std::string_view masks[] = {"none", "column", "whole"};
constexpr CompiledMask compiled_masks[] = {CompiledMask::none, CompiledMask::column,
                                           CompiledMask::whole};
static_assert(std::size(form_types) == std::size(types_of_forms));
static_assert(std::size(masks) == std::size(compiled_masks));
constexpr std::size_t most_nested = 8;  // calls within each other

Place item(const Place& list, std::size_t index) {
  Place place = list;
  place.key += "[" + std::to_string(index) + "]";
  return place;
}

const Json& member(const Json& object, const Place& place, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) place.fail("no key \"" + std::string(key) + "\"", "one");
  return *found;
}

const Json& list_member(const Json& object, const Place& place, const char* key) {
  const Json& list = member(object, place, key);
  if (!list.is_array()) (place / key).fail(describe_json(list), "a list");
  return list;
}

/// Whether `key` is one of `known`, which stand as people read them: "a, b, c".
bool is_known(std::string_view key, std::string_view known) {
  for (std::size_t begin = 0; begin < known.size();) {
    const std::string_view one = known.substr(begin, known.find(',', begin) - begin);
    if (one == key) return true;
    begin += one.size() + std::string_view(", ").size();
  }
  return false;
}

void check_keys(const Json& object, const Place& place, std::string_view known) {
  require_object(object, place);
  for (const auto& [key, value] : object.items()) {
    if (!is_known(key, known)) {
      place.fail("unknown key \"" + key + "\"", "one of: " + std::string(known));
    }
  }
}

std::string text_or(const Json& object, const Place& place, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) (place / key).fail(describe_json(*found), "a text");
  return found->get<std::string>();
}

/// A position in a list of `size` entries.
std::uint32_t index_of(const Json& json, const Place& place, std::size_t size,
                       std::string_view what) {
  if (!json.is_number_integer() || json.get<std::int64_t>() < 0 ||
      json.get<std::uint64_t>() >= size) {
    place.fail(describe_json(json),
               "the number of one of " + std::to_string(size) + " " + std::string(what));
  }
  return json.get<std::uint32_t>();
}

/// Reads the parts of one file into a Network.
class Reader {
 public:
  /// `file`: of the network or, within it, of a form.
  Reader(const Json& json, const Place& file) : json_(json), file_(file) { out_.path = file.file; }
  Network read();

 private:
  /// `head`: what the whole network says before its parts, symbols and framework among it.
  Network read_form(const Network& head);
  void read_parts();
  void read_forms(const Network& head);
  void read_symbols();
  void read_modules();
  void read_storages();
  /// Nothing if the value is no formula.
  std::optional<Expression> formula(const Json& json, const Place& place) const;
  std::string known_symbols() const;
  void read_sizes(const Json& json, const Place& place, std::vector<Expression>& out) const;
  void read_tensors();
  void read_tensor(const Json& json, const Place& place);
  static DataType type_of(std::string_view name);
  void read_calls();
  void read_ops();
  void read_op(const Json& json, const Place& place);
  void read_held();
  static CompiledMask compiled_mask(const Json& json, const Place& place);
  void read_arguments(const Json& json, const Place& place, NetworkOp& op) const;
  /// What it is made of stands side by side, behind what makes its operands.
  void check_call(const NetworkOp& op, const Place& place, const std::vector<bool>& made);
  std::uint32_t tensor_of(const Json& json, const Place& place) const;
  NetworkArgument argument(const Json& json, const Place& place) const;
  /// {"t": number} is a tensor, {"tl": [numbers]} a list of them.
  void read_tensors_of(const Json& json, const Place& place, NetworkArgument& out) const;
  /// A text that is no formula of known symbols is a text, e.g. "none".
  std::optional<Expression> known_formula(const Json& json, const Place& place) const;
  void read_list(const Json& json, const Place& place, NetworkArgument& out) const;
  static Argument plain(const Json& json, const Place& place);
  /// What an operation reads must have been made.
  void check_order(const NetworkOp& op, const Place& place, const std::vector<bool>& made) const;
  const Json& json_;
  Place file_;
  Network out_;
  std::vector<std::uint32_t> open_;  // calls around the operation before
  std::vector<bool> called_;         // per call: seen
};

Network Reader::read() {
  check_keys(json_, file_, known_keys);
  read_choice(json_.value("schema", Json()), file_ / "schema", schemas);
  out_.framework = static_cast<Framework>(
      read_choice(json_.value("framework", Json()), file_ / "framework", frameworks));
  out_.task = static_cast<Task>(read_choice(json_.value("task", Json()), file_ / "task", tasks));
  if (json_.contains("precision")) read_choice(json_["precision"], file_ / "precision", precisions);
  out_.name = text_or(json_, file_, "name");
  out_.source = text_or(json_, file_, "source");
  out_.optimizer = text_or(json_, file_, "optimizer");
  read_symbols();
  const Network head = out_;
  read_parts();
  read_forms(head);
  return std::move(out_);
}

void Reader::read_parts() {
  read_modules();
  read_storages();
  read_tensors();
  read_calls();
  read_ops();
  read_held();
}

Network Reader::read_form(const Network& head) {
  out_ = head;
  read_parts();
  return std::move(out_);
}

void Reader::read_forms(const Network& head) {
  if (!json_.contains("forms")) return;
  const Json& list = list_member(json_, file_, "forms");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place place = item(file_ / "forms", i);
    check_keys(list[i], place, form_keys);
    const auto type = static_cast<std::size_t>(
        read_choice(member(list[i], place, "type"), place / "type", form_types));
    for (const NetworkForm& other : out_.forms) {
      if (other.type == types_of_forms[type])
        (place / "type").fail("a second form of that type", "one");
    }
    Network form = Reader(list[i], place).read_form(head);
    out_.forms.push_back({types_of_forms[type], std::move(form)});
  }
}

CompiledMask Reader::compiled_mask(const Json& json, const Place& place) {
  if (!json.contains("masked")) return CompiledMask::not_known;
  return compiled_masks[static_cast<std::size_t>(
      read_choice(json["masked"], place / "masked", masks))];
}

void Reader::read_symbols() {
  const Json& list = list_member(json_, file_, "symbols");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place place = item(file_ / "symbols", i);
    check_keys(list[i], place, "name, recorded, default");
    Symbol symbol;
    read_json(member(list[i], place, "name"), place / "name", Range::positive, symbol.name);
    read_json(member(list[i], place, "recorded"), place / "recorded", Range::positive,
              symbol.recorded);
    read_json(member(list[i], place, "default"), place / "default", Range::positive,
              symbol.default_value);
    out_.symbols.push_back(std::move(symbol));
  }
  if (out_.symbols.size() > 64) (file_ / "symbols").fail("over 64 symbols", "fewer");
}

void Reader::read_modules() {
  const Json& list = list_member(json_, file_, "modules");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) item(file_ / "modules", i).fail(describe_json(list[i]), "a text");
    out_.modules.push_back(list[i].get<std::string>());
  }
}

void Reader::read_storages() {
  const Json& list = list_member(json_, file_, "storages");
  for (std::size_t i = 0; i < list.size(); ++i) {
    out_.storages.push_back(
        static_cast<StorageKind>(read_choice(list[i], item(file_ / "storages", i), storage_kinds)));
  }
}

std::optional<Expression> Reader::formula(const Json& json, const Place& place) const {
  if (json.is_number_integer()) {
    return Expression(json.get<std::int64_t>());
  }
  if (!json.is_string()) return {};
  std::string unknown;
  auto out = Expression::parse(json.get_ref<const std::string&>(), out_.symbols, unknown);
  if (!out && unknown.empty()) return {};
  if (!out) place.fail("unknown symbol \"" + unknown + "\"", known_symbols());
  return out;
}

std::string Reader::known_symbols() const {
  std::vector<std::string> names;
  for (const Symbol& s : out_.symbols) names.push_back(s.name);
  return "one of: " + join(names);
}

void Reader::read_sizes(const Json& json, const Place& place, std::vector<Expression>& out) const {
  out.reserve(json.size());
  for (std::size_t d = 0; d < json.size(); ++d) {
    const Json& size = json[d];
    if (size.is_number_unsigned() && size.get<std::int64_t>() >= 0) {
      out.emplace_back(size.get<std::int64_t>());
      continue;
    }
    auto symbols = size.is_string() ? formula(size, item(place, d)) : std::nullopt;
    if (!symbols) {
      item(place, d).fail(describe_json(size), "a size: numbers and symbols joined by * and +");
    }
    out.push_back(*std::move(symbols));
  }
}

void Reader::read_tensors() {
  const Json& list = list_member(json_, file_, "tensors");
  out_.tensors.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) read_tensor(list[i], item(file_ / "tensors", i));
}

void Reader::read_tensor(const Json& json, const Place& place) {
  if (!json.is_array() || json.size() != 4 || !json[1].is_array()) {
    place.fail(describe_json(json), "[type, sizes, strides or null, storage]");
  }
  NetworkTensor& tensor = out_.tensors.emplace_back();
  if (json[0].is_string()) tensor.type = type_of(json[0].get_ref<const std::string&>());
  if (tensor.type == DataType::unknown) {
    item(place, 0).fail(describe_json(json[0]), "a type, e.g. \"fp32\" or \"int64\"");
  }
  read_sizes(json[1], item(place, 1), tensor.dims);
  if (!json[2].is_null()) {
    if (!json[2].is_array() || json[2].size() != json[1].size()) {
      item(place, 2).fail(describe_json(json[2]), "null or a stride for every size");
    }
    read_sizes(json[2], item(place, 2), tensor.strides);
  }
  tensor.storage = index_of(json[3], item(place, 3), out_.storages.size(), "storages");
}

DataType Reader::type_of(std::string_view name) {
  for (const DataType type : stored_types) {
    if (to_string(type) == name) return type;
  }
  return name == "uint8" ? DataType::int8 : DataType::unknown;  // only the width matters
}

void Reader::read_calls() {
  if (!json_.contains("calls")) return;
  const Json& list = list_member(json_, file_, "calls");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place place = item(file_ / "calls", i);
    check_keys(list[i], place, call_keys);
    NetworkOp& call = out_.calls.emplace_back();
    read_json(member(list[i], place, "op"), place / "op", Range::positive, call.name);
    if (list[i].contains("call")) {
      call.call = index_of(list[i]["call"], place / "call", i, "calls before it");
    }
    if (calls_around(out_, call).size() == most_nested) {
      (place / "call")
          .fail("over " + std::to_string(most_nested) + " calls within each other", "fewer");
    }
    call.compiled_mask = compiled_mask(list[i], place);
    read_arguments(list[i], place, call);
  }
  called_.assign(out_.calls.size(), false);
}

void Reader::read_arguments(const Json& json, const Place& place, NetworkOp& op) const {
  const Json& args = list_member(json, place, "args");
  for (std::size_t a = 0; a < args.size(); ++a) {
    op.arguments.push_back(argument(args[a], item(place / "args", a)));
  }
}

void Reader::read_ops() {
  const Json& list = list_member(json_, file_, "ops");
  if (list.empty()) (file_ / "ops").fail("no operation", "at least one");
  std::vector<bool> made(out_.storages.size(), false);
  for (std::size_t s = 0; s < made.size(); ++s) {
    made[s] =
        out_.storages[s] != StorageKind::activation && out_.storages[s] != StorageKind::gradient;
  }
  out_.ops.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place place = item(file_ / "ops", i);
    read_op(list[i], place);
    check_call(out_.ops.back(), place, made);
    check_order(out_.ops.back(), place, made);
    for (const std::uint32_t t : out_.ops.back().outputs) made[out_.tensors[t].storage] = true;
  }
}

/// [tensor, operation after which it is gone], in the order of the latter.
void Reader::read_held() {
  if (!json_.contains("held")) return;
  const Json& list = list_member(json_, file_, "held");
  std::vector<HeldMemory>& held = out_.held.emplace();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place place = item(file_ / "held", i);
    if (!list[i].is_array() || list[i].size() != 2) {
      place.fail(describe_json(list[i]), "[tensor, operation]");
    }
    const std::uint32_t tensor =
        index_of(list[i][0], item(place, 0), out_.tensors.size(), "tensors");
    const std::uint32_t until = index_of(list[i][1], item(place, 1), out_.ops.size(), "operations");
    if (!held.empty() && until < held.back().until) {
      item(place, 1).fail(std::to_string(until),
                          "at least " + std::to_string(held.back().until) + " as before it");
    }
    held.push_back({tensor, until});
  }
}

void Reader::read_op(const Json& json, const Place& place) {
  check_keys(json, place, op_keys);
  NetworkOp& op = out_.ops.emplace_back();
  read_json(member(json, place, "op"), place / "op", Range::positive, op.name);
  op.phase =
      static_cast<Phase>(read_choice(member(json, place, "phase"), place / "phase", phase_names));
  if (json.contains("module") && !json["module"].is_null()) {
    op.module = index_of(json["module"], place / "module", out_.modules.size(), "modules");
  }
  op.node = text_or(json, place, "node");
  if (json.contains("seq") && !json["seq"].is_null()) {
    if (!json["seq"].is_number_integer()) {
      (place / "seq").fail(describe_json(json["seq"]), "a whole number or null");
    }
    op.sequence = json["seq"].get<std::int64_t>();
  }
  if (json.contains("call") && !json["call"].is_null()) {
    op.call = index_of(json["call"], place / "call", out_.calls.size(), "calls");
  }
  op.compiled_mask = compiled_mask(json, place);
  read_arguments(json, place, op);
  const Json& out = list_member(json, place, "out");
  for (std::size_t o = 0; o < out.size(); ++o) {
    if (out[o].is_null()) continue;
    op.outputs.push_back(index_of(out[o], item(place / "out", o), out_.tensors.size(), "tensors"));
  }
}

std::uint32_t Reader::tensor_of(const Json& json, const Place& place) const {
  check_keys(json, place, "t");
  return index_of(member(json, place, "t"), place / "t", out_.tensors.size(), "tensors");
}

NetworkArgument Reader::argument(const Json& json, const Place& place) const {
  using Form = NetworkArgument::Form;
  NetworkArgument out;
  if (json.is_null()) return out;
  if (json.is_object()) {
    read_tensors_of(json, place, out);
  } else if (json.is_array()) {
    read_list(json, place, out);
  } else if (auto number = known_formula(json, place)) {
    out.form = Form::number;
    out.numbers.push_back(*std::move(number));
  } else {
    out.form = Form::value;
    out.value = plain(json, place);
  }
  return out;
}

void Reader::read_tensors_of(const Json& json, const Place& place, NetworkArgument& out) const {
  using Form = NetworkArgument::Form;
  if (!json.contains("tl")) {
    out.form = Form::tensor;
    out.tensors.push_back(tensor_of(json, place));
    return;
  }
  check_keys(json, place, "tl");
  out.form = Form::tensors;
  const Json& list = list_member(json, place, "tl");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_null()) continue;
    out.tensors.push_back(index_of(list[i], item(place / "tl", i), out_.tensors.size(), "tensors"));
  }
}

std::optional<Expression> Reader::known_formula(const Json& json, const Place& place) const {
  if (!json.is_string()) return formula(json, place);
  std::string unknown;
  return Expression::parse(json.get_ref<const std::string&>(), out_.symbols, unknown);
}

void Reader::read_list(const Json& json, const Place& place, NetworkArgument& out) const {
  using Form = NetworkArgument::Form;
  const auto has_tensor = [](const Json& entry) { return entry.is_object(); };
  const bool tensors = std::any_of(json.begin(), json.end(), has_tensor);
  out.form = tensors ? Form::tensors : Form::numbers;
  std::vector<double> fractions;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i].is_null()) continue;  // nothing, or a tensor of the host, which is not recorded
    const Place at = item(place, i);
    if (tensors) {
      out.tensors.push_back(tensor_of(json[i], at));
    } else if (auto number = formula(json[i], at)) {
      out.numbers.push_back(*std::move(number));
    } else if (json[i].is_number()) {
      fractions.push_back(json[i].get<double>());
    } else if (json[i].is_boolean()) {
      out.numbers.emplace_back(json[i].get<bool>() ? 1 : 0);
    } else {
      at.fail(describe_json(json[i]), "tensors or numbers");
    }
  }
  if (fractions.empty()) return;
  out.form = Form::value;
  out.value = std::move(fractions);
}

Argument Reader::plain(const Json& json, const Place& place) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  place.fail(describe_json(json), "a tensor, a number, a text, a list or null");
}

void Reader::check_order(const NetworkOp& op, const Place& place,
                         const std::vector<bool>& made) const {
  const auto is_made = [&](std::uint32_t t) { return made[out_.tensors[t].storage]; };
  for (std::size_t a = 0; a < op.arguments.size(); ++a) {
    for (const std::uint32_t t : op.arguments[a].tensors) {
      // An operation may be handed the memory that it is to fill.
      const bool writes = std::any_of(op.outputs.begin(), op.outputs.end(), [&](std::uint32_t o) {
        return out_.tensors[o].storage == out_.tensors[t].storage;
      });
      if (is_made(t) || writes) continue;
      item(place / "args", a)
          .fail("tensor " + std::to_string(t) + " before it is made",
                "a tensor that an earlier operation makes");
    }
  }
}

void Reader::check_call(const NetworkOp& op, const Place& place, const std::vector<bool>& made) {
  std::vector<std::uint32_t> around = calls_around(out_, op);
  const auto same = std::mismatch(around.begin(), around.end(), open_.begin(), open_.end()).first;
  for (auto call = same; call != around.end(); ++call) {
    if (called_[*call]) {
      (place / "call")
          .fail("call " + std::to_string(*call) + " again behind other operations",
                "operations of a call side by side");
    }
    called_[*call] = true;
    check_order(out_.calls[*call], item(file_ / "calls", *call), made);
  }
  open_ = std::move(around);
}

}  // namespace

std::string_view to_string(Task task) { return tasks[static_cast<std::size_t>(task)]; }

std::vector<std::uint32_t> calls_around(const Network& network, const NetworkOp& op) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t c = op.call; c != no_call; c = network.calls[c].call) out.push_back(c);
  std::reverse(out.begin(), out.end());
  return out;
}

Network load_network(const std::string& path) {
  const Json json = read_json_file(path);
  require_object(json, {path, ""});
  return Reader(json, {path, ""}).read();
}

Network in_form(Network network, DataType type) {
  for (NetworkForm& form : network.forms) {
    if (form.type == type) return std::move(form.network);
  }
  return network;
}

bool allows_tf32(const Network& network) {
  // input, weight, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32
  constexpr std::size_t last = 8;
  return std::none_of(network.ops.begin(), network.ops.end(), [](const NetworkOp& op) {
    if (op.name != "aten::cudnn_convolution" || op.arguments.size() <= last) return false;
    const bool* allowed = std::get_if<bool>(&op.arguments[last].value);
    return allowed != nullptr && !*allowed;
  });
}

}  // namespace tandem
