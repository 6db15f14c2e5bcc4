#include "sim/report/sqlite.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/core/sqlite/database.h"
#include "sim/core/text/numbers.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/runtime_metrics.h"
#include "sim/metrics/step_metrics.h"
#include "sim/predict/result.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;
using sqlite::Database;
using sqlite::quoted_name;
using sqlite::Statement;

/// What is known of a number of the result by the last part of its path.
struct Meaning {
  std::string_view unit, description;
};

Meaning meaning_of(std::string_view name) {
  const auto find = [&](const auto& infos, Meaning& found) {
    for (const auto& info : infos) {
      if (info.name == name) found = {info.unit, info.description};
    }
  };
  Meaning found;
  find(step_metric_infos(), found);
  find(gpu_metric_infos(), found);
  find(runtime_metric_infos(), found);
  find(energy_infos(), found);
  return found;
}

void bind_value(Statement& row, int parameter, const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return row.bind_null(parameter);
    case Json::value_t::boolean:
      return row.bind(parameter, static_cast<std::int64_t>(value.get<bool>()));
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return row.bind(parameter, value.get<std::int64_t>());
    case Json::value_t::number_float: return row.bind(parameter, value.get<double>());
    case Json::value_t::string: return row.bind(parameter, value.get_ref<const std::string&>());
    default: return row.bind(parameter, value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

std::string_view type_of(const Json& value) {
  if (value.is_number_float()) return "REAL";
  return value.is_number() || value.is_boolean() ? "INTEGER" : "TEXT";
}

/// Creates a table; `columns`: name and type of each. The statement adds rows to it.
Statement create_table(Database& database, const std::string& table,
                       const std::vector<std::pair<std::string, std::string_view>>& columns) {
  std::vector<std::string> declared;
  for (const auto& [name, type] : columns)
    declared.push_back(quoted_name(name) + " " + std::string(type));
  database.run(fmt::format("CREATE TABLE {} ({})", quoted_name(table), fmt::join(declared, ", ")));
  const std::vector<std::string_view> places(columns.size(), "?");
  return database.prepare(
      fmt::format("INSERT INTO {} VALUES ({})", quoted_name(table), fmt::join(places, ", ")));
}

/// A column has the type of the first row that knows its value.
void add_rows(Database& database, const std::string& table, const Json& rows) {
  std::vector<std::pair<std::string, std::string_view>> columns;
  for (const auto& [name, first] : rows.front().items()) {
    const auto known = std::find_if(rows.begin(), rows.end(), [&, &key = name](const Json& row) {
      return !row[key].is_null();
    });
    columns.emplace_back(name, type_of(known == rows.end() ? first : (*known)[name]));
  }
  Statement insert = create_table(database, table, columns);
  for (const Json& row : rows) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      bind_value(insert, static_cast<int>(c), row.value(columns[c].first, Json()));
    }
    insert.run();
  }
}

bool is_table(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_object(); });
}

/// Walks the objects of a result; `path` is "" or ends in '.'.
void add_object(Database& database, Statement& metrics, const std::string& path,
                const Json& object) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      add_object(database, metrics, path + name + ".", value);
    } else if (is_table(value)) {
      std::string table = path + name;
      std::replace(table.begin(), table.end(), '.', '_');
      add_rows(database, table, value);
    } else if (!value.is_array()) {
      const Meaning meaning = meaning_of(name);
      metrics.bind(0, path + name);
      bind_value(metrics, 1, value);
      if (!meaning.unit.empty()) metrics.bind(2, meaning.unit);
      if (!meaning.description.empty()) metrics.bind(3, meaning.description);
      metrics.run();
    }
  }
}

struct Cell {
  std::string text;
  bool quoted = false;
};

/// The first line of `csv` as cells, taken from its front. Of our own writers: quoted cells are
/// texts, doubled quotes inside.
std::vector<Cell> take_line(std::string_view& csv) {
  std::vector<Cell> cells(1);
  bool inside = false;
  std::size_t at = 0;
  for (; at < csv.size() && (inside || csv[at] != '\n'); ++at) {
    const char c = csv[at];
    if (c == '"' && inside && at + 1 < csv.size() && csv[at + 1] == '"') {
      cells.back().text += csv[++at];
    } else if (c == '"') {
      inside = !inside;
      cells.back().quoted = true;
    } else if (c == ',' && !inside) {
      cells.emplace_back();
    } else {
      cells.back().text += c;
    }
  }
  csv.remove_prefix(std::min(csv.size(), at + 1));
  return cells;
}

/// Numbers are read here: SQLite's own reading of decimals differs from version to version in the
/// last digit (3.43 and later), and the same result must give the same table everywhere.
void bind_cell(Statement& row, int parameter, const Cell& cell) {
  if (cell.quoted) {
    row.bind(parameter, cell.text);
  } else if (const auto whole = plain_number<std::int64_t>(cell.text)) {
    row.bind(parameter, *whole);
  } else if (const auto number = plain_number<double>(cell.text)) {
    row.bind(parameter, *number);
  } else {
    row.bind(parameter, cell.text);
  }
}

/// What is not known is NULL.
void add_activities(Database& database, std::string_view csv) {
  const std::vector<Cell> header = take_line(csv);
  std::vector<std::pair<std::string, std::string_view>> columns;
  std::string_view first_row = csv;
  const std::vector<Cell> first = take_line(first_row);
  for (std::size_t c = 0; c < header.size(); ++c) {
    const bool text = c < first.size() && first[c].quoted;
    columns.emplace_back(header[c].text, text ? "TEXT" : "NUMERIC");
  }
  Statement insert = create_table(database, "activities", columns);
  while (!csv.empty()) {
    const std::vector<Cell> cells = take_line(csv);
    for (std::size_t c = 0; c < std::min(cells.size(), columns.size()); ++c) {
      if (!cells[c].text.empty()) bind_cell(insert, static_cast<int>(c), cells[c]);
    }
    insert.run();
  }
}

}  // namespace

std::string sqlite_database(const Json& result, std::string_view kernels) {
  Database database = Database::create("SQLite");
  database.run("BEGIN");
  {
    Statement metrics = create_table(
        database, "metrics",
        {{"name", "TEXT PRIMARY KEY"}, {"value", ""}, {"unit", "TEXT"}, {"description", "TEXT"}});
    add_object(database, metrics, "", result);
    add_activities(database, kernels);
  }
  database.run("COMMIT");
  return database.bytes();
}

}  // namespace tandem
