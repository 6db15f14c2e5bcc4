// A result as a SQLite database.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tandem {

/// The bytes of a database file with the tables that docs/guide.md lists: `metrics` has every
/// single value of `result` (result_json) by its path, each list of rows is a table named by its
/// path
/// ("kernels", "fidelity_steps"), and `activities` has the rows of `kernels` (write_kernels_csv).
std::string sqlite_database(const nlohmann::ordered_json& result, std::string_view kernels);

}  // namespace tandem
