#include <gtest/gtest.h>

#include "sim/trace/importers/api_names.h"

namespace tandem {
namespace {

using enum ApiKind;

TEST(ApiNames, KnowsRuntimeAndDriverNames) {
  EXPECT_EQ(api_kind("cudaLaunchKernel"), launch_kernel);
  EXPECT_EQ(api_kind("cudaLaunchKernelExC"), launch_kernel);
  EXPECT_EQ(api_kind("cuLaunchKernelEx"), launch_kernel);
  EXPECT_EQ(api_kind("cudaLaunchCooperativeKernel"), launch_kernel);
  EXPECT_EQ(api_kind("cudaGraphLaunch"), launch_graph);
  EXPECT_EQ(api_kind("cudaMemcpyAsync"), memcpy_async);
  EXPECT_EQ(api_kind("cudaMemcpy"), memcpy_blocking);
  EXPECT_EQ(api_kind("cudaMemsetAsync"), memset);
  EXPECT_EQ(api_kind("cudaEventRecord"), event_record);
  EXPECT_EQ(api_kind("cudaStreamWaitEvent"), stream_wait_event);
  EXPECT_EQ(api_kind("cudaEventSynchronize"), event_synchronize);
  EXPECT_EQ(api_kind("cuStreamSynchronize"), stream_synchronize);
  EXPECT_EQ(api_kind("cudaDeviceSynchronize"), device_synchronize);
  EXPECT_EQ(api_kind("cuCtxSynchronize"), device_synchronize);
}

TEST(ApiNames, IgnoresVersionAndStreamSuffixes) {
  EXPECT_EQ(api_kind("cudaLaunchKernel_v7000"), launch_kernel);
  EXPECT_EQ(api_kind("cudaMemcpyAsync_v3020"), memcpy_async);
  EXPECT_EQ(api_kind("cudaMemcpyAsync_ptsz"), memcpy_async);
  EXPECT_EQ(api_kind("cuMemcpyDtoHAsync_v2_ptsz"), memcpy_async);
  EXPECT_EQ(api_kind("cudaMemcpy_v3020_ptds"), memcpy_blocking);
}

TEST(ApiNames, EverythingElseCostsHostTimeOnly) {
  for (const char* name : {"", "cudaMalloc", "cudaEventQuery", "INVALID", "cudaLaunchKernels",
                           "_v2", "cudaLaunchKernel_vx", "cudaStreamIsCapturing", "launch"}) {
    EXPECT_EQ(api_kind(name), other) << name;
  }
}

}  // namespace
}  // namespace tandem
