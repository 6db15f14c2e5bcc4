// SQLite's C interface with owners and errors: what importers read and reports write.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace tandem::sqlite {

class Statement;

/// A database of a file, of bytes in memory, or a new one in memory. Errors, here and in
/// Statement: InputError that names the path and what SQLite says.
class Database {
 public:
  /// To be read only; nothing of its schema is run but plain tables.
  static Database open(const std::string& path);
  static Database open_bytes(const std::string& path, std::string_view content);
  /// Empty, to be written; `path`: for messages.
  static Database create(const std::string& path);

  void run(const std::string& sql);
  Statement prepare(const std::string& sql);
  /// The columns of a table; none if there is no such table. A view or a virtual table, which could
  /// run anything, is an error.
  std::vector<std::string> columns(const std::string& table);
  /// The whole database, as its file would be.
  std::string bytes();

  const std::string& path() const { return path_; }
  [[noreturn]] void fail() const;

 private:
  Database(std::string path, const char* file, int flags);
  void restrict_to_tables();

  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
};

/// Reads rows (`while (next())`) or writes one a time (bind ..., run()). Columns and parameters
/// count from 0.
class Statement {
 public:
  Statement(Database& database, sqlite3_stmt* handle);

  bool next();
  /// Nothing where the value is NULL or no whole number.
  std::optional<std::int64_t> integer(int column) const;
  bool is_null(int column) const;
  /// Empty where the value is NULL. Valid until next().
  std::string_view text(int column) const;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind(int parameter, std::string_view value);
  void bind_null(int parameter);
  /// Writes the row and forgets its values.
  void run();

 private:
  Database& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> handle_;
};

/// A name as SQL wants it: in quotes, those inside doubled.
std::string quoted_name(std::string_view name);

}  // namespace tandem::sqlite
