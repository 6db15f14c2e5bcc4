#include "sim/counters/counter_table.h"

#include <array>

namespace tandem {

namespace {

constexpr std::array<CounterInfo, counter_count> infos{{
    {Counter::duration_ns, "duration_ns", "ns", "time of the kernel under Nsight Compute", false},
    {Counter::smsp_elapsed_cycles, "smsp_elapsed_cycles", "cycles",
     "cycles elapsed, over all SM sub-partitions", false},
    {Counter::smsp_active_cycles, "smsp_active_cycles", "cycles",
     "of these, cycles with at least one warp resident", false},
    {Counter::smsp_issue_cycles, "smsp_issue_cycles", "cycles",
     "of these, cycles in which an instruction was issued", false},
    {Counter::instructions, "instructions", "warp instructions", "warp instructions executed",
     false},
    {Counter::tc_active_cycles, "tc_active_cycles", "cycles",
     "cycles in which the tensor pipe of a sub-partition was active", false},
    {Counter::tc_issue_cycles, "tc_issue_cycles", "warp instructions",
     "tensor-core warp instructions, warp-group ones included", false},
    {Counter::tc_gmma_instructions, "tc_gmma_instructions", "warp instructions",
     "of these, warp-group matrix instructions", false},
    {Counter::warp_active_cycles, "warp_active_cycles", "warp cycles",
     "resident warps, added up over all cycles", false},
    {Counter::l1_sectors, "l1_sectors", "32-byte sectors", "sectors requested from L1", false},
    {Counter::l2_sectors, "l2_sectors", "32-byte sectors",
     "sectors requested from L2, traffic between its partitions included", false},
    {Counter::l2_tex_sectors, "l2_tex_sectors", "32-byte sectors",
     "sectors that the SMs requested from L2", false},
    {Counter::dram_read_sectors, "dram_read_sectors", "32-byte sectors", "sectors read from DRAM",
     false},
    {Counter::dram_write_sectors, "dram_write_sectors", "32-byte sectors",
     "sectors written to DRAM", false},
    {Counter::shared_wavefronts, "shared_wavefronts", "128-byte wavefronts",
     "wavefronts of shared-memory accesses", false},
    {Counter::registers_per_thread, "registers_per_thread", "count", "registers a thread uses",
     true},
    {Counter::shared_static_bytes, "shared_static_bytes", "bytes",
     "shared memory of a block that is fixed at compile time", true},
    {Counter::shared_dynamic_bytes, "shared_dynamic_bytes", "bytes",
     "shared memory of a block that is asked for at launch", true},
    {Counter::shared_driver_bytes, "shared_driver_bytes", "bytes",
     "shared memory of a block that the driver takes", true},
    {Counter::occupancy_limit_blocks, "occupancy_limit_blocks", "blocks per SM",
     "limit by the number of blocks", true},
    {Counter::occupancy_limit_registers, "occupancy_limit_registers", "blocks per SM",
     "limit by registers", true},
    {Counter::occupancy_limit_shared_mem, "occupancy_limit_shared_mem", "blocks per SM",
     "limit by shared memory", true},
    {Counter::occupancy_limit_warps, "occupancy_limit_warps", "blocks per SM", "limit by warps",
     true},
    {Counter::waves_per_sm, "waves_per_sm", "ratio", "blocks / blocks that fit on the device",
     true},
    {Counter::sm_count, "sm_count", "count", "SMs of the device", true},
    {Counter::grid_x, "grid_x", "blocks", "grid", true},
    {Counter::grid_y, "grid_y", "blocks", "grid", true},
    {Counter::grid_z, "grid_z", "blocks", "grid", true},
    {Counter::grid_size, "grid_size", "blocks", "blocks of the grid", true},
    {Counter::block_x, "block_x", "threads", "block", true},
    {Counter::block_y, "block_y", "threads", "block", true},
    {Counter::block_z, "block_z", "threads", "block", true},
    {Counter::block_size, "block_size", "threads", "threads of a block", true},
}};

using enum Quantity;
using enum Scale;

// Names with `__` are metrics; the others are what the details page prints for them.
constexpr MetricName names[] = {
    {"gpu__time_duration.sum", Counter::duration_ns, time},
    {"gpu__time_duration.avg", Counter::duration_ns, time},
    {"gpu__time_duration.max", Counter::duration_ns, time},
    {"gpu__time_duration", Counter::duration_ns, time},
    {"Duration", Counter::duration_ns, time},
    {"smsp__cycles_elapsed.sum", Counter::smsp_elapsed_cycles, count},
    {"smsp__cycles_elapsed.avg", Counter::smsp_elapsed_cycles, count, per_smsp},
    {"sm__cycles_elapsed.avg", Counter::smsp_elapsed_cycles, count, per_smsp},
    {"Elapsed Cycles", Counter::smsp_elapsed_cycles, count, per_smsp},
    {"smsp__cycles_active.sum", Counter::smsp_active_cycles, count},
    {"smsp__cycles_active.avg", Counter::smsp_active_cycles, count, per_smsp},
    {"smsp__issue_active.sum", Counter::smsp_issue_cycles, count},
    {"smsp__issue_active.avg", Counter::smsp_issue_cycles, count, per_smsp},
    {"smsp__inst_issued.sum", Counter::smsp_issue_cycles, count},
    {"sm__inst_issued.sum", Counter::smsp_issue_cycles, count},
    {"smsp__inst_executed.sum", Counter::instructions, count},
    {"sm__inst_executed.sum", Counter::instructions, count},
    {"smsp__inst_executed.avg", Counter::instructions, count, per_smsp},
    {"Executed Instructions", Counter::instructions, count},
    // One cycle of one sub-partition each: .sum adds the four of every SM.
    {"sm__pipe_tensor_cycles_active.sum", Counter::tc_active_cycles, count},
    {"smsp__pipe_tensor_cycles_active.sum", Counter::tc_active_cycles, count},
    {"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.sum",
     Counter::tc_active_cycles, count},
    {"sm__pipe_tensor_cycles_active.avg", Counter::tc_active_cycles, count, per_sm},
    {"sm__pipe_tensor_op_hmma_cycles_active.sum", Counter::tc_active_cycles, count},
    {"smsp__pipe_tensor_op_hmma_cycles_active.sum", Counter::tc_active_cycles, count},
    {"sm__inst_executed_pipe_tensor.sum", Counter::tc_issue_cycles, count},
    {"smsp__inst_executed_pipe_tensor.sum", Counter::tc_issue_cycles, count},
    {"sm__inst_executed_pipe_tensor.avg", Counter::tc_issue_cycles, count, per_sm},
    {"sm__inst_executed_pipe_tensor_op_hmma.sum", Counter::tc_issue_cycles, count},
    {"smsp__inst_executed_pipe_tensor_op_hmma.sum", Counter::tc_issue_cycles, count},
    {"sm__inst_executed_pipe_tensor_op_gmma.sum", Counter::tc_gmma_instructions, count},
    {"smsp__inst_executed_pipe_tensor_op_gmma.sum", Counter::tc_gmma_instructions, count},
    {"sm__warps_active.sum", Counter::warp_active_cycles, count},
    {"smsp__warps_active.sum", Counter::warp_active_cycles, count},
    {"sm__warps_active.avg", Counter::warp_active_cycles, count, per_sm},
    {"smsp__warps_active.avg", Counter::warp_active_cycles, count, per_smsp},
    {"l1tex__t_sectors.sum", Counter::l1_sectors, count},
    {"l1tex__t_bytes.sum", Counter::l1_sectors, bytes, bytes_to_sectors},
    {"lts__t_sectors.sum", Counter::l2_sectors, count},
    {"lts__t_bytes.sum", Counter::l2_sectors, bytes, bytes_to_sectors},
    {"lts__t_sectors_srcunit_tex.sum", Counter::l2_tex_sectors, count},
    {"lts__t_bytes_srcunit_tex.sum", Counter::l2_tex_sectors, bytes, bytes_to_sectors},
    {"dram__sectors_read.sum", Counter::dram_read_sectors, count},
    {"dram__bytes_read.sum", Counter::dram_read_sectors, bytes, bytes_to_sectors},
    {"dram__sectors_write.sum", Counter::dram_write_sectors, count},
    {"dram__bytes_write.sum", Counter::dram_write_sectors, bytes, bytes_to_sectors},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", Counter::shared_wavefronts, count},
    {"launch__registers_per_thread", Counter::registers_per_thread, count},
    {"Registers Per Thread", Counter::registers_per_thread, count},
    {"launch__shared_mem_per_block_static", Counter::shared_static_bytes, bytes},
    {"Static Shared Memory Per Block", Counter::shared_static_bytes, bytes},
    {"launch__shared_mem_per_block_dynamic", Counter::shared_dynamic_bytes, bytes},
    {"Dynamic Shared Memory Per Block", Counter::shared_dynamic_bytes, bytes},
    {"launch__shared_mem_per_block_driver", Counter::shared_driver_bytes, bytes},
    {"Driver Shared Memory Per Block", Counter::shared_driver_bytes, bytes},
    {"launch__occupancy_limit_blocks", Counter::occupancy_limit_blocks, count},
    {"Block Limit SM", Counter::occupancy_limit_blocks, count},
    {"launch__occupancy_limit_registers", Counter::occupancy_limit_registers, count},
    {"Block Limit Registers", Counter::occupancy_limit_registers, count},
    {"launch__occupancy_limit_shared_mem", Counter::occupancy_limit_shared_mem, count},
    {"Block Limit Shared Mem", Counter::occupancy_limit_shared_mem, count},
    {"launch__occupancy_limit_warps", Counter::occupancy_limit_warps, count},
    {"Block Limit Warps", Counter::occupancy_limit_warps, count},
    {"launch__waves_per_multiprocessor", Counter::waves_per_sm, count},
    {"Waves Per SM", Counter::waves_per_sm, count},
    {"launch__sm_count", Counter::sm_count, count},
    {"device__attribute_multiprocessor_count", Counter::sm_count, count},
    {"# SMs", Counter::sm_count, count},
    {"launch__grid_dim_x", Counter::grid_x, count},
    {"launch__grid_dim_y", Counter::grid_y, count},
    {"launch__grid_dim_z", Counter::grid_z, count},
    {"launch__grid_size", Counter::grid_size, count},
    {"Grid Size", Counter::grid_size, count},
    {"launch__block_dim_x", Counter::block_x, count},
    {"launch__block_dim_y", Counter::block_y, count},
    {"launch__block_dim_z", Counter::block_z, count},
    {"launch__block_size", Counter::block_size, count},
    {"Block Size", Counter::block_size, count},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < counter_count; ++i) {
    if (infos[i].counter != static_cast<Counter>(i)) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const CounterInfo> counter_infos() { return infos; }

std::string_view name_of(Counter counter) { return infos[static_cast<std::size_t>(counter)].name; }

std::span<const MetricName> metric_names() { return names; }

}  // namespace tandem
