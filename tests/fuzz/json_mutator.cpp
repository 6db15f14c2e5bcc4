// Changes a JSON document where its structure is: events, arguments, numbers and names rather than
// bytes. Linked with the targets that read JSON; what is no JSON (compressed, or broken already)
// changes byte by byte.
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/fuzz/input.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Json = nlohmann::ordered_json;
using Random = std::mt19937;

constexpr std::size_t most_nodes = 20'000;  // of a document that changes by structure
constexpr double ends[] = {
    0,    -1,   1,      2,     0.5,   1e-9,   31,    32,  1024,         4294967295.0, 2147483648.0,
    9e15, 1e18, 1.8e19, 1e300, -1e18, 1e-300, 65535, 1e6, 123456789.125};
constexpr const char* words[] = {"",
                                 "kernel",
                                 "cpu_op",
                                 "cuda_runtime",
                                 "gpu_memcpy",
                                 "gpu_memset",
                                 "float",
                                 "c10::Half",
                                 "long int",
                                 "bool",
                                 "Int64",
                                 "-1",
                                 "[[8, 3], []]",
                                 "ProfilerStep#1",
                                 "aten::mm",
                                 "aten::convolution",
                                 "aten::copy_",
                                 "cudaLaunchKernel",
                                 "cudaGraphLaunch",
                                 "cudaStreamSynchronize",
                                 "user_annotation",
                                 "batch",
                                 "batch*batch",
                                 "9223372036854775807*batch",
                                 "\\ud800",
                                 "\n",
                                 "=1+1"};

std::size_t pick(Random& random, std::size_t count) { return random() % count; }

struct Node {
  Json* value;
  Json* parent;  // null: the document
};

void collect(Json& value, Json* parent, std::vector<Node>& out) {
  if (out.size() >= most_nodes) return;
  out.push_back({&value, parent});
  if (!value.is_structured()) return;
  for (auto& child : value) collect(child, &value, out);
}

Json other_number(const Json& value, Random& random) {
  const double now = value.get<double>();
  switch (pick(random, 6)) {
    case 0: return ends[pick(random, std::size(ends))];
    case 1: return static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
    case 2: return now * 2;
    case 3: return -now;
    case 4: return now + 1;
    default:
      return value.is_number_integer() ? Json(now / 3)
                                       : Json(static_cast<std::int64_t>(random() % 100));
  }
}

Json other_text(const Json& value, Random& random) {
  if (pick(random, 2) == 0) return words[pick(random, std::size(words))];
  std::string text = value.get<std::string>();
  const std::size_t size = text.size();
  text.resize(size + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

Json other_kind(Random& random) {
  switch (pick(random, 6)) {
    case 0: return nullptr;
    case 1: return Json::array();
    case 2: return Json::object();
    case 3: return "text";
    case 4: return pick(random, 2) == 0;
    default: return ends[pick(random, std::size(ends))];
  }
}

/// Takes out a child, repeats one, or swaps two.
void change_children(Json& parent, Random& random) {
  const std::size_t first = pick(random, parent.size());
  const std::size_t second = pick(random, parent.size());
  const auto at = [&](std::size_t i) {
    return std::next(parent.begin(), static_cast<std::ptrdiff_t>(i));
  };
  const std::size_t what = pick(random, 3);
  if (what == 0) {
    parent.erase(at(first));
  } else if (what == 1 && parent.is_array()) {
    const Json copy = *at(first);
    parent.insert(at(second), copy);
  } else {
    std::swap(*at(first), *at(second));
  }
}

void change(Json& document, Random& random) {
  std::vector<Node> nodes;
  collect(document, nullptr, nodes);
  const Node node = nodes[pick(random, nodes.size())];
  const std::size_t what = pick(random, 8);
  if (what == 0) {
    *node.value = other_kind(random);
  } else if (what == 1) {
    const Json other = *nodes[pick(random, nodes.size())].value;
    if (other.size() < 100) *node.value = other;
  } else if (what < 4 && node.parent) {
    change_children(*node.parent, random);
  } else if (node.value->is_number()) {
    *node.value = other_number(*node.value, random);
  } else if (node.value->is_string()) {
    *node.value = other_text(*node.value, random);
  } else if (node.value->is_structured() && !node.value->empty()) {
    change_children(*node.value, random);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using tandem::fuzz::choice_bytes;
  Random random(seed);
  if (size <= choice_bytes || random() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  if (random() % 4 == 0) {
    LLVMFuzzerMutate(data, choice_bytes, choice_bytes);
    return size;
  }
  Json document = Json::parse(data + choice_bytes, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, most);
  for (std::size_t i = 1 + random() % 3; i > 0; --i) change(document, random);
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (choice_bytes + text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data + choice_bytes, text.data(), text.size());
  return choice_bytes + text.size();
}
