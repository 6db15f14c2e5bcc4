#include "sim/core/string_table.h"

#include <functional>

namespace tandem {

namespace {
std::uint32_t hash_of(std::string_view text) {
  const std::size_t h = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}
}  // namespace

std::size_t StringTable::probe(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != StringId::none_value &&
         (slots_[at].hash != hash || get(StringId{slots_[at].id}) != text)) {
    at = (at + 1) & mask;
  }
  return at;
}

void StringTable::grow() {
  std::vector<Slot> old(slots_.empty() ? 1024 : slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == StringId::none_value) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != StringId::none_value) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

StringId StringTable::intern(std::string_view text) {
  if ((end_.size() + 1) * 2 > slots_.size()) grow();
  const std::uint32_t hash = hash_of(text);
  const std::size_t at = probe(text, hash);
  if (slots_[at].id == StringId::none_value) {
    slots_[at] = {hash, static_cast<std::uint32_t>(end_.size())};
    text_.append({text.data(), text.size()});
    end_.push_back(text_.size());
  }
  return StringId{slots_[at].id};
}

StringId StringTable::find(std::string_view text) const {
  if (slots_.empty()) return {};
  return StringId{slots_[probe(text, hash_of(text))].id};
}

std::string_view StringTable::get(StringId id) const {
  if (!id.valid() || id.index() >= end_.size()) return {};
  const std::uint64_t from = id.index() == 0 ? 0 : end_[id.index() - 1];
  return {text_.begin() + from, static_cast<std::size_t>(end_[id.index()] - from)};
}

}  // namespace tandem
