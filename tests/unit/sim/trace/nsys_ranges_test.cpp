#include <gtest/gtest.h>

#include "sim/trace/importers/api_names.h"
#include "sim/trace/importers/nsys/ranges.h"

namespace tandem::nsys {
namespace {

TEST(NsysRanges, ReadsAnOperation) {
  const Range r = read_range(
      "aten::conv2d, seq = 5, op_id = 71, sizes = [[32, 3, 7, 7], [], [1]], input_op_ids = "
      "[(70,0)]");
  EXPECT_TRUE(r.is_op);
  EXPECT_FALSE(r.is_backward);
  EXPECT_EQ(r.name, "aten::conv2d");
  EXPECT_EQ(r.sequence, 5);
  EXPECT_EQ(r.op, 71);
  EXPECT_EQ(r.sizes, "[[32, 3, 7, 7], [], [1]]");
}

TEST(NsysRanges, ReadsWhatIsThere) {
  const Range bare = read_range("aten::add_");
  EXPECT_TRUE(bare.is_op);
  EXPECT_EQ(bare.op, -1);
  EXPECT_EQ(bare.sizes, "");
  const Range backward =
      read_range("autograd::engine::evaluate_function: ConvolutionBackward0, op_id = 9");
  EXPECT_TRUE(backward.is_op);
  EXPECT_TRUE(backward.is_backward);
  EXPECT_EQ(backward.name, "autograd::engine::evaluate_function: ConvolutionBackward0");
}

TEST(NsysRanges, OthersAreAnnotations) {
  for (const char* text :
       {"ProfilerStep#3", "epoch, lr = 0.1", "", ", op_id = x", "forward, seq = "}) {
    EXPECT_FALSE(read_range(text).is_op) << text;
  }
}

TEST(NsysRanges, CallsLoseTheirVersion) {
  EXPECT_EQ(plain_api_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_api_name("cuMemcpyAsync_v2_ptsz"), "cuMemcpyAsync");
  EXPECT_EQ(plain_api_name("cudaLaunchKernel"), "cudaLaunchKernel");
}

}  // namespace
}  // namespace tandem::nsys
