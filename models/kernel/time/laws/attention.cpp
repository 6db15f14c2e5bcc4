#include "models/kernel/time/laws/attention.h"

#include <algorithm>
#include <cmath>

#include "sim/core/fields/field.h"

namespace tandem {

std::vector<Field<AttentionGrowth>> attention_growth_fields() {
  using G = AttentionGrowth;
  return {field("attention_floor_us", "us", "launch floor, fused attention", &G::floor_us),
          field("attention_cache_floor_us", "us",
                "of a few queries, before keys and values are read as fast as memory gives them",
                &G::cache_floor_us),
          field("attention_lone_waves", "waves", "waves below which attention does not get faster",
                &G::lone_waves)};
}

double attention_blocks(const AttentionShape& shape) {
  constexpr double query_tile = 128;
  return double(shape.heads) * std::ceil(double(shape.queries) / query_tile);
}

double attention_waves(const GpuArch& gpu, const AttentionGrowth& growth, double blocks,
                       bool persistent) {
  const double waves = blocks / gpu.sm_count;
  return persistent ? std::ceil(waves) : std::max(growth.lone_waves, waves);
}

}  // namespace tandem
