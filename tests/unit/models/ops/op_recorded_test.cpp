// Output rules against training steps that PyTorch recorded without a GPU (recorded/: ResNet-50,
// BERT and a Llama-like model at batch 8, FP32 and BF16 autocast): rows of [operation, arguments,
// results], a tensor as [type, shape, strides].
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/ops/op_outputs.h"
#include "sim/trace/source/byte_source.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

Json read(const std::string& path) {
  ByteSource source(path);
  std::string text;
  std::vector<char> piece(1 << 20);
  while (const std::size_t n = source.read(piece)) text.append(piece.data(), n);
  return Json::parse(text);
}

bool is_tensor(const Json& v) {
  return v.is_array() && v.size() == 3 && v[0].is_string() && v[1].is_array();
}

TensorShape tensor(const Json& v) {
  static const std::map<std::string, DataType> types = {{"float32", DataType::fp32},
                                                        {"bfloat16", DataType::bf16},
                                                        {"int64", DataType::int64},
                                                        {"bool", DataType::boolean},
                                                        {"uint8", DataType::int8}};
  TensorShape t;
  t.type = types.at(v[0].get<std::string>());
  for (const Json& d : v[1]) t.dims[t.rank++] = d.get<std::int64_t>();
  return t;
}

Argument value_of(const Json& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number()) return v.get<double>();
  if (!v.is_array()) return {};
  std::vector<std::int64_t> list;
  for (const Json& x : v) {
    if (!x.is_number_integer()) return v.dump();
    list.push_back(x.get<std::int64_t>());
  }
  return list;
}

struct Call {
  OpTensors operands;
  std::vector<Argument> arguments;
};
Call call_of(const Json& arguments) {
  Call call;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Json& a = arguments[i];
    const bool list = a.is_array() && !a.empty() && is_tensor(a[0]);
    for (const Json& t : list ? a : Json::array({a})) {
      if (!is_tensor(t)) continue;
      call.operands.add(i, tensor(t));
    }
    call.arguments.push_back(list || is_tensor(a) ? Argument() : value_of(a));
  }
  return call;
}

bool launches_nothing(const OpRow& row) {
  return row.kind == OpKind::view || row.kind == OpKind::scope || row.output == OutputRule::none;
}

/// Counts of one operation: of its first results, how many the rule tells and tells right.
struct Score {
  int results = 0, told = 0, right = 0;
};

Score score(const OpRow& row, const std::string& name, const Json& arguments, const Json& result) {
  const bool several = result.is_array() && !result.empty() && !is_tensor(result);
  const Json& first = several ? result[0] : result;
  if (!is_tensor(first)) return {};
  const Call call = call_of(arguments);
  const auto outputs = output_shapes(row, name, call.operands, call.arguments);
  const TensorShape expected = tensor(first);
  Score s{1, 0, 0};
  if (outputs.empty() || !outputs[0].known) return s;
  s.told = 1;
  const TensorShape& made = outputs[0].shape;
  // The recording leaves out the type that a copy or a constant was asked for.
  const bool asked = row.kind == OpKind::cast || row.kind == OpKind::fill;
  const bool type = asked || made.type == expected.type;
  s.right = made.rank == expected.rank && made.dims == expected.dims && type ? 1 : 0;
  return s;
}

TEST(RecordedSteps, OutputRulesTellWhatTheFrameworkMade) {
  std::map<std::string, Score> scores;
  int files = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(source_path("tests/unit/models/ops/recorded"))) {
    ++files;
    for (const Json& row : read(file.path().string())) {
      const auto name = row[0].get<std::string>();
      if (name.starts_with("profiler::")) continue;
      const OpRow* found = find_op(name);
      ASSERT_NE(found, nullptr) << name;
      if (launches_nothing(*found) || row.size() < 3) continue;
      const Score s = score(*found, name, row[1], row[2]);
      Score& sum = scores[name];
      sum.results += s.results, sum.told += s.told, sum.right += s.right;
    }
  }
  Score all;
  std::string wrong;
  for (const auto& [name, s] : scores) {
    all.results += s.results, all.told += s.told, all.right += s.right;
    if (s.right < s.results) {
      wrong += name + " " + std::to_string(s.right) + " of " + std::to_string(s.told) +
               " told of " + std::to_string(s.results) + "\n";
    }
  }
  EXPECT_EQ(files, 6);
  EXPECT_GT(all.results, 1500);
  EXPECT_EQ(all.right, all.told) << wrong;
  // 18 of 1,977 are made without operands: arange and scalar_tensor.
  EXPECT_EQ(all.results - all.told, 18) << wrong;
}

}  // namespace
}  // namespace tandem
