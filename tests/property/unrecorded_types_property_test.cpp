// Of measured captures whose types are taken away, nearly all are found again.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/unrecorded/types.h"
#include "sim/core/tensors/data_type.h"
#include "sim/trace/import.h"
#include "tests/captures.h"

namespace tandem {
namespace {

Trace without_types(Trace trace) {
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    Operands operands = operands_of(trace, op);
    for (TensorShape& shape : operands.tensors.shapes) shape.type = DataType::unknown;
    trace.ops.operands[op] = trace.operands.intern(std::move(operands));
  }
  return trace;
}

struct Bytes {
  double all = 0, wrong = 0;
};

/// Two operands of one size, each found to have the type of the other: nothing tells which is which
/// in a sum, and as much is moved.
bool swapped(std::span<const TensorShape> is, std::span<const TensorShape> found) {
  return is.size() == 2 && is[0].elements() == is[1].elements() && is[0].type == found[1].type &&
         is[1].type == found[0].type;
}

/// Of the operands of operations that launched device work.
Bytes compare(const Trace& stated, const Trace& inferred, const Links& links) {
  std::vector<bool> launching(stated.ops.size(), false);
  for (const std::uint32_t op : nest_ops(stated, links).of_activity) {
    if (op != no_row) launching[op] = true;
  }
  Bytes out;
  for (std::uint32_t op = 0; op < stated.ops.size(); ++op) {
    if (!launching[op]) continue;
    const auto& is = operands_of(stated, op).tensors.shapes;
    const auto& found = operands_of(inferred, op).tensors.shapes;
    const bool either = swapped(is, found);
    for (std::size_t i = 0; i < is.size(); ++i) {
      const double bytes = double(is[i].elements()) * element_bytes(is[i].type);
      out.all += bytes;
      const bool right = is[i].type == DataType::unknown || is[i].type == found[i].type;
      if (!right && !either) out.wrong += bytes;
    }
  }
  return out;
}

std::vector<std::string> eager_captures() {
  std::vector<std::string> paths = test::captures(160);
  std::erase_if(paths, [](const auto& path) { return path.find("-eager-") == path.npos; });
  return paths;
}

constexpr double usually_wrong = 0.09;

/// Share of the bytes. Of all eager captures the worst is 7.8 % (BigBird), but for those that are
/// named.
double most_wrong(const std::string& path) {
  const std::pair<const char*, double> known[] = {
      {"/deberta-train-amp-", 0.13},  // adds up three scores of one size a layer: 12.2 %
      {"/llama-train-bf16-eager-b2-fsdp_narrow-",
       0.13},                                 // lists of gradients that are widened: 12.3 %
      {"/llama-infer-bf16w-eager-b1", 0.11},  // 10.5 %
  };
  for (const auto& [name, share] : known) {
    if (path.find(name) != path.npos) return share;
  }
  return usually_wrong;
}

TEST(UnrecordedTypesProperty, AreFoundAgain) {
  const std::vector<std::string> paths = eager_captures();
  ASSERT_GT(paths.size(), 25U);
  double shares = 0, squares = 0, usual = 0;
  for (const std::string& path : paths) {
    const Trace stated = import_trace(path);
    const Links links = link_trace(stated);
    Trace inferred = without_types(stated);
    infer_unrecorded_types(inferred, links);
    const Bytes bytes = compare(stated, inferred, links);
    ASSERT_GT(bytes.all, 0) << path;
    EXPECT_LT(bytes.wrong / bytes.all, most_wrong(path)) << path;
    if (most_wrong(path) > usually_wrong) continue;
    const double share = bytes.wrong / bytes.all;
    shares += share, squares += share * share, ++usual;
  }
  // Of all captures the mean is 0.36 %; that of some differs by chance, for which two standard
  // errors are given.
  const double mean = shares / usual;
  const double error = std::sqrt((squares / usual - mean * mean) / usual);
  EXPECT_LT(mean, 0.005 + 2 * error);
}

}  // namespace
}  // namespace tandem
