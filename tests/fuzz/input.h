// An input of a fuzz target: its bytes as a file, and what it may be answered with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sim/core/error.h"

// Heads the function that libFuzzer calls, of the target `name`. Programs have one such function
// each; where targets are only compiled, all at once, it has a name of its own.
#ifdef TANDEM_FUZZ_ONLY_COMPILED
#define TANDEM_FUZZ_TARGET(name) int name##_target(const std::uint8_t* data, std::size_t size)
#else
#define TANDEM_FUZZ_TARGET(name) \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
#endif

namespace tandem::fuzz {

using Bytes = std::span<const std::uint8_t>;

/// The first bytes of an input choose options, the rest is the file; all zero chooses none.
inline constexpr std::size_t choice_bytes = 8;

struct Input {
  Bytes choice, file;
};
Input split(Bytes bytes);

/// A file in memory that has a path, with this ending if one is given.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes content, const std::string& ending = "");
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
  bool linked_ = false;
};

/// What `work` refuses is fine (an InputError whose text says what was found and expected);
/// whatever else it throws is a bug and ends the program.
template <class Work>
void refusals_are_fine(Work work);

/// Of an InputError. Ends the program where found and expected are missing.
void check_refusal(const std::string& message);

template <class Work>
void refusals_are_fine(Work work) {
  try {
    work();
  } catch (const InputError& refused) {
    check_refusal(refused.what());
  }
}

}  // namespace tandem::fuzz
