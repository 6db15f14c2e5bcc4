#include "models/memory/l2_warm.h"

#include <algorithm>

#include "models/kernel/kinds.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

std::uint64_t tensor_key(double bytes, DataType type) {
  return static_cast<std::uint64_t>(bytes) * 16 + static_cast<std::uint64_t>(type);
}

double unique_bytes(const TensorShape& t) {
  return static_cast<double>(t.elements()) /
         static_cast<double>(std::max<std::int64_t>(t.expanded, 1)) * element_bytes(t.type);
}

// Of the bytes a kernel reads, the share that its tensors miss in L2.
double missed_share(const KernelLaunch& launch, WarmL2& l2) {
  double bytes = 0, missed = 0;
  for (const TensorShape& t : launch.tensors) {
    const double size = unique_bytes(t);
    bytes += size;
    missed += l2.read(tensor_key(size, t.type), size);
  }
  return bytes > 0 ? missed / bytes : 1;
}

}  // namespace

double WarmL2::remove(std::uint64_t tensor, double& dirty) {
  const auto it = std::find_if(entries_.rbegin(), entries_.rend(),
                               [&](const Entry& e) { return finds(e, tensor); });
  if (it == entries_.rend()) return 0;
  const double bytes = it->bytes;
  dirty = it->dirty;
  used_ -= bytes;
  forget(tensor);
  entries_.erase(std::next(it).base());
  return bytes;
}

void WarmL2::forget(std::uint64_t tensor) {
  const auto held = held_.find(tensor);
  if (--held->second == 0) held_.erase(held);
}

double WarmL2::newer_than(std::uint64_t tensor) const {
  double bytes = 0;
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) {
    if (finds(*it, tensor)) break;
    bytes += it->bytes;
  }
  return bytes;
}

void WarmL2::insert(const Entry& entry) {
  entries_.push_back(entry);
  ++held_[entry.tensor];
  used_ += entry.bytes;
  while (used_ > capacity_ && !entries_.empty()) {
    Entry& oldest = entries_.front();
    const double evicted = std::min(oldest.bytes, used_ - capacity_);
    oldest.bytes -= evicted;
    used_ -= evicted;
    const double dirty = std::min(evicted, oldest.dirty);
    oldest.dirty -= dirty;
    written_back_ += dirty;
    if (oldest.bytes > 0) continue;
    forget(oldest.tensor);
    entries_.pop_front();
  }
}

// A kernel reads front to back: what misses pushes out older lines, among them the rest of the
// tensor.
double WarmL2::read(std::uint64_t tensor, double bytes) {
  if (!held_.contains(tensor)) {
    insert({tensor, bytes, 0, kernel_, updates_});
    return bytes;
  }
  double dirty = 0;
  const double newer = newer_than(tensor);
  const double found = std::min(remove(tensor, dirty), bytes);
  const double hits = std::clamp(capacity_ - newer - (bytes - found), 0.0, found);
  const double kept = std::min(dirty, hits);
  written_back_ += dirty - kept;
  insert({tensor, bytes, kept, kernel_, updates_});
  return bytes - hits;
}

void WarmL2::write(std::uint64_t tensor, double bytes) { insert({tensor, bytes, bytes}); }

void WarmL2::write_in_place(std::uint64_t tensor, double bytes) {
  if (!held_.contains(tensor)) return write(tensor, bytes);
  const auto it = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& e) {
    return e.tensor == tensor && e.read_by == kernel_ && e.written_by != kernel_;
  });
  if (it == entries_.rend()) return write(tensor, bytes);
  written_back_ += bytes - it->bytes;  // what did not stay was written on its way
  it->dirty = it->bytes;
  it->written_by = kernel_;
}

double WarmL2::take_written_back() {
  const double bytes = written_back_;
  written_back_ = 0;
  return bytes;
}

void apply_warm_l2(const GpuArch& gpu, std::span<const KernelLaunch> launches,
                   std::span<KernelCost> costs) {
  // All SMs read each tensor, and each partition keeps a copy of what its SMs read.
  WarmL2 l2(static_cast<double>(gpu.l2_bytes) / std::max(1, gpu.l2_partitions));
  // Evicted lines that the kernel was too short to write back; the DRAM writes them during the
  // next.
  double waiting = 0;
  for (std::size_t i = 0; i < launches.size() && i < costs.size(); ++i) {
    const KernelLaunch& launch = launches[i];
    if (launch.family == KernelFamily::transfer) continue;
    l2.next_kernel(row_of(launch.traits).work == WorkRule::update);
    costs[i].dram_read_sectors *= missed_share(launch, l2);
    const double written = launch.work.write_bytes / launch.work.written;
    const std::uint64_t key = tensor_key(written, launch.traits.data);
    if (written > 0 && launch.work.in_place) {
      for (int t = 0; t < launch.work.written; ++t) l2.write_in_place(key, written);
    } else if (written > 0) {
      l2.write(key, written);
    }
    waiting += l2.take_written_back() / sector_bytes;
    const double most = gpu.dram_peak_gbps * 1e3 * costs[i].time_us / sector_bytes;
    costs[i].dram_read_sectors = std::min(costs[i].dram_read_sectors, most);
    costs[i].dram_write_sectors = std::min(waiting, most - costs[i].dram_read_sectors);
    waiting -= costs[i].dram_write_sectors;
  }
}

}  // namespace tandem
