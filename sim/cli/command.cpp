#include "sim/cli/command.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/core/error.h"

namespace tandem {

std::string data_root() {
  namespace fs = std::filesystem;
  std::vector<std::string> places;
  if (const char* set = std::getenv("TANDEM_ROOT"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) places.push_back((program.parent_path() / "../share/tandem").lexically_normal());
    places.emplace_back(TANDEM_DEFAULT_ROOT);
  }
  for (const std::string& place : places) {
    if (fs::is_directory(place + "/configs/gpus")) return place;
  }
  throw InputError(places.back(), "", "no folder configs/gpus",
                   "tandem's source or install tree; set TANDEM_ROOT");
}

}  // namespace tandem
