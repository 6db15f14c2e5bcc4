// What ranks tell each other, as bytes. All ranks run the same program, which `hello` proves, so
// numbers are as they lie in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/sweep/run.h"

namespace tandem {

enum class Told : std::uint8_t {
  hello,    // to rank 0: `number` is the hash of the inputs, `rest` how many points it can hold
  refused,  // to rank 0: `rest` says why the rank takes no part
  done,     // to rank 0: `number` is the point, `rest` its outcome
  beat,     // to rank 0: it lives; and from there in answer
  point,    // from rank 0: `number` is a point to run
  stop,     // from rank 0: no more come; `number` is a rank that is lost, 0: none is
};

struct Letter {
  Told told = Told::beat;
  std::uint64_t number = 0;
  std::string rest = {};
};

std::string bytes_of(const Letter& letter);
/// Errors: std::runtime_error for bytes that are none.
Letter letter_of(std::string_view bytes);

std::string outcome_bytes(const Outcome& outcome);
/// Errors: std::runtime_error for bytes that are none.
Outcome outcome_of(std::string_view bytes);

}  // namespace tandem
