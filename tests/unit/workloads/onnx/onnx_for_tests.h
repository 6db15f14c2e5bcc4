// ONNX models made in a test, and files of them.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "workloads/onnx/onnx.h"

namespace tandem::test {

/// A size of an input: a number or a name.
struct OnnxSize {
  OnnxSize(std::int64_t n) : number(n) {}                // NOLINT(google-explicit-constructor)
  OnnxSize(const char* text) : number(0), name(text) {}  // NOLINT(google-explicit-constructor)
  std::int64_t number;
  std::string name;
};

using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

/// A model that grows by what its functions add.
struct OnnxModel {
  ::onnx::ModelProto proto;

  explicit OnnxModel(std::int64_t opset = 17) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("made");
  }
  ::onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  OnnxModel& input(const std::string& name, const std::vector<OnnxSize>& dims,
                   int type = ::onnx::TensorProto::FLOAT) {
    auto* made = graph().add_input();
    made->set_name(name);
    auto* tensor = made->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const OnnxSize& size : dims) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (size.name.empty())
        dim->set_dim_value(size.number);
      else
        dim->set_dim_param(size.name);
    }
    return *this;
  }
  /// A weight beside the file, which is not there.
  OnnxModel& weight(const std::string& name, const Numbers& dims) {
    auto* made = graph().add_initializer();
    made->set_name(name);
    made->set_data_type(::onnx::TensorProto::FLOAT);
    made->set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const std::int64_t d : dims) made->add_dims(d);
    return *this;
  }
  OnnxModel& numbers(const std::string& name, const Numbers& values, bool scalar = false) {
    auto* made = graph().add_initializer();
    made->set_name(name);
    made->set_data_type(::onnx::TensorProto::INT64);
    if (!scalar) made->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t v : values) made->add_int64_data(v);
    return *this;
  }
  OnnxModel& fraction(const std::string& name, float value) {
    auto* made = graph().add_initializer();
    made->set_name(name);
    made->set_data_type(::onnx::TensorProto::FLOAT);
    made->add_float_data(value);
    return *this;
  }
  OnnxModel& node(const std::string& type, const Names& inputs, const Names& outputs,
                  const std::map<std::string, Numbers>& attributes = {}) {
    auto* made = graph().add_node();
    made->set_op_type(type);
    made->set_name("the " + type);
    for (const std::string& name : inputs) made->add_input(name);
    for (const std::string& name : outputs) made->add_output(name);
    for (const auto& [name, values] : attributes) {
      auto* attribute = made->add_attribute();
      attribute->set_name(name);
      if (values.size() == 1) attribute->set_i(values[0]);
      for (const std::int64_t v : values) attribute->add_ints(v);
    }
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
};

/// Writes bytes to a file of this process.
inline std::string onnx_file(const std::string& bytes) {
  const std::string path = testing::TempDir() + "tandem_" + std::to_string(getpid()) + ".onnx";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

inline Network load(const OnnxModel& model, Task task = Task::infer,
                    const std::string& optimizer = "sgd") {
  return load_onnx(onnx_file(model.proto.SerializeAsString()), {task, optimizer});
}

/// Operations by name, in order, without their prefix.
inline Names op_names(const Network& network, Phase phase = Phase::forward) {
  Names out;
  for (const NetworkOp& op : network.ops) {
    if (op.phase == phase) out.push_back(op.name.substr(op.name.find("::") + 2));
  }
  return out;
}

/// The sizes of a result at a batch.
inline Numbers dims_at(const Network& network, std::size_t op,
                       const std::vector<SymbolValue>& values) {
  const BoundNetwork bound = bind_network(network, values);
  const TensorShape& shape = bound.ops[op].outputs[0];
  return {shape.dims.begin(), shape.dims.begin() + shape.rank};
}

}  // namespace tandem::test
