// Network files that cannot be used.
#include <gtest/gtest.h>

#include <cmath>

#include "models/arch/gpu_config.h"
#include "sim/core/error.h"
#include "sim/predict/configs.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/workloads/network_for_tests.h"
#include "workloads/lower/lower.h"

namespace tandem {
namespace {

using test::small_network;

std::string network_error(const std::string& text) {
  try {
    test::network_of(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

std::string replaced(const std::string& what, const std::string& with) {
  std::string text = small_network();
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

void expect_network_error(const std::string& text, const std::string& part) {
  const std::string error = network_error(text);
  EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_NE(error.find("expected"), std::string::npos) << error;
}

TEST(NetworkBadInput, TheGoodOneIsGood) { EXPECT_EQ(network_error(small_network()), ""); }

TEST(NetworkBadInput, FileAsAWhole) {
  expect_network_error("[]", "an object");
  expect_network_error("{", "");
  expect_network_error(replaced("tandem.network/1", "tandem.network/9"), "tandem.network/1");
  expect_network_error(replaced("\"name\": \"small\"", "\"nam\": \"small\""),
                       "unknown key \"nam\"");
  expect_network_error(replaced("\"task\": \"infer\"", "\"task\": \"sleep\""), "task");
  expect_network_error(replaced("\"framework\": \"pytorch\"", "\"framework\": \"caffe\""),
                       "tensorflow");
  expect_network_error(replaced("\"precision\": \"fp32\"", "\"precision\": \"fp8\""), "amp");
  expect_network_error(replaced("\"modules\": [\"\"],", ""), "no key \"modules\"");
}

TEST(NetworkBadInput, Tensors) {
  expect_network_error(replaced("[\"fp32\", [32, 64]", "[\"fp33\", [32, 64]"), "tensors[1][0]");
  expect_network_error(replaced("[\"batch\", 64], null, 0]", "[\"length\", 64], null, 0]"),
                       "unknown symbol \"length\", expected one of: batch");
  expect_network_error(replaced("[\"batch\", 64], null, 0]", "[\"2*\", 64], null, 0]"),
                       "tensors[0][1][0]");
  expect_network_error(replaced("[\"batch\", 64], null, 0]", "[-2, 64], null, 0]"),
                       "tensors[0][1][0]");
  expect_network_error(replaced("null, 2]", "null, 9]"), "tensors[2][3]");
  expect_network_error(replaced("[1, 64], 1]", "[1], 1]"), "a stride for every size");
  expect_network_error(replaced("\"input\", \"parameter\"", "\"output\", \"parameter\""),
                       "storages[0]");
}

// The small network, whose two operations are part of `calls`.
std::string with_calls(const std::string& calls, const std::string& first,
                       const std::string& second) {
  std::string text = replaced("\"ops\": [", "\"calls\": " + calls + ", \"ops\": [");
  const std::string key = "\"phase\": \"forward\"";
  const std::size_t at = text.find(key), then = text.find(key, at + 1);
  return text.insert(then, second).insert(at, first);
}

TEST(NetworkBadInput, HeldMemory) {
  const auto held = [](const std::string& list) {
    return replaced("\"modules\"", "\"held\": " + list + ", \"modules\"");
  };
  EXPECT_EQ(network_error(held("[[4, 1], [5, 1]]")), "");
  expect_network_error(held("{}"), "held: found object");
  expect_network_error(held("[4]"), "[tensor, operation]");
  expect_network_error(held("[[4, 1, 1]]"), "[tensor, operation]");
  expect_network_error(held("[[6, 1]]"), "held[0][0]");
  expect_network_error(held("[[4, 2]]"), "held[0][1]");
  expect_network_error(held("[[4, 1], [5, 0]]"), "at least 1");
}

TEST(NetworkBadInput, CallsAroundOperations) {
  const std::string good = R"([{"op": "aten::linear", "args": [{"t": 0}, {"t": 1}, {"t": 2}]}])";
  const std::string call = "\"call\": 0, ";
  EXPECT_EQ(network_error(with_calls(good, call, call)), "");
  expect_network_error(with_calls(good, "\"call\": 1, ", ""), "ops[0].call");
  expect_network_error(with_calls(R"([{"op": "aten::linear", "arg": []}])", call, call),
                       "unknown key \"arg\"");
  expect_network_error(with_calls(R"([{"op": "aten::linear", "args": [{"t": 9}]}])", call, ""),
                       "calls[0].args[0].t");
  // reads what the second operation makes
  expect_network_error(with_calls(R"([{"op": "aten::linear", "args": [{"t": 5}]}])", call, call),
                       "calls[0].args[0]: found tensor 5 before it is made");
}

// The small network with forms for models of 16 bits.
std::string with_forms(const std::string& type, const std::string& ops, int times = 1) {
  std::string text = small_network();
  const std::size_t from = text.find("\"modules\""), to = text.find("\"ops\"");
  const std::string form =
      R"({"type": ")" + type + "\", " + text.substr(from, to - from) + ops + "}";
  std::string forms = form;
  for (int more = 1; more < times; ++more) forms += ", " + form;
  return text.insert(text.rfind('}'), ", \"forms\": [" + forms + "]");
}

TEST(NetworkBadInput, FormsForTypes) {
  const std::string ops =
      R"("ops": [{"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 0}], "out": [5]}])";
  EXPECT_EQ(network_error(with_forms("fp16", ops)), "");
  expect_network_error(with_forms("fp8", ops), "forms[0].type");
  expect_network_error(with_forms("bf16", ops, 2), "forms[1].type: found a second form");
  expect_network_error(with_forms("fp16", R"("ops": [])"), "forms[0].ops: found no operation");
  expect_network_error(with_forms("fp16", R"("symbols": [], )" + ops), "unknown key \"symbols\"");
  expect_network_error(
      replaced("\"phase\": \"forward\"", "\"masked\": \"half\", \"phase\": \"forward\""),
      "ops[0].masked");
}

TEST(NetworkBadInput, CallsStandTogether) {
  const std::string ops = R"([
    {"op": "aten::relu", "phase": "forward", "module": 0, "call": 0, "args": [{"t": 0}], "out": [4]},
    {"op": "aten::relu", "phase": "forward", "module": 0, "args": [{"t": 4}], "out": [5]},
    {"op": "aten::relu", "phase": "forward", "module": 0, "call": 0, "args": [{"t": 5}], "out": [5]}])";
  std::string text = small_network(ops);
  const std::string key = "\"ops\": [";
  text.insert(text.find(key), R"("calls": [{"op": "aten::linear", "args": []}], )");
  expect_network_error(text, "ops[2].call: found call 0 again behind other operations");
}

TEST(NetworkBadInput, CallsWithinCalls) {
  const auto outer_of = [](const std::string& call) {
    std::string text = small_network(R"([
    {"op": "aten::relu", "phase": "forward", "module": 0, "call": 1, "args": [{"t": 0}], "out": [4]},
    {"op": "aten::relu", "phase": "forward", "module": 0, "call": 0, "args": [{"t": 4}], "out": [5]}])");
    text.insert(text.find("\"ops\": ["), R"("calls": [{"op": "aten::linear", "args": []}, )"
                                         R"({"op": "aten::linear", "call": )" +
                                             call + R"(, "args": []}], )");
    return text;
  };
  EXPECT_EQ(network_error(outer_of("0")), "");
  expect_network_error(outer_of("1"), "calls[1].call");
  expect_network_error(outer_of("null"), "calls[1].call");
  std::string deep = small_network(R"([
    {"op": "aten::relu", "phase": "forward", "module": 0, "call": 9, "args": [{"t": 0}], "out": [4]}])");
  std::string calls = R"({"op": "aten::linear", "args": []})";
  for (int outer = 0; outer < 9; ++outer) {
    calls += R"(, {"op": "aten::linear", "call": )" + std::to_string(outer) + R"(, "args": []})";
  }
  deep.insert(deep.find("\"ops\": ["), "\"calls\": [" + calls + "], ");
  expect_network_error(deep, "calls[8].call: found over 8 calls within each other");
}

TEST(NetworkBadInput, Operations) {
  expect_network_error(small_network("[]"), "no operation");
  expect_network_error(replaced("\"phase\": \"forward\"", "\"phase\": \"sideways\""),
                       "ops[0].phase");
  expect_network_error(replaced("{\"t\": 3}", "{\"t\": 77}"), "ops[0].args[2].t");
  expect_network_error(replaced("{\"t\": 3}", "{\"u\": 3}"), "unknown key \"u\"");
  expect_network_error(replaced("\"out\": [5]", "\"out\": [-1]"), "ops[1].out[0]");
  // reads what the second operation makes
  expect_network_error(replaced("[{\"t\": 2}, {\"t\": 0}", "[{\"t\": 2}, {\"t\": 5}"),
                       "before it is made");
}

TEST(NetworkBadInput, Sizes) {
  const Network network = test::network_of(small_network());
  const auto bind = [&](const char* name, std::int64_t value) -> std::string {
    const SymbolValue symbol{name, value};
    try {
      bind_network(network, {&symbol, 1});
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(bind("batch", 1), "");
  EXPECT_NE(bind("batch", 0).find("a positive number"), std::string::npos);
  EXPECT_NE(bind("seq", 8).find("without \"seq\""), std::string::npos);
  EXPECT_NE(bind("batch", std::int64_t{1} << 60).find("tensors[0]"), std::string::npos);
}

// Operands that an operation cannot have: a kernel that moves their bytes, and a loss.
TEST(NetworkBadInput, OperandsOfTensorflowThatFitNoRule) {
  const Configs configs = load_configs(source_path("configs"), "default");
  const LoweringRules rules = load_lowering_rules(source_path("configs/kernels/lowering.json"));
  int operations = 0;
  for (const char* op : {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul",
                         "BatchMatMulV2", "FusedBatchNormV3", "FusedBatchNormGradV3"}) {
    std::string text =
        small_network(R"([{"op": ")" + std::string(op) +
                      R"(", "phase": "forward", "args": [{"t": 3}, [1, 2, 3, 4], "SAME", true],
                        "out": [4]}])");
    const std::string from = "\"pytorch\"";
    text.replace(text.find(from), from.size(), "\"tensorflow\"");
    const Network network = test::network_of(text);
    const BoundNetwork bound = bind_network(network, {});
    Lowering lowering({find_gpu(configs.gpus, "a100_sxm4_80gb"), configs.time, configs.libraries,
                       rules, configs.batch.sums});
    LossList losses;
    EXPECT_EQ(lowering.kernels(network.ops[0], bound.ops[0], losses).size(), 1U) << op;
    EXPECT_EQ(losses.count("op_without_kernel_rule"), 1) << op;
    ++operations;
  }
  EXPECT_EQ(operations, 7);
}

/// Kernels of the one operation of a network, and its losses.
std::vector<LoweredKernel> lowered(const std::string& op, const std::string& arguments,
                                   LossList& losses) {
  static const Configs configs = load_configs(source_path("configs"), "default");
  static const LoweringRules rules =
      load_lowering_rules(source_path("configs/kernels/lowering.json"));
  const Network network =
      test::network_of(small_network(R"([{"op": ")" + op + R"(", "phase": "forward", "args": [)" +
                                     arguments + R"(], "out": [4]}])"));
  const BoundNetwork bound = bind_network(network, {});
  Lowering lowering({find_gpu(configs.gpus, "a100_sxm4_80gb"), configs.time, configs.libraries,
                     rules, configs.batch.sums});
  return lowering.kernels(network.ops[0], bound.ops[0], losses);
}

TEST(NetworkBadInput, DimensionsThatATensorDoesNotHave) {
  int cases = 0;
  // [64, 32] has the dimensions -2 to 1.
  for (const char* dim : {"-2", "-1", "0", "1"}) {
    LossList losses;
    EXPECT_EQ(lowered("aten::_softmax", "{\"t\": 3}, " + std::string(dim), losses).size(), 1U);
    EXPECT_EQ(losses.count("op_without_kernel_rule"), 0) << dim;
    ++cases;
  }
  for (const char* dim : {"2", "-3", "9007199254740992", "-9007199254740992", "9223372036854775807",
                          "-9223372036854775808"}) {
    LossList losses;
    EXPECT_EQ(lowered("aten::_softmax", "{\"t\": 3}, " + std::string(dim), losses).size(), 1U);
    EXPECT_EQ(losses.count("op_without_kernel_rule"), 1) << dim;
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

TEST(NetworkBadInput, RowsLongerThanNumbers) {
  // 2^40 x 2^40 numbers a row: as many as 64 bits hold, and no undefined product.
  LossList losses;
  const auto kernels =
      lowered("aten::native_layer_norm", "{\"t\": 3}, [1099511627776, 1099511627776, -4]", losses);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_TRUE(std::isfinite(kernels[0].duration_us) && kernels[0].duration_us > 0);
}

}  // namespace
}  // namespace tandem
