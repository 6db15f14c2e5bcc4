// Text of JSON to Json: simdjson reads it; what it refuses, nlohmann's parser reads once more,
// which says where it stopped and takes numbers that are larger than a word.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "sim/core/bounds/document_size.h"
#include "sim/core/bounds/limits.h"
#include "sim/core/fields/field.h"
#include "sim/core/files/input_file.h"

namespace tandem {

namespace {

/// The parser says where it stopped, which is behind what it could not read.
[[noreturn]] void fail_at(std::string_view text, std::size_t byte, const std::string& file) {
  const std::size_t at = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;
  constexpr std::size_t longest = 20;
  const std::string_view rest = text.substr(at, longest);
  const std::string_view seen = rest.substr(0, rest.find('\n'));
  throw InputError(
      file, fmt::format("line {}, column {}", line, column),
      at == text.size() ? std::string("the end of the file") : fmt::format("`{}`", seen), "JSON");
}

// Writing and comparing values recurses; nothing that is read here nests deeper than this.
constexpr int deepest = 64;

void check_depth(int depth, const std::string& file) {
  if (depth <= deepest) return;
  throw InputError(file, "", fmt::format("lists and objects more than {} deep", deepest),
                   "JSON that is nested less");
}

[[noreturn]] void fail_twice(std::string_view key, const std::string& file) {
  Place{file, std::string(key)}.fail("the key twice", "it once");
}

/// The keys of one object that were read so far, whose members do not move: few are compared, many
/// looked up.
class Keys {
 public:
  /// Whether `key` is a new one.
  bool add(const Json::object_t& object, std::string_view key) {
    constexpr std::size_t few = 32;
    if (object.size() < few) {
      return std::none_of(object.begin(), object.end(),
                          [&](const auto& member) { return member.first == key; });
    }
    if (many_.empty()) {
      for (const auto& member : object) many_.emplace(member.first);
    }
    return many_.emplace(key).second;
  }

 private:
  std::unordered_set<std::string_view> many_;
};

Json to_json(const simdjson::dom::element& value, int depth, const std::string& file);

Json object_of(const simdjson::dom::object& value, int depth, const std::string& file) {
  Json::object_t out;
  out.reserve(value.size());
  Keys keys;
  for (const auto& [key, member] : value) {
    if (!keys.add(out, key)) fail_twice(key, file);
    out.emplace_back(std::string(key), to_json(member, depth + 1, file));
  }
  return out;
}

Json list_of(const simdjson::dom::array& value, int depth, const std::string& file) {
  Json::array_t out;
  out.reserve(value.size());
  for (const simdjson::dom::element element : value) {
    out.push_back(to_json(element, depth + 1, file));
  }
  return out;
}

/// `depth`: lists and objects around it.
Json to_json(const simdjson::dom::element& value, int depth, const std::string& file) {
  using simdjson::dom::element_type;
  check_depth(depth, file);
  switch (value.type()) {
    case element_type::OBJECT: return object_of(value.get_object().value_unsafe(), depth, file);
    case element_type::ARRAY: return list_of(value.get_array().value_unsafe(), depth, file);
    case element_type::STRING: return std::string(value.get_string().value_unsafe());
    case element_type::DOUBLE: return value.get_double().value_unsafe();
    case element_type::UINT64: return value.get_uint64().value_unsafe();
    case element_type::INT64: {
      const std::int64_t number = value.get_int64().value_unsafe();
      return number < 0 ? Json(number) : Json(static_cast<std::uint64_t>(number));
    }
    case element_type::BOOL: return value.get_bool().value_unsafe();
    case element_type::NULL_VALUE: break;
  }
  return nullptr;
}

Json parse_slowly(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open;  // keys seen so far in each open object
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    check_depth(depth, file);
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second) fail_twice(key, file);
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    fail_at(text, error.byte, file);
  } catch (const Json::exception&) {
    throw InputError(file, "", "a number too large for a computer", "JSON");
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  const auto error = parser.parse(text.data(), text.size()).get(document);
  return error == simdjson::SUCCESS ? to_json(document, 0, file) : parse_slowly(text, file);
}

Json read_json_file(const std::string& path) {
  const std::string expected = "a JSON file";
  InputFile file(path, expected);
  return parse_json(read_whole(file, limits::document_bytes, expected), file.name());
}

}  // namespace tandem
