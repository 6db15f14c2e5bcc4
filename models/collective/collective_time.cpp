#include "models/collective/collective_time.h"

#include <algorithm>

namespace tandem {

namespace {

/// What one rank sends, as a multiple of the message, and in how many steps of the ring.
struct Route {
  double share = 0;
  double steps = 0;
};

/// Rings of NCCL. Among the GPUs of one host its tuning takes rings for all of these: a tree needs
/// as many steps there and moves half the data a second (src/graph/tuning.cc, 2.28: ratio 0.5 of
/// trees, latency of both 2 (ranks - 1) hops).
Route ring_route(CollectiveKind kind, double ranks) {
  const double others = ranks - 1;
  switch (kind) {
    case CollectiveKind::all_reduce: return {2 * others / ranks, 2 * others};
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return {others / ranks, others};
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce: return {1, others};
    case CollectiveKind::barrier: return {0, 2 * others};
    default: return {};
  }
}

/// Sends between pairs of ranks, all at once.
Route direct_route(CollectiveKind kind, double ranks) {
  const double others = ranks - 1;
  switch (kind) {
    case CollectiveKind::all_to_all:
    case CollectiveKind::gather:
    case CollectiveKind::scatter: return {others / ranks, 1};
    case CollectiveKind::point_to_point: return {1, 1};
    default: return {};
  }
}

/// Rate of the kind's rings over that of all-reduces between two ranks.
double kind_factor(CollectiveKind kind, const CollectiveLaw& law, int ranks) {
  const bool more = ranks > 2;
  switch (kind) {
    case CollectiveKind::all_reduce: return more ? law.more_reduce_factor : 1;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return law.gather_factor * (more ? law.more_gather_factor : 1);
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce: return law.broadcast_factor;
    default: return 1;
  }
}

constexpr double bytes_per_us = 1e3;  // of 1 GB/s

double protocol_us(const LinkProtocol& p, double gbps, const Route& route, double wire_bytes) {
  double rate = gbps * p.link_share;
  if (p.most_gbps > 0) rate = std::min(rate, p.most_gbps);
  return p.base_us + p.hop_us * std::max(0.0, route.steps - 1) + wire_bytes / (rate * bytes_per_us);
}

}  // namespace

double link_gbps(const GpuArch& gpu, const CollectiveLaw& law, int ranks) {
  const bool linked = gpu.nvlink_gbps > 0 && ranks <= gpu.nvlink_gpus;
  return linked ? gpu.nvlink_gbps / 2 : gpu.pcie_copy_gbps * law.pcie_share;
}

CollectiveTime collective_time(const GpuArch& gpu, const CollectiveLaw& law,
                               const Collective& collective, int ranks) {
  CollectiveTime out;
  const double bytes = static_cast<double>(message_bytes(collective));
  const double gbps = link_gbps(gpu, law, ranks);
  const Route ring = ring_route(collective.kind, ranks);
  const Route direct = direct_route(collective.kind, ranks);
  out.known = ranks > 1 && (ring.steps > 0 || direct.steps > 0) && gbps > 0 &&
              (bytes > 0 || collective.kind == CollectiveKind::barrier);
  if (!out.known) return out;
  if (direct.steps > 0) {
    out.wire_bytes = bytes * direct.share;
    const double share = law.direct_link_share * (ranks > 2 ? law.more_direct_factor : 1);
    out.us = law.direct_base_us + out.wire_bytes / (gbps * share * bytes_per_us);
    out.algorithm = "direct";
    out.protocol = "Simple";
    return out;
  }
  out.wire_bytes = bytes * ring.share;
  out.algorithm = "ring";
  struct Choice {
    const LinkProtocol& protocol;
    std::string_view name;
  };
  // NCCL predicts the time of each protocol in the same way and takes the shortest. Its LL128 never
  // is on rings within a host: its tuning gives it more latency than Simple and less bandwidth.
  const double rate = gbps * kind_factor(collective.kind, law, ranks);
  for (const Choice& c : {Choice{law.low_latency, "LL"}, Choice{law.simple, "Simple"}}) {
    const double us = protocol_us(c.protocol, rate, ring, out.wire_bytes);
    if (!out.protocol.empty() && us >= out.us) continue;
    out.us = us;
    out.protocol = c.name;
  }
  return out;
}

Collective among(Collective c, int ranks) {
  if (c.ranks <= 0 || ranks == c.ranks) return c;
  const auto rescaled = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(static_cast<double>(bytes) * c.ranks / ranks);
  };
  if (c.kind == CollectiveKind::all_gather) c.in_bytes = rescaled(c.in_bytes);
  if (c.kind == CollectiveKind::reduce_scatter) c.out_bytes = rescaled(c.out_bytes);
  c.ranks = ranks;
  c.members.clear();
  return c;
}

}  // namespace tandem
