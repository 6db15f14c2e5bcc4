#include "workloads/onnx/graph.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include <cstring>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>

#include "sim/core/error.h"
#include "sim/core/files/input_file.h"

namespace tandem::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr std::int64_t first_opset = 13;
constexpr std::int64_t most_kept = 64;  // numbers of a tensor: shapes and axes have fewer
constexpr int most_dims = 16;
constexpr std::int64_t most_size = std::int64_t{1} << 40;
/// Protobuf's own limit.
constexpr std::int64_t most_bytes = 2'147'483'647;

namespace io = google::protobuf::io;
using Wire = google::protobuf::internal::WireFormatLite;

/// Messages that weights stand in, and those around them; `other` is copied as it is.
enum class Message : std::uint8_t { model, graph, node, attribute, tensor, other };

Message inside(Message message, int field) {
  switch (message) {
    case Message::model:
      return field == ModelProto::kGraphFieldNumber ? Message::graph : Message::other;
    case Message::graph:
      if (field == GraphProto::kNodeFieldNumber) return Message::node;
      return field == GraphProto::kInitializerFieldNumber ? Message::tensor : Message::other;
    case Message::node:
      return field == NodeProto::kAttributeFieldNumber ? Message::attribute : Message::other;
    case Message::attribute:
      if (field == AttributeProto::kGFieldNumber) return Message::graph;
      return field == AttributeProto::kTFieldNumber ? Message::tensor : Message::other;
    default: return Message::other;
  }
}

constexpr int most_depth = 64;
constexpr int most_tensor_bytes = 1024;  // of one field of a tensor: enough for most_kept numbers

/// Copies a message without what is long in its tensors, so that weights are passed over in the
/// file. False for what is no message.
bool copy_without_weights(io::CodedInputStream& in, Message message, int depth, std::string& out) {
  if (depth > most_depth) return false;
  io::StringOutputStream stream(&out);
  io::CodedOutputStream to(&stream);
  while (const std::uint32_t tag = in.ReadTag()) {
    if (Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
      if (!Wire::SkipField(&in, tag, &to)) return false;
      continue;
    }
    int size = 0;
    if (!in.ReadVarintSizeAsInt(&size)) return false;
    if (message == Message::tensor && size > most_tensor_bytes) {
      if (!in.Skip(size)) return false;
      continue;
    }
    std::string content;
    const Message next = inside(message, Wire::GetTagFieldNumber(tag));
    if (next == Message::other) {
      if (!in.ReadString(&content, size)) return false;
    } else {
      const auto limit = in.PushLimit(size);
      if (!copy_without_weights(in, next, depth + 1, content) || in.BytesUntilLimit() != 0)
        return false;
      in.PopLimit(limit);
    }
    to.WriteTag(tag);
    to.WriteVarint32(static_cast<std::uint32_t>(content.size()));
    to.WriteString(content);
  }
  return in.ConsumedEntireMessage();
}

/// What protobuf reads from.
class Bytes : public io::CopyingInputStream {
 public:
  explicit Bytes(InputFile& file) : file_(file) {}
  int Read(void* buffer, int size) override {
    return static_cast<int>(
        file_.read({static_cast<char*>(buffer), static_cast<std::size_t>(size)}));
  }

 private:
  InputFile& file_;
};

/// Nothing for a file that is no message.
std::optional<ModelProto> parse_file(InputFile& file) {
  Bytes bytes_of_file(file);
  io::CopyingInputStreamAdaptor stream(&bytes_of_file);
  io::CodedInputStream in(&stream);
  std::string bytes;
  ModelProto model;
  if (!copy_without_weights(in, Message::model, 0, bytes) || !model.ParseFromString(bytes))
    return {};
  return model;
}

/// Translates the messages of one file.
class Reader {
 public:
  explicit Reader(const std::string& path) { graph_.path = path; }
  Graph read();

 private:
  [[noreturn]] void fail(std::string_view place, std::string_view found,
                         std::string_view expected) const {
    throw InputError(graph_.path, place, found, expected);
  }
  ModelProto parse() const;
  void check_opsets(const ModelProto& model);
  StoredTensor stored(const TensorProto& proto, const std::string& place) const;
  void keep_numbers(const TensorProto& proto, StoredTensor& out) const;
  void read_input(const ::onnx::ValueInfoProto& proto);
  Node node(const NodeProto& proto) const;
  NodeAttribute attribute(const AttributeProto& proto, const std::string& place) const;
  void check_names() const;
  Graph graph_;
};

ModelProto Reader::parse() const {
  InputFile file(graph_.path, "an ONNX file");
  if (file.size() > most_bytes) {
    fail("", std::to_string(file.size()) + " bytes",
         "below 2 GB: weights beside the file (external data)");
  }
  std::optional<ModelProto> model = parse_file(file);
  if (!model) {
    fail("", "bytes that are no protobuf message of ONNX, or a part of one", "an ONNX model");
  }
  if (!model->has_graph() || model->opset_import_size() == 0) {
    fail("", model->has_graph() ? "no opset" : "no graph", "an ONNX model");
  }
  return *std::move(model);
}

void Reader::check_opsets(const ModelProto& model) {
  for (const auto& opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    graph_.opset = opset.version();
    if (graph_.opset >= first_opset) return;
    fail("opset_import", "opset " + std::to_string(graph_.opset),
         "opset " + std::to_string(first_opset) + " or later");
  }
  fail("opset_import", "no opset of ONNX's own operations",
       "opset " + std::to_string(first_opset) + " or later");
}

StoredTensor Reader::stored(const TensorProto& proto, const std::string& place) const {
  StoredTensor out;
  out.name = proto.name();
  out.type = element_type(proto.data_type());
  if (out.type == DataType::unknown) {
    fail(place, "element type " + std::to_string(proto.data_type()), "numbers or truth values");
  }
  if (proto.dims_size() > most_dims) {
    fail(place, std::to_string(proto.dims_size()) + " dimensions", "at most 16");
  }
  for (const std::int64_t dim : proto.dims()) {
    if (dim < 0 || dim > most_size) fail(place, "a size of " + std::to_string(dim), "a size");
    out.dims.push_back(dim);
  }
  keep_numbers(proto, out);
  return out;
}

template <class T>
std::vector<double> bytes_as(const std::string& raw) {
  std::vector<double> out(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value{};
    std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<double>(value);
  }
  return out;
}

/// Numbers that a message holds in its fields or as bytes; of half precision only bytes matter to
/// nobody, so they stay unknown.
std::vector<double> fractions_of(const TensorProto& proto) {
  const std::string& raw = proto.raw_data();
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      if (!raw.empty()) return bytes_as<float>(raw);
      return {proto.float_data().begin(), proto.float_data().end()};
    case TensorProto::DOUBLE:
      if (!raw.empty()) return bytes_as<double>(raw);
      return {proto.double_data().begin(), proto.double_data().end()};
    default: return {};
  }
}

std::vector<std::int64_t> numbers_of(const TensorProto& proto) {
  const std::string& raw = proto.raw_data();
  if (proto.data_type() == TensorProto::INT64) {
    if (raw.empty()) return {proto.int64_data().begin(), proto.int64_data().end()};
    std::vector<std::int64_t> out(raw.size() / sizeof(std::int64_t));
    std::memcpy(out.data(), raw.data(), out.size() * sizeof(std::int64_t));
    return out;
  }
  if (raw.empty()) return {proto.int32_data().begin(), proto.int32_data().end()};
  const std::vector<double> wide =
      proto.data_type() == TensorProto::INT32 ? bytes_as<std::int32_t>(raw) : bytes_as<char>(raw);
  return {wide.begin(), wide.end()};
}

void Reader::keep_numbers(const TensorProto& proto, StoredTensor& out) const {
  std::int64_t count = 1;
  for (const std::int64_t dim : out.dims) {
    count = dim == 0 ? 0 : count > most_kept ? count : count * std::min(dim, most_kept + 1);
  }
  if (count > most_kept || proto.data_location() == TensorProto::EXTERNAL) return;
  const auto whole = static_cast<std::size_t>(count);
  switch (proto.data_type()) {
    case TensorProto::INT64:
    case TensorProto::INT32:
    case TensorProto::BOOL: {
      std::vector<std::int64_t> numbers = numbers_of(proto);
      if (numbers.size() == whole) out.numbers = std::move(numbers);
      return;
    }
    default: {
      std::vector<double> fractions = fractions_of(proto);
      if (fractions.size() == whole) out.fractions = std::move(fractions);
    }
  }
}

void Reader::read_input(const ::onnx::ValueInfoProto& proto) {
  const std::string place = "input \"" + proto.name() + "\"";
  GraphInput input;
  input.name = proto.name();
  if (!proto.type().has_tensor_type()) fail(place, "no tensor", "a tensor");
  const auto& tensor = proto.type().tensor_type();
  input.type = element_type(tensor.elem_type());
  if (input.type == DataType::unknown) {
    fail(place, "element type " + std::to_string(tensor.elem_type()), "numbers or truth values");
  }
  if (!tensor.has_shape()) fail(place, "no shape", "sizes, or names of them");
  if (tensor.shape().dim_size() > most_dims) fail(place, "too many dimensions", "at most 16");
  for (const auto& dim : tensor.shape().dim()) {
    InputSize size{dim.dim_value(), dim.dim_param()};
    if (size.name.empty() && (size.number < 1 || size.number > most_size)) {
      fail(place, "a size of " + std::to_string(size.number), "a positive size, or a name of it");
    }
    input.dims.push_back(std::move(size));
  }
  graph_.inputs.push_back(std::move(input));
}

NodeAttribute Reader::attribute(const AttributeProto& proto, const std::string& place) const {
  NodeAttribute out;
  out.number = proto.i();
  out.fraction = proto.f();
  out.text = proto.s();
  out.numbers.assign(proto.ints().begin(), proto.ints().end());
  out.fractions.assign(proto.floats().begin(), proto.floats().end());
  for (const NodeProto& inner : proto.g().node()) out.nodes.push_back(node(inner));
  if (proto.has_t()) out.tensor = stored(proto.t(), place + "." + proto.name());
  return out;
}

Node Reader::node(const NodeProto& proto) const {
  Node node;
  node.name = proto.name();
  node.type = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  if (node.domain == own_domain) {
    fail(node.place(), "domain \"" + node.domain + "\"", "an operation of ONNX");
  }
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const AttributeProto& a : proto.attribute()) {
    node.attributes.emplace(a.name(), attribute(a, node.place()));
  }
  return node;
}

/// Every name is made once, and before it is read.
void Reader::check_names() const {
  std::unordered_map<std::string_view, std::size_t> maker;  // of names that nodes make
  std::unordered_set<std::string_view> made;
  const auto make = [&](const std::string& name, const std::string& place) {
    if (!made.insert(name).second) fail(place, "a second \"" + name + "\"", "every name made once");
  };
  for (const GraphInput& input : graph_.inputs) make(input.name, "inputs");
  for (const StoredTensor& tensor : graph_.stored) make(tensor.name, "initializers");
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const std::string& name : graph_.nodes[n].outputs) maker.emplace(name, n);
  }
  for (const Node& node : graph_.nodes) {
    for (const std::string& name : node.inputs) {
      if (name.empty() || made.count(name) > 0) continue;
      const auto later = maker.find(name);
      if (later == maker.end()) {
        fail(node.place(), "input \"" + name + "\", which nothing makes", "inputs that are made");
      }
      fail(node.place(),
           "input \"" + name + "\" before " + graph_.nodes[later->second].place() + " makes it",
           "nodes in the order of their data, without a cycle");
    }
    for (const std::string& name : node.outputs) {
      if (!name.empty()) make(name, node.place());
    }
  }
  for (const std::string& name : graph_.outputs) {
    if (made.count(name) == 0) {
      fail("outputs", "\"" + name + "\", which nothing makes", "names that nodes make");
    }
  }
}

Graph Reader::read() {
  const ModelProto model = parse();
  check_opsets(model);
  const GraphProto& proto = model.graph();
  graph_.name = std::filesystem::path(graph_.path).stem().string();
  std::unordered_set<std::string> stored_names;
  for (const TensorProto& tensor : proto.initializer()) {
    graph_.stored.push_back(stored(tensor, "initializer \"" + tensor.name() + "\""));
    stored_names.insert(tensor.name());
  }
  for (const auto& input : proto.input()) {
    if (stored_names.count(input.name()) == 0) read_input(input);
  }
  for (const NodeProto& node : proto.node()) graph_.nodes.push_back(this->node(node));
  for (const auto& output : proto.output()) graph_.outputs.push_back(output.name());
  if (graph_.nodes.empty()) fail("nodes", "no node", "at least one");
  if (graph_.outputs.empty()) fail("outputs", "no output", "at least one");
  check_names();
  return std::move(graph_);
}

}  // namespace

std::string Node::place() const { return "node \"" + name + "\" (" + type + ")"; }

DataType element_type(std::int64_t number) {
  switch (number) {
    case TensorProto::FLOAT: return DataType::fp32;
    case TensorProto::DOUBLE: return DataType::fp64;
    case TensorProto::FLOAT16: return DataType::fp16;
    case TensorProto::BFLOAT16: return DataType::bf16;
    case TensorProto::INT64:
    case TensorProto::UINT64: return DataType::int64;
    case TensorProto::INT32:
    case TensorProto::UINT32: return DataType::int32;
    case TensorProto::INT8:
    case TensorProto::UINT8: return DataType::int8;
    case TensorProto::BOOL: return DataType::boolean;
    default: return DataType::unknown;
  }
}

Graph read_graph(const std::string& path) { return Reader(path).read(); }

void drop_unused(Graph& graph) {
  std::unordered_set<std::string_view> wanted(graph.outputs.begin(), graph.outputs.end());
  std::vector<bool> used(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const std::string& name : node.outputs) used[n] = used[n] || wanted.count(name) > 0;
    if (used[n]) wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < used.size(); ++n) {
    if (used[n]) kept.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(kept);
}

}  // namespace tandem::onnx
