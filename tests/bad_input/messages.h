// What a call complains about.
#pragma once

#include <string>

#include "sim/core/error.h"

namespace tandem::test {

/// The text of the InputError that `call` throws, or "no error".
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace tandem::test
