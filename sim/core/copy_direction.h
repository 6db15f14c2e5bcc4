// Between which memories a copy goes, as profilers name it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

enum class CopyDirection : std::uint8_t { unknown, to_device, to_host, on_device };

/// Of an activity's name, e.g. "Memcpy HtoD (Pageable -> Device)".
inline CopyDirection copy_direction(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("HtoD")) return CopyDirection::to_device;
  if (has("DtoH")) return CopyDirection::to_host;
  if (has("DtoD")) return CopyDirection::on_device;
  return CopyDirection::unknown;
}

/// True of a copy whose host side is pageable memory: the driver stages it through memory of its
/// own.
inline bool copies_pageable(std::string_view name) {
  return name.find("Pageable") != name.npos || name.find("pageable") != name.npos;
}

}  // namespace tandem
