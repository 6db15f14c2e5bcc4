#include "sim/cli/command.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <span>
#include <vector>

#include "sim/core/error.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

/// Where an installed tandem has its data, from the folder of the program (bin) or of the Python
/// module: in a wheel beside it, else above lib/python3/dist-packages/tandem.
constexpr std::string_view from_program[] = {"../share/tandem"};
constexpr std::string_view from_module[] = {"share/tandem", "../../../../share/tandem"};

std::vector<std::string> installed_places() {
  Dl_info info{};
  link_map* loaded = nullptr;
  const void* code = reinterpret_cast<const void*>(&data_root);
  if (dladdr1(code, &info, reinterpret_cast<void**>(&loaded), RTLD_DL_LINKMAP) == 0) return {};
  fs::path file = loaded->l_name;  // empty: of the program itself
  std::span<const std::string_view> places = from_module;
  if (file.empty()) {
    std::error_code error;
    file = fs::read_symlink("/proc/self/exe", error);
    // A bare chroot has no /proc; the kernel has passed the path that was executed.
    if (error) file = fs::canonical(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), error);
    if (error) return {};
    places = from_program;
  }
  std::vector<std::string> found;
  for (const std::string_view place : places) {
    found.push_back((fs::absolute(file).parent_path() / place).lexically_normal());
  }
  return found;
}

}  // namespace

std::string data_root() {
  std::vector<std::string> places;
  if (const char* set = std::getenv("TANDEM_ROOT"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    places = installed_places();
    places.emplace_back(TANDEM_DEFAULT_ROOT);
  }
  for (const std::string& place : places) {
    if (fs::is_directory(place + "/configs/gpus")) return place;
  }
  throw InputError(places.back(), "", "no folder configs/gpus",
                   "tandem's source or install tree; set TANDEM_ROOT");
}

std::string message_of(const fs::filesystem_error& error) {
  return error.path1().string() + ": found " + error.code().message() +
         ", expected a path that can be used";
}

}  // namespace tandem
