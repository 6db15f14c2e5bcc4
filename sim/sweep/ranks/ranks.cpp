#include "sim/sweep/ranks/ranks.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "sim/core/error.h"

namespace tandem {

namespace {

/// Set by OpenMPI's mpirun: how many ranks there are.
int started_ranks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size == nullptr ? 1 : std::atoi(size);
}

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  const int size = started_ranks();
  if (size < 2) return nullptr;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string library = (program.parent_path() / TANDEM_MPI_LIBRARY).lexically_normal();
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const join = loaded == nullptr ? nullptr : dlsym(loaded, "tandem_join_ranks");
  if (join == nullptr) {
    throw InputError("mpirun", "", std::to_string(size) + " ranks, and " + dlerror(),
                     "tandem built where libboost-mpi-dev is installed (package tandem-mpi), or "
                     "one process");
  }
  return std::unique_ptr<Ranks>(reinterpret_cast<Ranks* (*)()>(join)());
}

}  // namespace tandem
