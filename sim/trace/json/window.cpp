#include "sim/trace/json/window.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/core/error.h"

namespace tandem {

namespace {
constexpr std::size_t front_bytes = 64;  // keeps the frame byte before `begin`, and alignment
}  // namespace

JsonWindow::JsonWindow(ByteSource& source) : source_(source) {
  buffer_.resize(front_bytes + 2 * chunk + padding);
  begin_ = end_ = buffer_.data() + front_bytes;
}

// Moves the unconsumed bytes to the front and makes sure that a chunk fits behind them.
void JsonWindow::make_room() {
  const auto held = static_cast<std::size_t>(end_ - begin_);
  if (held > limit) {
    throw InputError(path(), "byte " + std::to_string(offset(begin_)),
                     "an element longer than 8 MiB", "events and values of ordinary size");
  }
  if (begin_ != buffer_.data() + front_bytes)
    std::memmove(buffer_.data() + front_bytes, begin_, held);
  buffer_.resize(std::max(buffer_.size(), front_bytes + held + chunk + padding));
  begin_ = buffer_.data() + front_bytes;
  end_ = begin_ + held;
}

bool JsonWindow::fill() {
  const char* const usable_end = buffer_.data() + buffer_.size() - padding;
  if (static_cast<std::size_t>(usable_end - end_) < chunk) make_room();
  const std::size_t n = source_.read({end_, chunk});
  end_ += n;
  end_offset_ += static_cast<std::int64_t>(n);
  std::memset(end_, ' ', padding);
  return n > 0;
}

}  // namespace tandem
