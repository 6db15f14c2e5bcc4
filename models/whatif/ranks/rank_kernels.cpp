#include "models/whatif/ranks/rank_kernels.h"

#include <algorithm>
#include <cmath>

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

double moving_us(const GpuArch& gpu, const TimeConstants& time, double bytes) {
  TimedLaunch move;
  move.law = TimeLaw::memory;
  move.bytes = 2 * bytes;
  return kernel_time(move, gpu, time).time_us;
}

NewKernel RankKernels::moving(LibraryUse use, std::string_view op, double bytes,
                              double host_us) const {
  NewKernel k;
  k.kernel = o_.names.kernel(use);
  k.op = op;
  k.duration_us = moving_us(o_.gpu, o_.time, bytes);
  k.host_us = host_us;
  return k;
}

NewKernel RankKernels::copy(std::string_view op, double bytes, double host_us) const {
  return moving(LibraryUse::copy_on_device, op, bytes, host_us);
}

NewKernel RankKernels::list_copy(std::string_view op, double bytes, double host_us) const {
  NewKernel k = moving(LibraryUse::list_copy, op, bytes, host_us);
  k.duration_us *= o_.law.list_copy_factor;
  k.geometry = chunks_geometry(bytes / element_bytes(DataType::fp32));
  return k;
}

NewKernel RankKernels::chunk_copy(std::string_view op, double bytes, double host_us) const {
  const double chunk_bytes = double(multi_tensor_chunk) * element_bytes(DataType::fp32);
  NewKernel k = moving(LibraryUse::list_copy, op, bytes, host_us);
  const double chunks = std::ceil(bytes / chunk_bytes);
  const double full = std::floor(chunks / multi_tensor_chunks);
  const auto launch_us = [&](double moved) {
    return std::hypot(moving_us(o_.gpu, o_.time, moved), o_.law.list_chunk_us);
  };
  const double full_bytes = multi_tensor_chunks * chunk_bytes;
  const double rest = std::max(0.0, bytes - full * full_bytes);
  k.duration_us = full * launch_us(full_bytes) + (rest > 0 ? launch_us(rest) : 0);
  k.geometry = chunks_geometry(bytes / element_bytes(DataType::fp32));
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
