// Uses a header-only and a compiled part of tandem; the install test checks what it prints.
#include <iostream>

#include "sim/core/error.h"
#include "sim/core/time.h"
#include "sim/trace/import.h"

int main() {
  std::cout << tandem::from_us(1.5).count() << " ps\n";
  try {
    tandem::import_trace("no-such-trace.json");
  } catch (const tandem::InputError& error) {
    std::cout << error.what() << '\n';
    return 0;
  }
  return 1;
}
