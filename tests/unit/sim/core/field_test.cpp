// The reader and writer that derive from a struct's one description.
#include "sim/core/fields/field.h"

#include <gtest/gtest.h>

#include <fstream>

namespace tandem {
namespace {

enum class Colour : std::uint8_t { red, green };
constexpr std::string_view colours[] = {"red", "green"};

struct Box {
  int count = 0;
  double width_mm = 0;
  std::string label;
  std::vector<std::int64_t> sizes;
  Colour colour = Colour::red;
};

const std::vector<Field<Box>>& box_fields() {
  static const std::vector<Field<Box>> fields{
      field("count", "count", "How many", &Box::count),
      field("width_mm", "mm", "Outer width", &Box::width_mm, Range::non_negative),
      field("label", "", "Text on it", &Box::label),
      field("sizes", "mm", "Inner sizes", &Box::sizes),
      choice_field("colour", "Paint", &Box::colour, colours),
  };
  return fields;
}

const char* const good =
    R"({"count": 2, "width_mm": 0, "label": "a", "sizes": [1, 2], "colour": "green"})";

Box read(const std::string& text) {
  Box box;
  read_fields<Box>(parse_json(text, "box.json"), {"box.json", ""}, box_fields(), box);
  return box;
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// `good` with the value of `key` replaced.
std::string with(const std::string& key, const std::string& value) {
  Json json = parse_json(good, "good");
  json[key] = parse_json(value, "value");
  return json.dump();
}

TEST(Field, ReadsAndWritesBack) {
  const Box box = read(good);
  EXPECT_EQ(box.count, 2);
  EXPECT_EQ(box.sizes, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(box.colour, Colour::green);
  EXPECT_EQ(write_fields<Box>(box, box_fields()),
            parse_json(R"({"count":2,"width_mm":0.0,"label":"a","sizes":[1,2],"colour":"green"})",
                       "expected"));
}

TEST(Field, WrongTypesAndRanges) {
  const std::string whole = ", expected a whole number > 0";
  const std::string most = ", expected a whole number of at most 2147483647";
  EXPECT_EQ(error_of(with("count", "\"2\"")), "box.json:count: found text \"2\"" + whole);
  EXPECT_EQ(error_of(with("count", "2.5")), "box.json:count: found number 2.5" + whole);
  EXPECT_EQ(error_of(with("count", "2e1")),
            "box.json:count: found number 20.0" + whole + ", without point and exponent");
  EXPECT_EQ(error_of(with("count", "0")), "box.json:count: found number 0" + whole);
  EXPECT_EQ(error_of(with("count", "3000000000")),
            "box.json:count: found number 3000000000" + most);
  EXPECT_EQ(error_of(with("count", "18446744073709551615")),
            "box.json:count: found number 18446744073709551615" + most);
  EXPECT_EQ(error_of(with("count", "null")), "box.json:count: found null" + whole);
  EXPECT_EQ(error_of(with("width_mm", "-1")),
            "box.json:width_mm: found number -1, expected a number >= 0");
  EXPECT_EQ(error_of(with("width_mm", "true")),
            "box.json:width_mm: found boolean true, expected a number >= 0");
  EXPECT_EQ(error_of(with("label", "\"\"")), "box.json:label: found text \"\", expected a text");
  EXPECT_EQ(error_of(with("sizes", "[]")),
            "box.json:sizes: found array [], expected a list of numbers");
  EXPECT_EQ(error_of(with("sizes", "[1, -2]")), "box.json:sizes.1: found number -2" + whole);
  EXPECT_EQ(error_of(with("colour", "\"blue\"")),
            "box.json:colour: found text \"blue\", expected one of: red, green");
}

TEST(Field, UnknownAndMissingKeysListTheKnownOnes) {
  const std::string known = "count, width_mm, label, sizes, colour";
  EXPECT_EQ(error_of(with("colur", "1")),
            "box.json: found unknown key \"colur\", expected one of: " + known);
  EXPECT_EQ(error_of("{}"), "box.json: found no key \"count\", expected all of: " + known);
  EXPECT_EQ(error_of("[1]"), "box.json: found array [1], expected an object {...}");
}

TEST(ParseJson, RejectsWhatIsNotJson) {
  EXPECT_EQ(error_of(R"({"count": 1, "count": 2})"),
            "box.json:count: found the key twice, expected it once");
  EXPECT_NE(error_of("{\"count\": ").find("expected JSON"), std::string::npos);
  EXPECT_NE(error_of("").find("expected JSON"), std::string::npos);
  EXPECT_NE(error_of(R"({"width_mm": 1e999})").find("expected JSON"), std::string::npos);
}

TEST(ParseJson, IsTheDocumentWhicheverParserReadsIt) {
  // 2^64 is larger than a word, so simdjson leaves the second document to the other parser.
  const std::string one =
      R"({"n": [0, -0, -7, 18446744073709551615, 1.0, -2.5e-3], "t": "\u00e9\n", "b": [true, null, {}]})";
  const std::string two = R"({"big": 18446744073709551616, "one": )" + one + "}";
  for (const std::string& text : {one, two}) {
    const Json read = parse_json(text, "f");
    EXPECT_EQ(read.dump(), Json::parse(text).dump());
  }
  const Json numbers = parse_json(one, "f")["n"];
  EXPECT_TRUE(numbers[0].is_number_unsigned());
  EXPECT_TRUE(numbers[2].is_number_integer() && !numbers[2].is_number_unsigned());
  EXPECT_EQ(numbers[3].get<std::uint64_t>(), 18446744073709551615U);
  EXPECT_TRUE(numbers[4].is_number_float());
}

TEST(ParseJson, KeysOfLargeObjectsAreLookedUp) {
  std::string text = "{";
  for (int i = 0; i < 40; ++i) text += "\"k" + std::to_string(i) + "\": 1, ";
  EXPECT_EQ(parse_json(text + "\"last\": 1}", "f").size(), 41U);
  EXPECT_THROW(parse_json(text + "\"k3\": 1}", "f"), InputError);
  EXPECT_THROW(parse_json(text + "\"k39\": 1}", "f"), InputError);
}

TEST(ParseJson, NestsSoDeep) {
  const auto nested = [](int deep) {
    return std::string(static_cast<std::size_t>(deep), '[') + "1" +
           std::string(static_cast<std::size_t>(deep), ']');
  };
  EXPECT_NO_THROW(parse_json(nested(64), "f"));
  EXPECT_THROW(parse_json(nested(65), "f"), InputError);
  EXPECT_THROW(parse_json(nested(5000), "f"), InputError);  // more than simdjson takes
}

TEST(ParseJson, TheSameKeyInTwoObjectsIsFine) {
  EXPECT_EQ(parse_json(R"({"a": {"x": 1}, "b": {"x": 2}})", "f")["b"]["x"], 2);
}

TEST(ReadJsonFile, MissingFileAndFolder) {
  const auto error = [](const std::string& path) -> std::string {
    try {
      read_json_file(path);
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "no error";
  };
  const std::string missing = testing::TempDir() + "/no_such_file.json";
  EXPECT_EQ(error(missing), missing + ": found No such file or directory, expected a JSON file");
  EXPECT_EQ(error(testing::TempDir()),
            testing::TempDir() + ": found a folder, expected a JSON file");
}

TEST(Provenance, RoundTrips) {
  const Provenance fitted{ValueKind::fitted, "regression", "six runs", 0.1};
  const Json json = write_sourced(3, "mm", fitted);
  const Provenance back = read_provenance(json, {"f", "k"}, "mm");
  EXPECT_EQ(back.kind, ValueKind::fitted);
  EXPECT_EQ(back.source, "regression");
  EXPECT_EQ(back.fitted_on, "six runs");
  EXPECT_EQ(back.uncertainty, 0.1);
  EXPECT_EQ(json["value"], 3);
}

}  // namespace
}  // namespace tandem
