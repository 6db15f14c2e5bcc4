#include "models/kernel/kinds.h"

#include <iterator>

namespace tandem {
namespace {

constexpr KindRow rows[] = {
#define KIND(name_, family_, role_, work_, time_, memory_, ...) \
  {.kind = Kind::name_,                                         \
   .name = #name_,                                              \
   .family = KernelFamily::family_,                             \
   .role = Role::role_,                                         \
   .work = WorkRule::work_,                                     \
   .time = TimeLaw::time_,                                      \
   .memory = MemoryClass::memory_,                              \
   __VA_ARGS__},
#include "models/kernel/kinds.def"
#undef KIND
};

constexpr std::string_view law_names[] = {"matrix",     "convolution", "attention", "memory",
                                          "layer_norm", "softmax",     "channels",  "throughput",
                                          "latency",    "link",        "none"};
static_assert(std::size(law_names) == values_up_to(TimeLaw::none));

}  // namespace

std::span<const KindRow> kind_rows() { return rows; }

const KindRow& row_of(Kind kind) { return rows[static_cast<std::size_t>(kind)]; }

const KindRow& row_of(const KernelTraits& traits) { return row_of(traits.kind); }

std::string_view kind_name(const KernelTraits& traits) { return row_of(traits).key; }

bool is_helper(const KernelTraits& traits) { return row_of(traits).role != Role::main; }

bool is_set_up(const KernelTraits& traits) { return row_of(traits).role == Role::set_up; }

bool has_fixed_size(const KernelTraits& traits) {
  return is_set_up(traits) || row_of(traits).fixed_size;
}

std::string_view to_string(TimeLaw law) { return law_names[static_cast<std::size_t>(law)]; }

}  // namespace tandem
