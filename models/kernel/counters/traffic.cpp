// Bytes a kernel moves through L1, L2, DRAM and shared memory.
#include <algorithm>

#include "models/kernel/counters/cost_terms.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

constexpr double load_sectors = 16;  // of a warp-wide load, also of short pieces

struct Flow {
  double l1_read = 0, l1_write = 0, l2_read = 0, l2_write = 0;  // bytes
};

Flow matrix_flow(const CostInput& in) {
  const CostRow& r = *in.row;
  const KernelFeatures& f = in.features;
  const KernelTraits& t = in.launch.traits;
  const double loaded = f.loads * 32 * t.load_bytes;
  const double stored = in.launch.work.write_bytes * f.splits;
  // A cluster multicasts each operand tile to its blocks.
  const double rows = static_cast<double>(t.tile_m) / (t.tile_m + t.tile_n);
  const double shared = rows / t.cluster_n + (1 - rows) / t.cluster_m;
  // A mask is loaded with the scores to which it is added, head by head. Four lanes hold 8 columns
  // of a row of tensor cores' results: a request touches twice the sectors of the bytes.
  const double masks = f.masked * 32 * element_bytes(t.data);
  return {f.loads * load_sectors * sector_bytes * r.l1_reads + 2 * masks, stored * r.l1_writes,
          loaded * shared * r.l2_reads + masks, stored * r.l2_writes};
}

// An elementwise kernel loads every operand for every element, broadcast ones from L1.
double elementwise_loads(const CostInput& in) {
  const KernelTraits& t = in.launch.traits;
  const double inputs = std::max(0, t.operands - 1);
  return in.launch.work.elements * inputs * std::max(element_bytes(t.data), 1);
}

Flow plain_flow(const CostInput& in) {
  const KernelWork& w = in.launch.work;
  const CostRow* row = in.row;
  if (row == nullptr) return {w.read_bytes, w.write_bytes, w.read_bytes, w.write_bytes};
  Flow flow{w.read_bytes * row->l1_reads, w.write_bytes * row->l1_writes,
            w.read_bytes * row->l2_reads, w.write_bytes * row->l2_writes};
  if (w.l1_read_bytes > 0) {
    flow.l1_read = w.l1_read_bytes * row->l1_reads;
    flow.l2_read += std::max(0.0, w.l1_read_bytes - w.read_bytes) * row->l2_scattered;
  }
  if (in.launch.traits.vector_width == 1) {
    flow.l1_read = std::max(flow.l1_read, elementwise_loads(in));
  }
  if (row->l1_per_multiply > 0) {
    flow.l1_read = in.features.multiplies * row->l1_per_multiply * sector_bytes;
  }
  return flow;
}

// Operand bytes; those of multi-tensor kernels follow from their functor.
struct OperandBytes {
  double read = 0, written = 0;
};

OperandBytes operand_bytes(const CostInput& in) {
  const KernelWork& w = in.launch.work;
  OperandBytes out{w.read_bytes, w.write_bytes * in.features.splits};
  const KernelTraits& t = in.launch.traits;
  if (in.launch.family != KernelFamily::optimizer || t.functor == 0) return out;
  const CostRow* functor = in.constants.functor(t, t.data);
  if (functor == nullptr) return out;
  // The constants of a functor count its accesses in units of one list.
  const double list = out.read / std::max(t.operands - 1, 1);
  return {list * functor->l1_reads, out.written * functor->l1_writes};
}

// Bytes that later passes over the operands fetch from DRAM again. They find them in L2 as long as
// what all resident blocks work on fits; near the limit, a part of them.
double refetched(const CostInput& in, double read, double passes) {
  if (passes <= 1.0) return 0;
  const double blocks = std::max<double>(1, static_cast<double>(blocks_of(in.launch.geometry)));
  const double resident = std::min(
      blocks, static_cast<double>(in.gpu.sm_count) * std::max(1, in.occupancy.blocks_per_sm));
  const double working_set = read / blocks * resident;
  const double capacity = 2 * static_cast<double>(in.gpu.l2_dirty_bytes);
  const GeneralCosts& general = in.constants.general();
  const double miss =
      std::clamp((working_set / capacity - general.refetch_from) / general.refetch_span, 0.0, 1.0);
  return read * (passes - 1) * miss;
}

// Cold caches: every operand byte comes from DRAM once. Lines are evicted in the order of use, so
// of the last bytes that passed through L2 the written share stays there, dirty.
void add_dram(const CostInput& in, const OperandBytes& bytes, double passes, KernelCost& cost) {
  const double read = bytes.read + refetched(in, bytes.read, passes);
  const double total = read + (in.launch.work.in_place ? 0 : bytes.written);
  const double resident = 2 * static_cast<double>(in.gpu.l2_dirty_bytes);
  const double kept = total > 0 ? bytes.written * std::min(1.0, resident / total) : 0;
  cost.dram_read_sectors = read / sector_bytes;
  cost.dram_write_sectors = (bytes.written - kept) / sector_bytes;
}

}  // namespace

void add_traffic(const CostInput& in, KernelCost& cost) {
  const KernelFeatures& f = in.features;
  const bool matrix = is_matrix(in) && in.row != nullptr;
  const OperandBytes bytes = operand_bytes(in);
  Flow flow = matrix ? matrix_flow(in) : plain_flow(in);
  if (in.launch.family == KernelFamily::optimizer) {
    flow = {bytes.read, bytes.written, bytes.read, bytes.written};
  }
  const double passes = matrix || in.row == nullptr ? 1 : in.row->l2_reads;
  add_dram(in, bytes, passes, cost);
  // Half of the lines belong to the other partition of L2 and cross it once more.
  const double l2_read = std::max(flow.l2_read, bytes.read);
  const double crossing = (cost.dram_read_sectors * sector_bytes + flow.l2_write) *
                          std::max(0.0, in.gpu.l2_fabric_factor - 1);
  cost.l1_sectors = (flow.l1_read + flow.l1_write) / sector_bytes;
  cost.l2_sectors = (l2_read + flow.l2_write + crossing) / sector_bytes;
  if (in.row == nullptr) return;
  const CostRow& r = *in.row;
  cost.shared_wavefronts = r.shared_per_warp * f.warps + r.shared_per_element * f.elements +
                           r.shared_per_fragment * f.fragments + r.shared_per_load * f.loads +
                           r.shared_per_passed * f.passed + r.shared_per_transposed * f.transposed +
                           r.shared_per_narrow * f.narrow + r.shared_per_multiply * f.multiplies;
}

TrafficLimits traffic_limits(const GpuArch& gpu, double us) {
  const double sm_cycles = gpu.sm_count * gpu.boost_clock_mhz * us;
  TrafficLimits out;
  out.dram = gpu.dram_peak_gbps * 1e3 * us;
  out.l2 = gpu.l2_read_gbps * 1e3 * us * std::max(1.0, gpu.l2_fabric_factor);
  out.l1 = gpu.l1_bytes_per_clk * sm_cycles;
  out.shared = wavefront_bytes * sm_cycles;  // an SM serves one wavefront a cycle
  return out;
}

void clamp_traffic(const GpuArch& gpu, KernelCost& cost) {
  const TrafficLimits most = traffic_limits(gpu, cost.time_us);
  const double dram = (cost.dram_read_sectors + cost.dram_write_sectors) * sector_bytes;
  if (dram > most.dram && dram > 0) {
    cost.dram_read_sectors *= most.dram / dram;
    cost.dram_write_sectors *= most.dram / dram;
    cost.clamped = true;
  }
  const auto cut = [&](double& count, double limit) {
    cost.clamped = cost.clamped || count > limit;
    count = std::min(count, limit);
  };
  cut(cost.l1_sectors, most.l1 / sector_bytes);
  cut(cost.shared_wavefronts, most.shared / wavefront_bytes);
  cut(cost.l2_sectors, most.l2 / sector_bytes);
}

}  // namespace tandem
