#include "adapters/sqlite_catalog.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <sqlite3.h>

#include "adapters/catalog_source.h"
#include "adapters/catalog_tables.h"
#include "adapters/sql_connection.h"

namespace spillway::adapters {

namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};

using Handle = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Cell cell_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return static_cast<int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return {};
    default: {
      // The text first: asking for it may change the size.
      const auto* const text = sqlite3_column_blob(statement, column);
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      return std::string(static_cast<const char*>(text), text == nullptr ? 0 : size);
    }
  }
}

int bind(sqlite3_stmt* statement, int at, const Cell& cell) {
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    return sqlite3_bind_int64(statement, at, *whole);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    return sqlite3_bind_double(statement, at, *number);
  }
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, at);
}

class SqliteConnection final : public SqlConnection {
 public:
  explicit SqliteConnection(Handle database) : database_(std::move(database)) {}

  StoreResult<void> begin_read() override { return execute("BEGIN"); }

  StoreResult<void> begin_write() override { return execute("BEGIN IMMEDIATE"); }

  StoreResult<void> execute(const std::string& sql) override {
    const int status = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    return status == SQLITE_OK ? StoreResult<void>() : failure();
  }

  StoreResult<void> query(const std::string& sql, const OnRow& on_row) override {
    auto statement = prepare(sql);
    if (!statement) {
      return std::unexpected(statement.error());
    }
    std::vector<Cell> cells(static_cast<size_t>(sqlite3_column_count(statement->get())));
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(statement->get())) == SQLITE_ROW) {
      for (size_t i = 0; i < cells.size(); ++i) {
        cells[i] = cell_of(statement->get(), static_cast<int>(i));
      }
      if (std::string problem = on_row(cells); !problem.empty()) {
        return std::unexpected(std::move(problem));
      }
    }
    return status == SQLITE_DONE ? StoreResult<void>() : failure();
  }

  StoreResult<void> insert(const std::string& table, const std::string& columns,
                           size_t column_count, const Produce& produce) override {
    std::string marks = "?";
    for (size_t i = 1; i < column_count; ++i) {
      marks += ",?";
    }
    auto statement = prepare("INSERT INTO " + table + " (" + columns + ") VALUES (" + marks + ")");
    if (!statement) {
      return std::unexpected(statement.error());
    }
    StoreResult<void> result;
    produce([&](std::span<const Cell> cells) {
      if (result) {
        result = insert_one(statement->get(), cells);
      }
    });
    return result;
  }

  StoreResult<bool> has_table(std::string_view name) override {
    bool found = false;
    const auto asked = query(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '" + std::string(name) + "'",
        [&found](std::span<const Cell> /*cells*/) {
          found = true;
          return std::string();
        });
    return asked ? StoreResult<bool>(found) : std::unexpected(asked.error());
  }

 private:
  [[nodiscard]] std::unexpected<StoreError> failure() const {
    return std::unexpected(StoreError(sqlite3_errmsg(database_.get())));
  }

  StoreResult<Statement> prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()), &statement,
                           nullptr) != SQLITE_OK) {
      return failure();
    }
    return Statement(statement);
  }

  StoreResult<void> insert_one(sqlite3_stmt* statement, std::span<const Cell> cells) {
    int status = SQLITE_OK;
    for (size_t i = 0; i < cells.size() && status == SQLITE_OK; ++i) {
      status = bind(statement, static_cast<int>(i) + 1, cells[i]);
    }
    if (status == SQLITE_OK) {
      status = sqlite3_step(statement);
    }
    StoreResult<void> result;
    if (status != SQLITE_DONE) {
      result = failure();
    }
    sqlite3_reset(statement);
    return result;
  }

  Handle database_;
};

class SqliteDatabase final : public SqlDatabase {
 public:
  SqliteDatabase(std::string path, StoreSettings settings)
      : path_(std::move(path)), name_("sqlite:" + path_), settings_(settings) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  StoreResult<std::unique_ptr<SqlConnection>> connect(Purpose purpose) override {
    const int create = purpose == Purpose::kWrite ? SQLITE_OPEN_CREATE : 0;
    sqlite3* raw = nullptr;
    const int status = sqlite3_open_v2(
        path_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | create, nullptr);
    Handle database(raw);
    if (status != SQLITE_OK) {
      return std::unexpected(
          StoreError(raw == nullptr ? sqlite3_errstr(status) : sqlite3_errmsg(raw)));
    }
    const auto patience_ms =
        std::min<int64_t>(settings_.patience.count(), std::numeric_limits<int>::max());
    sqlite3_busy_timeout(raw, static_cast<int>(patience_ms));
    auto connection = std::make_unique<SqliteConnection>(std::move(database));
    auto ready = connection->execute("PRAGMA foreign_keys = ON");
    if (ready && purpose == Purpose::kWrite) {
      ready = connection->execute("PRAGMA journal_mode = WAL");
    }
    if (!ready) {
      return std::unexpected(ready.error());
    }
    return connection;
  }

 private:
  std::string path_;
  std::string name_;
  StoreSettings settings_;
};

}  // namespace

std::unique_ptr<SqlDatabase> sqlite_database(std::string path, StoreSettings settings) {
  return std::make_unique<SqliteDatabase>(std::move(path), settings);
}

}  // namespace spillway::adapters
