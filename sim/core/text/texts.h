// Times and names as reports write them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tandem {

/// "1.234 s", "12.345 ms" or "1.2 us".
inline std::string time_text(double us) {
  if (us >= 1e6) return fmt::format("{:.3f} s", us * 1e-6);
  if (us >= 1e3) return fmt::format("{:.3f} ms", us * 1e-3);
  return fmt::format("{:.1f} us", us);
}

/// The name of a kernel without the type that it returns, which is always the same.
inline std::string_view without_void(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name;
}

}  // namespace tandem
