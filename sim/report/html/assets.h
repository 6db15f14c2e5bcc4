// The parts of a page that are files of their own, compiled in (assets.cpp.in).
#pragma once

#include <string_view>

namespace tandem {

struct PageAssets {
  std::string_view html, style, script, chart_library, chart_licence;
};
PageAssets page_assets();

}  // namespace tandem
