#include "models/memory/buffer_reuse.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tandem {
namespace {

/// Bytes that a graph holds at each of its kernels, as the compiler expects them.
class ExpectedBytes {
 public:
  explicit ExpectedBytes(std::span<const GraphBuffer> buffers) {
    std::uint32_t kernels = 0;
    for (const GraphBuffer& b : buffers) kernels = std::max({kernels, b.made, b.freed});
    at_.assign(std::size_t{kernels} + 1, 0);
    for (const GraphBuffer& b : buffers) add(b.made, b.stays ? kernels : b.freed, b.bytes);
    most_ = *std::max_element(at_.begin(), at_.end());
  }

  /// Whether a buffer of `bytes` that is freed behind kernel `freed` can wait for kernel `made`;
  /// if so, it does.
  bool wait(std::uint32_t freed, std::uint32_t made, std::int64_t bytes) {
    if (freed + 1 >= made) return true;
    const auto from = at_.begin() + freed + 1, to = at_.begin() + made;
    if (bytes + *std::max_element(from, to) > most_) return false;
    add(freed + 1, made - 1, bytes);
    return true;
  }

 private:
  void add(std::uint32_t first, std::uint32_t last, std::int64_t bytes) {
    for (std::uint32_t k = first; k <= last; ++k) at_[k] += bytes;
  }

  std::vector<std::int64_t> at_;
  std::int64_t most_ = 0;
};

}  // namespace

std::vector<std::uint32_t> takers_over(std::span<const GraphBuffer> buffers) {
  const auto count = static_cast<std::uint32_t>(buffers.size());
  std::vector<std::uint32_t> out(count, no_buffer), by_end;
  std::vector<bool> overwritten(count, false);
  for (std::uint32_t n = 0; n < count; ++n) {
    if (buffers[n].over != no_buffer) overwritten[buffers[n].over] = true;
  }
  for (std::uint32_t n = 0; n < count; ++n) {
    const GraphBuffer& b = buffers[n];
    if (!b.given && !b.stays && !overwritten[n]) by_end.push_back(n);
  }
  std::stable_sort(by_end.begin(), by_end.end(), [&](std::uint32_t a, std::uint32_t b) {
    return buffers[a].freed < buffers[b].freed;
  });
  ExpectedBytes expected(buffers);
  const auto kind = [](const GraphBuffer& b) { return std::tuple(b.type, b.bytes, b.padded); };
  std::map<std::tuple<DataType, std::int64_t, bool>, std::vector<std::uint32_t>> waiting;
  auto end = by_end.begin();
  for (std::uint32_t n = 0; n < count; ++n) {
    const GraphBuffer& b = buffers[n];
    if (b.given || b.by_library || b.over != no_buffer) continue;
    for (; end != by_end.end() && buffers[*end].freed < b.made; ++end) {
      waiting[kind(buffers[*end])].push_back(*end);
    }
    std::vector<std::uint32_t>& same = waiting[kind(b)];
    if (same.empty() || !expected.wait(buffers[same.back()].freed, b.made, b.bytes)) continue;
    out[same.back()] = n;
    same.pop_back();
  }
  return out;
}

}  // namespace tandem
