#include "sim/core/tensors/operand_table.h"

#include <utility>

namespace tandem {

namespace {
std::uint32_t short_hash(const Operands& operands) {
  const std::uint64_t h = hash_of(operands);
  return static_cast<std::uint32_t>(h ^ (h >> 32U));
}
}  // namespace

// Where `operands` are or belong.
OperandTable::Slot& OperandTable::find(const Operands& operands, std::uint32_t hash) {
  if ((entries_.size() + 1) * 2 > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != OperandsId::none_value &&
         (slots_[at].hash != hash || *entries_[slots_[at].id] != operands)) {
    at = (at + 1) & mask;
  }
  return slots_[at];
}

void OperandTable::grow() {
  std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == OperandsId::none_value) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != OperandsId::none_value) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

OperandsId OperandTable::add(Slot& slot, std::uint32_t hash, Entry entry) {
  slot = {hash, static_cast<std::uint32_t>(entries_.size())};
  bytes_ += memory_bytes(*entry) + sizeof(Entry);
  entries_.push_back(std::move(entry));
  return OperandsId{slot.id};
}

OperandsId OperandTable::intern(Operands operands) {
  const std::uint32_t hash = short_hash(operands);
  Slot& slot = find(operands, hash);
  if (slot.id != OperandsId::none_value) return OperandsId{slot.id};
  return add(slot, hash, std::make_shared<const Operands>(std::move(operands)));
}

OperandsId OperandTable::share(const OperandTable& from, OperandsId id) {
  if (!id.valid()) return {};
  const Entry& entry = from.entries_[id.index()];
  const std::uint32_t hash = short_hash(*entry);
  Slot& slot = find(*entry, hash);
  return slot.id != OperandsId::none_value ? OperandsId{slot.id} : add(slot, hash, entry);
}

const Operands& OperandTable::get(OperandsId id) const {
  static const Operands none;
  return id.valid() ? *entries_[id.index()] : none;
}

}  // namespace tandem
