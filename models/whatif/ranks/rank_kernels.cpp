#include "models/whatif/ranks/rank_kernels.h"

#include "models/collective/collective_time.h"
#include "models/kernel/launch_rules.h"
#include "models/kernel/time/kernel_time.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

namespace {

LibraryUse library_use(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather: return LibraryUse::all_gather;
    case CollectiveKind::reduce_scatter: return LibraryUse::reduce_scatter;
    case CollectiveKind::broadcast: return LibraryUse::broadcast;
    default: return LibraryUse::all_reduce;
  }
}

}  // namespace

NewKernel RankKernels::moving(LibraryUse use, std::string_view op, double bytes,
                              double host_us) const {
  NewKernel k;
  k.kernel = o_.names.kernel(use);
  k.op = op;
  TimedLaunch move;
  move.law = TimeLaw::memory;
  move.bytes = 2 * bytes;
  k.duration_us = kernel_time(move, o_.gpu, o_.time).time_us;
  k.host_us = host_us;
  return k;
}

NewKernel RankKernels::copy(std::string_view op, double bytes, double host_us) const {
  return moving(LibraryUse::copy_on_device, op, bytes, host_us);
}

NewKernel RankKernels::list_copy(std::string_view op, double bytes, double host_us) const {
  NewKernel k = moving(LibraryUse::list_copy, op, bytes, host_us);
  k.duration_us *= o_.law.list_copy_factor;
  constexpr std::uint32_t threads = 512;  // ATen, MultiTensorApply.cuh: kBlockSize
  k.geometry = flat_geometry(bytes / element_bytes(DataType::fp32) / multi_tensor_chunk, threads);
  return k;
}

NewKernel RankKernels::collective(std::string_view op, const Collective& message,
                                  double host_us) const {
  NewKernel k;
  k.kernel = o_.names.kernel(library_use(message.kind));
  k.op = op;
  k.duration_us = collective_time(o_.gpu, o_.law, message, o_.ranks).us;
  k.host_us = host_us;
  const auto blocks = static_cast<std::uint32_t>(o_.law.ring_blocks);
  k.geometry = {{blocks, 1, 1}, {544, 1, 1}, 96, 103808};
  return k;
}

}  // namespace tandem
