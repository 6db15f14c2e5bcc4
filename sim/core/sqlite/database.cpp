#include "sim/core/sqlite/database.h"

#include <sqlite3.h>

#include <cstring>

#include "sim/core/error.h"

namespace tandem::sqlite {

namespace {

/// The longest text or row that is read; kernels' names are the longest of them.
constexpr int most_bytes = 16 << 20;

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out += '"';
}

Database::Database(std::string path, const char* file, int flags)
    : path_(std::move(path)), handle_(nullptr, sqlite3_close) {
  sqlite3* handle = nullptr;
  const int status = sqlite3_open_v2(file, &handle, flags, nullptr);
  handle_.reset(handle);
  if (status != SQLITE_OK) fail();
}

// Files come from anywhere: no function with side effects, no extension, no endless text.
void Database::restrict_to_tables() {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_LENGTH, most_bytes);
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_ATTACHED, 0);
}

Database Database::open(const std::string& path) {
  Database database(path, path.c_str(), SQLITE_OPEN_READONLY);
  database.restrict_to_tables();
  return database;
}

Database Database::open_bytes(const std::string& path, std::string_view content) {
  Database database(path, ":memory:", SQLITE_OPEN_READWRITE);
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(content.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, content.data(), content.size());
  const auto size = static_cast<sqlite3_int64>(content.size());
  if (sqlite3_deserialize(database.handle_.get(), "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
      SQLITE_OK) {
    database.fail();
  }
  database.restrict_to_tables();
  return database;
}

Database Database::create(const std::string& path) {
  return {path, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
}

void Database::fail() const {
  throw InputError(path_, "", sqlite3_errmsg(handle_.get()), "a SQLite database that is whole");
}

void Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

Statement Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  const int length = static_cast<int>(sql.size());
  if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), length, &statement, nullptr) != SQLITE_OK) {
    fail();
  }
  return {*this, statement};
}

std::vector<std::string> Database::columns(const std::string& table) {
  Statement kind = prepare("SELECT type, sql FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE");
  kind.bind(0, table);
  if (!kind.next()) return {};
  if (kind.text(0) != "table" || kind.text(1).starts_with("CREATE VIRTUAL")) {
    throw InputError(path_, table, "a " + std::string(kind.text(0)) + " that is no plain table",
                     "a table");
  }
  // Kind 2 and 3 of table_xinfo are columns that are computed when they are read.
  Statement list = prepare("SELECT name, hidden FROM pragma_table_xinfo(?1)");
  list.bind(0, table);
  std::vector<std::string> names;
  while (list.next()) {
    if (list.integer(1) == 0) names.emplace_back(list.text(0));
  }
  return names;
}

std::string Database::bytes() {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> content(
      sqlite3_serialize(handle_.get(), "main", &size, 0), sqlite3_free);
  if (content == nullptr) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(content.get()), static_cast<std::size_t>(size)};
}

Statement::Statement(Database& database, sqlite3_stmt* handle)
    : database_(database), handle_(handle, sqlite3_finalize) {}

bool Statement::next() {
  const int status = sqlite3_step(handle_.get());
  if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail();
  return status == SQLITE_ROW;
}

std::optional<std::int64_t> Statement::integer(int column) const {
  if (sqlite3_column_type(handle_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(handle_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::text(int column) const {
  const auto* bytes = sqlite3_column_text(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

void Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(handle_.get(), parameter + 1, value);
}

void Statement::bind(int parameter, double value) {
  sqlite3_bind_double(handle_.get(), parameter + 1, value);
}

void Statement::bind(int parameter, std::string_view value) {
  sqlite3_bind_text64(handle_.get(), parameter + 1, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}

void Statement::bind_null(int parameter) { sqlite3_bind_null(handle_.get(), parameter + 1); }

void Statement::run() {
  next();
  sqlite3_reset(handle_.get());
  sqlite3_clear_bindings(handle_.get());
}

}  // namespace tandem::sqlite
