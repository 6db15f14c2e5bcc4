#include "sim/core/collective.h"

#include <algorithm>
#include <iterator>

#include "sim/core/named.h"

namespace tandem {

namespace {

constexpr std::string_view names[] = {
    "unknown", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",
    "reduce",  "gather",     "scatter",    "point_to_point", "barrier"};
static_assert(std::size(names) == values_up_to(CollectiveKind::barrier));

struct Spelling {
  std::string_view part;
  CollectiveKind kind;
};

using K = CollectiveKind;

// In lower case and without underscores; special before general.
constexpr Spelling spellings[] = {
    {"reducescatter", K::reduce_scatter},
    {"allreduce", K::all_reduce},
    {"allgather", K::all_gather},
    {"alltoall", K::all_to_all},
    {"broadcast", K::broadcast},
    {"reduce", K::reduce},
    {"gather", K::gather},
    {"scatter", K::scatter},
    {"sendrecv", K::point_to_point},
    {"send", K::point_to_point},
    {"recv", K::point_to_point},
    {"barrier", K::barrier},
};

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_') continue;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  }
  return out;
}

}  // namespace

std::string_view to_string(CollectiveKind kind) { return names[static_cast<std::size_t>(kind)]; }

CollectiveKind parse_collective(std::string_view name) {
  constexpr std::string_view prefix = "nccl:";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  const std::string text = folded(name);
  const auto* const found =
      std::find_if(std::begin(spellings), std::end(spellings),
                   [&](const Spelling& s) { return text.starts_with(s.part); });
  return found == std::end(spellings) ? K::unknown : found->kind;
}

CollectiveKind collective_of_kernel(std::string_view name) {
  // ncclKernel_AllReduce_RING_LL_Sum_float, ncclDevKernel_AllReduce_Sum_f32_RING_LL, and since 2024
  // kernels of several collectives, "ncclDevKernel_Generic", whose name does not tell.
  const std::size_t end = name.find("Kernel_");
  if (!name.starts_with("nccl") || end == std::string_view::npos) return K::unknown;
  return parse_collective(name.substr(end + std::string_view("Kernel_").size()));
}

}  // namespace tandem
