// What Kineto writes about the operands of an operation, as typed operands.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/string_table.h"
#include "sim/core/tensors/operand_table.h"
#include "sim/core/tensors/operands.h"

namespace tandem::kineto {

/// JSON texts of an operation's args, empty where absent: [[32,3],[]], ["float","Scalar"],
/// [[3,1],[]], ["","[1, 1]"].
struct OperandTexts {
  std::string_view dims;      // `Input Dims`
  std::string_view types;     // `Input type`
  std::string_view strides;   // `Input Strides`
  std::string_view concrete;  // `Concrete Inputs`
};

/// Errors: InputError that names the argument and the character if a text is not what Kineto
/// writes.
Operands parse_operands(const OperandTexts& texts);

/// Parses each distinct text once, and interns what it says.
class OperandReader {
 public:
  explicit OperandReader(OperandTable& table) : table_(table) {}

  /// False if the texts cannot be read; error() then says why.
  bool read(const OperandTexts& texts, OperandsId& id);
  const std::string& error() const { return error_; }

 private:
  struct Known {
    OperandsId id;
    bool readable = false;
  };
  Known parse(const OperandTexts& texts);

  OperandTable& table_;
  StringTable texts_;         // the four of an operation, one behind the other
  std::vector<Known> known_;  // by id in texts_
  std::string scratch_;
  std::string error_;  // of the latest text that could not be read
};

}  // namespace tandem::kineto
