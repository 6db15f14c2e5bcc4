#include "models/arch/gpu_fields.h"

#include <iterator>

#include "sim/core/fields/field.h"
#include "sim/core/named.h"

namespace tandem {
namespace {

using G = GpuArch;
using Fields = std::vector<Field<GpuArch>>;
constexpr Range or_zero = Range::non_negative;
constexpr std::string_view tensor_families[] = {"hmma_884", "hmma_16816", "gmma"};
static_assert(std::size(tensor_families) == values_up_to(TensorFamily::gmma));

Fields chip_fields() {
  return {
      field("compute_major", "count", "Compute capability, major part", &G::compute_major),
      field("compute_minor", "count", "Compute capability, minor part", &G::compute_minor, or_zero),
      field("gpc_count", "count", "Graphics processing clusters (GPCs) with SMs", &G::gpc_count),
      field("cluster_group_sms", "count",
            "SMs of each group that one cluster may span; differs from board to board",
            &G::cluster_group_sms),
      field("tpc_count", "count", "Texture processing clusters (pairs of SMs)", &G::tpc_count),
      field("sm_count", "count", "Streaming multiprocessors (SMs)", &G::sm_count),
      field("smsp_per_sm", "count", "Sub-partitions (warp schedulers) of an SM", &G::smsp_per_sm),
      field("min_clock_mhz", "MHz", "Lowest SM clock that the driver can lock; 0: not known",
            &G::min_clock_mhz, or_zero),
      field("base_clock_mhz", "MHz", "Guaranteed SM clock", &G::base_clock_mhz),
      field("boost_clock_mhz", "MHz", "Highest SM clock", &G::boost_clock_mhz),
      field("tensor_clock_mhz", "MHz", "SM clock held under sustained tensor-core load",
            &G::tensor_clock_mhz),
  };
}

Fields memory_fields() {
  return {
      field("memory_bytes", "B", "Device memory that CUDA reports (totalGlobalMem)",
            &G::memory_bytes),
      field("dram_peak_gbps", "GB/s", "DRAM interface peak", &G::dram_peak_gbps),
      field("dram_read_gbps", "GB/s", "DRAM bandwidth that read-only kernels reach",
            &G::dram_read_gbps),
      field("dram_copy_gbps", "GB/s", "DRAM bandwidth that copy kernels reach, read plus written",
            &G::dram_copy_gbps),
      field(
          "dram_loaded_latency_ns", "ns",
          "Loop latency of a streaming kernel at 1/8 occupancy; limits bandwidth at low occupancy",
          &G::dram_loaded_latency_ns),
      field("l2_bytes", "B", "L2 cache", &G::l2_bytes),
      field("l2_partitions", "count", "L2 partitions; data of the far one crosses the fabric",
            &G::l2_partitions),
      field("l2_read_gbps", "GB/s", "L2 read bandwidth that kernels reach", &G::l2_read_gbps),
      field("l2_fabric_factor", "ratio", "L2 sectors counted per sector that SMs request (fabric)",
            &G::l2_fabric_factor),
      field("l2_dirty_bytes", "B", "Written data that stays in L2 when a kernel ends",
            &G::l2_dirty_bytes),
  };
}

Fields shared_fields() {
  return {
      field("unified_l1_bytes", "B", "L1 data cache plus shared memory of an SM",
            &G::unified_l1_bytes),
      field("l1_bytes_per_clk", "B/clk/SM", "L1 and shared-memory bandwidth of an SM",
            &G::l1_bytes_per_clk),
      field("shared_carveouts_bytes", "B", "Shared-memory sizes an SM can be set to, ascending",
            &G::shared_carveouts_bytes, or_zero),
      field("shared_block_bytes", "B", "Largest shared memory of a block without opt-in",
            &G::shared_block_bytes),
      field("shared_block_optin_bytes", "B", "Largest shared memory of a block with opt-in",
            &G::shared_block_optin_bytes),
      field("shared_reserved_bytes", "B", "Shared memory of a block that the driver takes",
            &G::shared_reserved_bytes, or_zero),
      field("shared_granularity_bytes", "B", "Allocation unit of shared memory",
            &G::shared_granularity_bytes),
  };
}

Fields occupancy_fields() {
  return {
      field("warp_size", "count", "Threads of a warp", &G::warp_size),
      field("max_threads_per_block", "count", "Threads of a block", &G::max_threads_per_block),
      field("max_threads_per_sm", "count", "Resident threads of an SM", &G::max_threads_per_sm),
      field("max_blocks_per_sm", "count", "Resident blocks of an SM", &G::max_blocks_per_sm),
      field("registers_per_sm", "count", "32-bit registers of an SM", &G::registers_per_sm),
      field("max_registers_per_block", "count", "Registers of a block",
            &G::max_registers_per_block),
      field("max_registers_per_thread", "count", "Registers of a thread that may be launched",
            &G::max_registers_per_thread),
      field("register_granularity", "count", "Registers are given to a warp in units of this",
            &G::register_granularity),
      field("barriers_per_sm", "count", "Named barriers of an SM; 0: they limit no occupancy",
            &G::barriers_per_sm, or_zero),
      field("max_cluster_blocks", "count", "Blocks of a cluster; 1: no clusters",
            &G::max_cluster_blocks),
  };
}

Fields pipe_fields() {
  return {
      field("fp32_lanes", "lane/SMSP", "FP32 multiply-add lanes", &G::fp32_lanes),
      field("int32_lanes", "lane/SMSP", "INT32 lanes", &G::int32_lanes),
      field("fp16_lanes", "lane/SMSP", "Packed half2 lanes outside the tensor cores",
            &G::fp16_lanes),
      field("fp64_lanes", "lane/SMSP", "FP64 lanes", &G::fp64_lanes),
      field("xu_lanes", "lane/SMSP", "Special-function lanes", &G::xu_lanes),
      field("lsu_lanes", "lane/SMSP", "Load/store lanes", &G::lsu_lanes),
      choice_field("tensor_family", "Tensor-core instruction the libraries use", &G::tensor_family,
                   tensor_families),
      field("tensor_fp16_fma_per_clk", "FMA/clk/SM", "Tensor cores, dense FP16",
            &G::tensor_fp16_fma_per_clk, or_zero),
      field("tensor_bf16_fma_per_clk", "FMA/clk/SM", "Tensor cores, dense BF16",
            &G::tensor_bf16_fma_per_clk, or_zero),
      field("tensor_tf32_fma_per_clk", "FMA/clk/SM", "Tensor cores, dense TF32",
            &G::tensor_tf32_fma_per_clk, or_zero),
      field("tensor_fp8_fma_per_clk", "FMA/clk/SM", "Tensor cores, dense FP8",
            &G::tensor_fp8_fma_per_clk, or_zero),
      field("tensor_int8_fma_per_clk", "FMA/clk/SM", "Tensor cores, dense INT8",
            &G::tensor_int8_fma_per_clk, or_zero),
      field("tensor_fp64_fma_per_clk", "FMA/clk/SM", "Tensor cores, FP64",
            &G::tensor_fp64_fma_per_clk, or_zero),
  };
}

Fields latency_fields() {
  return {
      field("fp32_latency_cycles", "cycle", "Dependent FFMA", &G::fp32_latency_cycles),
      field("fp64_latency_cycles", "cycle", "Dependent DFMA", &G::fp64_latency_cycles),
      field("xu_latency_cycles", "cycle", "Dependent MUFU", &G::xu_latency_cycles),
      field("tensor_latency_cycles", "cycle", "Dependent tensor-core instruction of one warp",
            &G::tensor_latency_cycles),
      field("shared_latency_cycles", "cycle", "Shared-memory load", &G::shared_latency_cycles),
      field("l1_latency_cycles", "cycle", "L1 hit", &G::l1_latency_cycles),
      field("l2_latency_cycles", "cycle", "L2 hit, near partition", &G::l2_latency_cycles),
      field("l2_far_latency_cycles", "cycle", "L2 hit, average over a set larger than half the L2",
            &G::l2_far_latency_cycles),
      field("dram_latency_cycles", "cycle", "DRAM, unloaded", &G::dram_latency_cycles),
  };
}

Fields board_fields() {
  return {
      field("launch_latency_us", "us", "End of the launch call to start of the kernel, idle stream",
            &G::launch_latency_us),
      field("kernel_gap_us", "us", "End of a kernel to start of the next on the same stream",
            &G::kernel_gap_us),
      field("stream_kernel_period_us", "us", "Start to start of tiny queued kernels, stream launch",
            &G::stream_kernel_period_us),
      field("graph_kernel_period_us", "us", "Start to start of tiny kernels in a CUDA graph",
            &G::graph_kernel_period_us),
      field("pcie_peak_gbps", "GB/s", "Host link peak, one direction", &G::pcie_peak_gbps),
      field("pcie_copy_gbps", "GB/s", "Host link, large pinned copies, one direction",
            &G::pcie_copy_gbps),
      field("nvlink_gbps", "GB/s", "GPU links, both directions together; 0: none", &G::nvlink_gbps,
            or_zero),
      field("nvlink_gpus", "count",
            "GPUs that these links join: 2 by bridges, those of a board; 0: none", &G::nvlink_gpus,
            or_zero),
      field("tdp_w", "W", "Board power limit", &G::tdp_w),
      field("idle_w", "W", "Board power with a context and no work", &G::idle_w),
  };
}

Fields all_fields() {
  Fields all;
  for (Fields part : {chip_fields(), memory_fields(), shared_fields(), occupancy_fields(),
                      pipe_fields(), latency_fields(), board_fields()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const Field<GpuArch>> gpu_fields() {
  static const Fields fields = all_fields();
  return fields;
}

}  // namespace tandem
