// Interned operands: equal ones are stored once and named by a 32-bit id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

/// Entries never change. Copies of a table share them, so that a copy costs a pointer an entry and
/// a reference that get() returns holds as long as any table with the entry does.
class OperandTable {
 public:
  OperandsId intern(Operands operands);
  /// Those of `id`; none for an invalid id.
  const Operands& get(OperandsId id) const;
  /// The entry of another table, which is shared.
  OperandsId share(const OperandTable& from, OperandsId id);
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_ + slots_.size() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = OperandsId::none_value;
  };
  using Entry = std::shared_ptr<const Operands>;
  Slot& find(const Operands& operands, std::uint32_t hash);
  OperandsId add(Slot& slot, std::uint32_t hash, Entry entry);
  void grow();

  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t bytes_ = 0;
};

}  // namespace tandem
