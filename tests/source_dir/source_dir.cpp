#include "tests/source_dir/source_dir.h"

namespace tandem {

std::string source_dir() { return TANDEM_SOURCE_DIR; }

std::string source_path(std::string_view below) { return source_dir().append("/").append(below); }

}  // namespace tandem
