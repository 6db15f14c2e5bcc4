// ONNX files that cannot be used: an error that names place, what was found and what was expected.
#include <random>

#include "sim/core/error.h"
#include "tests/unit/workloads/onnx/onnx_for_tests.h"

namespace tandem {
namespace {

using test::OnnxModel;

std::string error_of_bytes(const std::string& bytes, Task task = Task::infer,
                           const std::string& optimizer = "sgd") {
  try {
    load_onnx(test::onnx_file(bytes), {task, optimizer});
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

void expect_error(const OnnxModel& model, const std::string& part, Task task = Task::infer) {
  const std::string error = error_of_bytes(model.proto.SerializeAsString(), task);
  EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_NE(error.find("expected"), std::string::npos) << error;
}

OnnxModel small(std::int64_t opset = 17) {
  return OnnxModel(opset)
      .input("x", {"N", 16})
      .weight("w", {16, 8})
      .node("MatMul", {"x", "w"}, {"m"})
      .node("Tanh", {"m"}, {"y"})
      .output("y");
}

TEST(OnnxBadInput, TheGoodOneIsGood) {
  EXPECT_EQ(error_of_bytes(small().proto.SerializeAsString()), "");
  EXPECT_EQ(error_of_bytes(small().proto.SerializeAsString(), Task::train), "");
  EXPECT_EQ(error_of_bytes(small(13).proto.SerializeAsString()), "");
}

TEST(OnnxBadInput, BytesThatAreNoModel) {
  EXPECT_NE(error_of_bytes("").find("expected an ONNX model"), std::string::npos);
  EXPECT_NE(error_of_bytes("{\"schema\": \"tandem.network/1\"}").find("expected an ONNX model"),
            std::string::npos);
  EXPECT_THROW(load_onnx("no_such_file.onnx", {}), InputError);
  EXPECT_THROW(load_onnx(testing::TempDir(), {}), InputError);
}

/// Every beginning of a file is refused or is, by chance, a smaller model; none crashes.
TEST(OnnxBadInput, TruncatedFiles) {
  const std::string bytes = small().proto.SerializeAsString();
  ASSERT_GT(bytes.size(), 50U);
  std::size_t refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    if (!error_of_bytes(bytes.substr(0, size), Task::train).empty()) ++refused;
  }
  EXPECT_EQ(refused, bytes.size());
}

TEST(OnnxBadInput, ChangedBytesNeverCrash) {
  const std::string bytes = small().proto.SerializeAsString();
  std::mt19937 random(7);
  std::size_t tried = 0;
  for (int i = 0; i < 2000; ++i, ++tried) {
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    error_of_bytes(changed, i % 2 == 0 ? Task::train : Task::infer);
  }
  EXPECT_EQ(tried, 2000U);
}

/// Loops inside loops, deeper than any model.
TEST(OnnxBadInput, NestedGraphs) {
  ::onnx::GraphProto inner;
  for (int depth = 0; depth < 90; ++depth) {
    ::onnx::GraphProto outer;
    auto* attribute = outer.add_node()->add_attribute();
    attribute->set_name("body");
    *attribute->mutable_g() = inner;
    inner = outer;
  }
  OnnxModel model = small();
  auto* attribute = model.graph().mutable_node(0)->add_attribute();
  attribute->set_name("body");
  *attribute->mutable_g() = inner;
  expect_error(model, "no protobuf message");
}

TEST(OnnxBadInput, Opsets) {
  expect_error(small(8), "found opset 8, expected opset 13 or later");
  OnnxModel other = small();
  other.proto.mutable_opset_import(0)->set_domain("com.example");
  expect_error(other, "opset_import");
}

TEST(OnnxBadInput, UnknownOperationsAreNamed) {
  OnnxModel model = small();
  model.node("NonMaxSuppression", {"y"}, {"z"}).output("z");
  expect_error(model, "node \"the NonMaxSuppression\" (NonMaxSuppression) of ai.onnx");
  OnnxModel foreign = small();
  foreign.graph().mutable_node(1)->set_domain("com.microsoft");
  expect_error(foreign, "(Tanh) of com.microsoft");
  OnnxModel own = small();
  own.graph().mutable_node(1)->set_domain("tandem");
  expect_error(own, "domain \"tandem\"");
  OnnxModel loop = small();
  loop.node("Loop", {"y"}, {"z"}).output("z");
  expect_error(loop, "(Loop)");
}

TEST(OnnxBadInput, Graphs) {
  expect_error(OnnxModel().input("x", {"N", 4}).output("x"), "no node");
  OnnxModel dangling = small();
  dangling.graph().mutable_node(1)->set_input(0, "nobody");
  expect_error(dangling, "input \"nobody\", which nothing makes");
  OnnxModel cycle = small();
  cycle.graph().mutable_node(0)->set_input(0, "y");
  expect_error(cycle, "without a cycle");
  OnnxModel twice = small();
  twice.graph().mutable_node(1)->set_output(0, "m");
  expect_error(twice, "a second \"m\"");
  OnnxModel open = small();
  open.graph().mutable_output(0)->set_name("z");
  expect_error(open, "\"z\", which nothing makes");
}

TEST(OnnxBadInput, Inputs) {
  OnnxModel shapeless = small();
  shapeless.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  expect_error(shapeless, "input \"x\": found no shape");
  OnnxModel negative = small();
  negative.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(1)
      ->set_dim_value(-3);
  expect_error(negative, "a size of -3");
  expect_error(OnnxModel().input("x", {"N", "T", "H"}).node("Tanh", {"x"}, {"y"}).output("y"),
               "sizes named \"T\" and \"H\"");
  expect_error(OnnxModel()
                   .input("x", {"N"}, ::onnx::TensorProto::STRING)
                   .node("Tanh", {"x"}, {"y"})
                   .output("y"),
               "element type 8");
}

TEST(OnnxBadInput, HostileSizes) {
  expect_error(
      OnnxModel().input("x", {std::int64_t{1} << 50, 4}).node("Tanh", {"x"}, {"y"}).output("y"),
      "a size of");
  OnnxModel model = OnnxModel().input("x", {1 << 20, 1 << 20}).numbers("to", {-1});
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {  // each multiplies the elements by 2^20
    const std::string next = "x" + std::to_string(i);
    model.numbers("s" + std::to_string(i), {1 << 20, 1, 1})
        .node("Expand", {last, "s" + std::to_string(i)}, {next + "e"});
    model.node("Reshape", {next + "e", "to"}, {next});
    last = next;
  }
  expect_error(model.node("Tanh", {last}, {"y"}).output("y"), "a size beyond 64 bits");
  expect_error(OnnxModel()
                   .input("x", {1, 3, 8, 8})
                   .weight("w", {4, 3, 9, 9})
                   .node("Conv", {"x", "w"}, {"y"})
                   .output("y"),
               "a window larger than the image");
}

TEST(OnnxBadInput, ShapesThatDoNotFit) {
  expect_error(OnnxModel()
                   .input("x", {"N", 5})
                   .weight("w", {16, 8})
                   .node("MatMul", {"x", "w"}, {"y"})
                   .output("y"),
               "inner sizes differ");
  expect_error(OnnxModel()
                   .input("x", {"N", 5})
                   .numbers("to", {-1, 3})
                   .node("Reshape", {"x", "to"}, {"r"})
                   .node("Tanh", {"r"}, {"y"})
                   .output("y"),
               "do not divide");
  expect_error(OnnxModel()
                   .input("x", {"N", 5})
                   .input("z", {"N", 4})
                   .node("Add", {"x", "z"}, {"y"})
                   .output("y"),
               "sizes differ in dimension 1");
  expect_error(OnnxModel()
                   .input("x", {"N", 5})
                   .input("to", {2}, ::onnx::TensorProto::INT64)
                   .node("Reshape", {"x", "to"}, {"r"})
                   .node("Tanh", {"r"}, {"y"})
                   .output("y"),
               "not known before the step");
  expect_error(OnnxModel()
                   .input("x", {"N", 3, "T", "T"})
                   .node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", {2, 2}}})
                   .output("y"),
               "depends on the batch or the sequence");
}

/// A node with too few inputs or odd attributes is refused, whatever it is.
TEST(OnnxBadInput, NodesWithoutInputs) {
  std::size_t tried = 0;
  for (const char* type : {"Gemm",
                           "MatMul",
                           "Conv",
                           "ConvTranspose",
                           "BatchNormalization",
                           "MaxPool",
                           "AveragePool",
                           "GlobalAveragePool",
                           "Relu",
                           "Clip",
                           "Add",
                           "Pow",
                           "Where",
                           "Cast",
                           "Dropout",
                           "Softmax",
                           "LayerNormalization",
                           "ReduceMean",
                           "CumSum",
                           "Identity",
                           "Constant",
                           "ConstantOfShape",
                           "Range",
                           "Shape",
                           "Size",
                           "Reshape",
                           "Flatten",
                           "Squeeze",
                           "Unsqueeze",
                           "Transpose",
                           "Expand",
                           "Concat",
                           "Split",
                           "Slice",
                           "Pad",
                           "Gather",
                           "GatherElements",
                           "GatherND",
                           "Trilu",
                           "Equal"}) {
    expect_error(OnnxModel().input("x", {"N", 4}).node(type, {}, {"y"}).output("y"), type);
    for (const char* input : {"x", "scalar"}) {  // no crash, whatever becomes of it
      for (const std::size_t count : {1, 2, 3}) {
        for (const std::int64_t odd : {-9, 0, 7}) {
          const OnnxModel model = OnnxModel()
                                      .input("x", {"N", 4})
                                      .input("scalar", {})
                                      .node(type, test::Names(count, input), {"y"},
                                            {{"axis", {odd}},
                                             {"axes", {odd, odd}},
                                             {"perm", {odd, odd}},
                                             {"kernel_shape", {odd, odd}},
                                             {"to", {odd}},
                                             {"group", {odd}}});
          OnnxModel whole = model;
          whole.output("y");
          error_of_bytes(whole.proto.SerializeAsString(), Task::train);
          ++tried;
        }
      }
    }
  }
  EXPECT_EQ(tried, 40U * 2 * 3 * 3);
}

TEST(OnnxBadInput, Training) {
  const std::string bytes = small().proto.SerializeAsString();
  EXPECT_NE(error_of_bytes(bytes, Task::train, "lion").find("--optimizer"), std::string::npos);
  expect_error(OnnxModel().input("x", {"N", 4}).node("Tanh", {"x"}, {"y"}).output("y"),
               "no output that depends on weights", Task::train);
}

}  // namespace
}  // namespace tandem
