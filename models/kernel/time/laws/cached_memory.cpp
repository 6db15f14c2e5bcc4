#include "models/kernel/time/laws/cached_memory.h"

#include "models/kernel/time/rates.h"
#include "sim/core/fields/field.h"

namespace tandem {

std::vector<Field<CachedMemory>> cached_memory_fields() {
  using M = CachedMemory;
  std::vector<Field<M>> fields{
      field("dram_share", "ratio", "sustained / peak DRAM rate", &M::dram_share),
      field("l2_gain", "ratio", "rate from the L2 / from DRAM", &M::l2_gain)};
  add_fields(
      fields, &M::l2,
      {field("l2_full_share", "ratio", "bytes / L2 size up to which all hit", &L2Keeps::full_share),
       field("l2_none_share", "ratio", "bytes / L2 size from which none hit",
             &L2Keeps::none_share)});
  fields.push_back(field("lone_dram", "ratio",
                         "time from DRAM / from L2 of kernels with at most one block per SM",
                         &M::lone_dram));
  return fields;
}

double cached_memory_us(const GpuArch& gpu, const CachedMemory& memory, double bytes) {
  const double hits = l2_kept(gpu, bytes, memory.l2);
  const double us = dram_us(gpu, bytes, memory.dram_share);
  return us * ((1 - hits) + hits / memory.l2_gain);
}

double lone_blocks_time(const GpuArch& gpu, const CachedMemory& memory, double bytes) {
  return bytes * (1 + (memory.lone_dram - 1) * (1 - l2_kept(gpu, bytes, memory.l2)));
}

}  // namespace tandem
