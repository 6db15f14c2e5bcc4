// How much of a trace is held in memory, whatever the size of the file: what importers keep, and
// where they refuse.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::limits {

/// Events that become rows: operations, calls, device work, marks. Of a longer trace the beginning
/// is kept: its first steps, as many as fit.
inline constexpr std::size_t rows = 4'000'000;

/// Different threads, streams and GPUs of a trace. Real ones have some hundreds.
inline constexpr std::size_t threads = 4'096;
inline constexpr std::size_t streams = 4'096;

inline constexpr std::size_t devices = 1'024;

/// Blocks of one launch. A GPU of 150 SMs that starts one on each at every clock of 2 GHz takes
/// four seconds for them; what they do is counted in 64 bits.
inline constexpr std::int64_t blocks = std::int64_t{1} << 40;

/// Different collectives: kind, size, type and ranks.
inline constexpr std::size_t collectives = 65'536;

/// Different names of all kinds, together.
inline constexpr std::size_t text_bytes = std::size_t{256} << 20;
/// Different lists of operands, together. Those beyond are taken as not recorded.
inline constexpr std::size_t operand_bytes = std::size_t{512} << 20;

/// One event, one value beside the events, blanks in a row, all values beside them that are read.
inline constexpr std::size_t element_bytes = std::size_t{8} << 20;
/// A value beside the events that passes by unread.
inline constexpr std::size_t skipped_bytes = std::size_t{1} << 30;
/// A database that is compressed, and so read in memory.
inline constexpr std::size_t database_bytes = std::size_t{1} << 30;

}  // namespace tandem::limits
