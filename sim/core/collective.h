// What ranks do together: one collective operation as a rank takes part in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class CollectiveKind : std::uint8_t {
  unknown,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  point_to_point,
  barrier,
};

/// "all_reduce"; "unknown".
std::string_view to_string(CollectiveKind kind);
/// A name as frameworks and libraries write it: "allreduce", "_allgather_base", "nccl:all_to_all".
/// `unknown` for other texts.
CollectiveKind parse_collective(std::string_view name);
/// Of the name of a library's kernel: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)".
CollectiveKind collective_of_kernel(std::string_view name);

/// One collective operation. 0 and empty: not recorded.
struct Collective {
  CollectiveKind kind = CollectiveKind::unknown;
  std::int64_t in_bytes = 0;   // that this rank puts in
  std::int64_t out_bytes = 0;  // that it gets out
  int ranks = 0;               // that take part
  std::string group;           // process group
  std::vector<int> members;    // its ranks
  friend bool operator==(const Collective&, const Collective&) = default;
};

/// The message as NCCL counts it: the larger of what a rank puts in and gets out, bytes.
inline std::int64_t message_bytes(const Collective& c) {
  return c.in_bytes > c.out_bytes ? c.in_bytes : c.out_bytes;
}

}  // namespace tandem
