#include <gtest/gtest.h>

#include <string>

#include "sim/trace/importers/api_names.h"
#include "sim/trace/importers/nsys/kernel_names.h"
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

TEST(NsysRanges, OfOptimizersAndLoadersAreAnnotations) {
  for (const std::string name : {"Optimizer.zero_grad#SGD.zero_grad",
                                 "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}) {
    const std::string text = name + ", op_id = 1061";
    const Range r = read_range(text);
    EXPECT_FALSE(r.is_op);
    EXPECT_EQ(r.name, name);
  }
}

TEST(NsysRanges, OthersAreAnnotations) {
  for (const char* text :
       {"ProfilerStep#3", "epoch, lr = 0.1", "", ", op_id = x", "forward, seq = "}) {
    EXPECT_FALSE(read_range(text).is_op) << text;
  }
}

TEST(NsysKernelNames, LiteralsAreThoseOfTheAbi) {
  EXPECT_EQ(kernel_name("void at::native::vectorized_elementwise_kernel<(int)4, at::native::"
                        "FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)"),
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
            "std::array<char *, 1ul>>(int, T2, T3)");
  EXPECT_EQ(kernel_name("k<(bool)0, (bool)1, (int)-1, (long)2, (unsigned int)3>(bool)"),
            "k<false, true, -1, 2l, 3u>(bool)");
  EXPECT_EQ(kernel_name("void <unnamed>::softmax<float, (Kind)2>(T1)"),
            "void (anonymous namespace)::softmax<float, (Kind)2>(T1)");
}

TEST(NsysKernelNames, WhatIsNoLiteralStays) {
  for (const char* text : {"", "f(int)", "f(int)::g", "(int)", "(bool)x", "(bool)12", "(int)-",
                           "<unname", "nvjet_hsh_128x256_64x4"}) {
    EXPECT_EQ(kernel_name(text), text);
  }
}

TEST(NsysRanges, CallsLoseTheirVersion) {
  EXPECT_EQ(plain_api_name("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_api_name("cuMemcpyAsync_v2_ptsz"), "cuMemcpyAsync");
  EXPECT_EQ(plain_api_name("cudaLaunchKernel"), "cudaLaunchKernel");
}

}  // namespace
}  // namespace tandem::nsys
