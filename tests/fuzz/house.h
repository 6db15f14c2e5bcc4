// What the fuzz targets share: the input as a file, options by choice, and a run through the whole
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sim/predict/predict.h"

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

/// A file of the repository.
std::string in_repository(const std::string& path);
/// Those of the repository, read once.
const Configs& configs();
/// A small training step, read once.
const TracedRun& small_run();

/// Mode, profiler and up to three what-ifs of transforms(), from `choice`.
ReplayOptions options_of(Bytes choice);

/// What `work` refuses is fine (an InputError whose text says what was found and expected);
/// whatever else it throws is a bug and ends the program.
template <class Work>
void refusals_are_fine(Work work);

/// Writes what a replay found as the commands do: result, table of kernels, timelines, summary.
void write_all(const Replay& done);
/// Predicts a scenario of `run` first.
void write_all(TracedRun run, const ReplayOptions& options);

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
