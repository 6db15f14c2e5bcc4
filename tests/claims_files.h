// Files of claims for tests.
#pragma once

#include <filesystem>
#include <string>

#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"
#include "validation/papers/load.h"

namespace tandem::test {

inline Claims claims_of(const std::string& text) {
  const TempFile file(text, "claims.json");
  return load_claims(std::filesystem::path(file.path()).parent_path().string(),
                     source_dir() + "/configs");
}

/// A file of these claims and further keys.
inline std::string claims_file(const std::string& claims, const std::string& more = "") {
  return R"({"schema": "tandem.claims/1", "chapter": "c", "source": "s",
 "scenarios": {"one": {"program": "square", "gpu": "a100_sxm4_40gb", "blocks": 1, "threads": 1}},
 "claims": )" +
         claims + more + "}";
}

/// A row whose check has these keys.
inline std::string claim_row(const std::string& check) {
  return R"([{"id": "C1", "section": "1", "quantity": "q", )" + check + "}]";
}

}  // namespace tandem::test
