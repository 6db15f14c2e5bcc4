// Names of collectives.
#include "sim/core/collective.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(CollectiveNames, OfFrameworksAndLibraries) {
  using enum CollectiveKind;
  EXPECT_EQ(parse_collective("allreduce"), all_reduce);
  EXPECT_EQ(parse_collective("allreduce_coalesced"), all_reduce);
  EXPECT_EQ(parse_collective("_allgather_base"), all_gather);
  EXPECT_EQ(parse_collective("reduce_scatter_tensor_coalesced"), reduce_scatter);
  EXPECT_EQ(parse_collective("_reduce_oop"), reduce);
  EXPECT_EQ(parse_collective("nccl:all_to_all"), all_to_all);
  EXPECT_EQ(parse_collective("send"), point_to_point);
  EXPECT_EQ(parse_collective("wait"), unknown);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)"), reduce_scatter);
  EXPECT_EQ(collective_of_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(x)"), all_reduce);
  EXPECT_EQ(collective_of_kernel("gemm"), unknown);
  EXPECT_EQ(to_string(all_gather), "all_gather");
}

}  // namespace
}  // namespace tandem
