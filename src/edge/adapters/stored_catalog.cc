#include "adapters/stored_catalog.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "adapters/catalog_cells.h"
#include "adapters/catalog_schema.h"
#include "adapters/catalog_source.h"
#include "adapters/catalog_tables.h"
#include "adapters/sql_connection.h"
#include "base/hash.h"
#include "bidder/model.h"

namespace spillway::adapters {

namespace {

using Purpose = SqlDatabase::Purpose;

constexpr std::string_view kMigrationTable = "catalog_migration";

template <typename Row>
std::string column_list() {
  std::string out;
  for (const auto& column : table<Row>().columns) {
    out.append(out.empty() ? "" : ", ").append(column.name);
  }
  return out;
}

uint64_t hash_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return base::hash64(*text);
  }
  if (const auto* number = std::get_if<double>(&cell)) {
    return base::mix64(std::bit_cast<uint64_t>(*number));
  }
  const auto* whole = std::get_if<int64_t>(&cell);
  return whole == nullptr ? 0 : base::mix64(static_cast<uint64_t>(*whole));
}

uint64_t hash_of(std::string_view table, std::span<const Cell> cells) {
  uint64_t hash = base::hash64(table);
  for (const Cell& cell : cells) {
    hash = base::combine64(base::combine64(hash, cell.index()), hash_of(cell));
  }
  return hash;
}

/// Adds the rows of a table to `assembly`, and their hashes, whatever their order, to `revision`.
template <typename Row>
StoreResult<void> read_table(SqlConnection& connection, CatalogAssembly& assembly,
                             uint64_t& revision) {
  const Table<Row>& from = table<Row>();
  const std::string sql = "SELECT " + column_list<Row>() + " FROM " + std::string(from.name) +
                          " ORDER BY " + std::string(from.order_by);
  return connection.query(sql, [&](std::span<const Cell> cells) {
    revision += hash_of(from.name, cells);
    Row row;
    std::string problem = read_row<Row>(cells, row);
    if (problem.empty()) {
      problem = assembly.add(std::move(row));
    }
    return problem.empty()
               ? problem
               : std::string(from.name) + " " + cells::text_of(cells[0]) + ": " + problem;
  });
}

/// Counts what was written, and says so now and then.
class WriteProgress {
 public:
  WriteProgress(size_t total, const OnProgress& on_progress)
      : total_(total), on_progress_(on_progress) {}

  void step() {
    constexpr size_t kEvery = 4096;
    ++done_;
    if (on_progress_ && (done_ % kEvery == 0 || done_ == total_)) {
      on_progress_(done_, total_);
    }
  }

 private:
  size_t total_;
  size_t done_ = 0;
  const OnProgress& on_progress_;
};

template <typename Row>
StoreResult<void> write_table(SqlConnection& connection, const bidder::CatalogRows& rows,
                              WriteProgress& progress) {
  const Table<Row>& to = table<Row>();
  std::vector<Cell> cells;
  return connection.insert(std::string(to.name), column_list<Row>(), to.columns.size(),
                           [&](const SqlConnection::Emit& emit) {
                             for_each_row<Row>(rows, [&](const Row& row) {
                               cells.clear();
                               for (const auto& column : to.columns) {
                                 cells.push_back(column.get(row));
                               }
                               emit(cells);
                               progress.step();
                             });
                           });
}

}  // namespace

StoredCatalog::StoredCatalog(std::unique_ptr<SqlDatabase> database,
                             std::span<const Migration> migrations)
    : database_(std::move(database)), migrations_(migrations) {}

const std::string& StoredCatalog::name() const { return database_->name(); }

StoreResult<std::unique_ptr<SqlConnection>> StoredCatalog::connect(Purpose purpose) {
  return database_->connect(purpose);
}

/// The newest migration that ran; 0 when none did.
StoreResult<int> StoredCatalog::schema_number(SqlConnection& connection) {
  const auto there = connection.has_table(kMigrationTable);
  if (!there) {
    return std::unexpected(there.error());
  }
  int64_t number = 0;
  if (*there) {
    const auto read = connection.query(
        "SELECT COALESCE(MAX(number), 0) FROM catalog_migration",
        [&number](std::span<const Cell> cells) { return cells::read(cells[0], number); });
    if (!read) {
      return std::unexpected(read.error());
    }
  }
  const int newest = migrations_.back().number;
  if (number > newest) {
    return std::unexpected("its schema is number " + std::to_string(number) +
                           ", newer than this program, which knows up to " +
                           std::to_string(newest));
  }
  return static_cast<int>(number);
}

StoreResult<void> StoredCatalog::check_schema(SqlConnection& connection) {
  const auto number = schema_number(connection);
  if (!number) {
    return std::unexpected(number.error());
  }
  if (*number < migrations_.back().number) {
    return std::unexpected((*number == 0 ? "there is no catalog in it"
                                         : "its schema is number " + std::to_string(*number) +
                                               ", older than this program's") +
                           std::string(": run spillway catalog migrate"));
  }
  return {};
}

StoreResult<size_t> StoredCatalog::run_migrations(SqlConnection& connection) {
  if (auto begun = connection.begin_write(); !begun) {
    return std::unexpected(begun.error());
  }
  const auto number = schema_number(connection);
  if (!number) {
    return std::unexpected(number.error());
  }
  std::vector<std::string> statements{
      "CREATE TABLE IF NOT EXISTS catalog_migration (number INTEGER PRIMARY KEY, name TEXT NOT "
      "NULL)"};
  size_t ran = 0;
  for (const Migration& migration : migrations_) {
    if (migration.number <= *number) {
      continue;
    }
    statements.insert(statements.end(), migration.statements.begin(), migration.statements.end());
    statements.push_back("INSERT INTO catalog_migration (number, name) VALUES (" +
                         std::to_string(migration.number) + ", '" + std::string(migration.name) +
                         "')");
    ++ran;
  }
  statements.emplace_back("COMMIT");
  for (const std::string& statement : statements) {
    if (auto done = connection.execute(statement); !done) {
      return std::unexpected(done.error());
    }
  }
  return ran;
}

StoreResult<CatalogReading> StoredCatalog::read_all(SqlConnection& connection) {
  if (auto begun = connection.begin_read(); !begun) {
    return std::unexpected(begun.error());
  }
  if (auto fits = check_schema(connection); !fits) {
    return std::unexpected(fits.error());
  }
  CatalogReading out;
  CatalogAssembly assembly;
  StoreResult<void> read = connection.query(
      "SELECT writes, written_s FROM catalog_written", [&out](std::span<const Cell> cells) {
        std::string problem = cells::read(cells[0], out.writes);
        return problem.empty() ? cells::read(cells[1], out.written_s) : problem;
      });
  for_each_table([&]<typename Row>(const Table<Row>&) {
    if (read) {
      read = read_table<Row>(connection, assembly, out.revision);
    }
  });
  if (read) {
    read = connection.execute("COMMIT");
  }
  if (!read) {
    return std::unexpected(read.error());
  }
  out.rows = assembly.take();
  return out;
}

StoreResult<void> StoredCatalog::write_all(SqlConnection& connection,
                                           const bidder::CatalogRows& rows, int64_t now_s,
                                           const OnProgress& on_progress) {
  StoreResult<void> done = connection.begin_write();
  if (done) {
    done = check_schema(connection);
  }
  constexpr std::array<std::string_view, 7> kChildrenFirst = {
      "creative",     "line_item_radius", "line_item_value", "line_item",
      "campaign_cap", "campaign",         "advertiser"};
  for (const std::string_view child : kChildrenFirst) {
    if (done) {
      done = connection.execute("DELETE FROM " + std::string(child));
    }
  }
  WriteProgress progress(count_rows(rows), on_progress);
  for_each_table([&]<typename Row>(const Table<Row>&) {
    if (done) {
      done = write_table<Row>(connection, rows, progress);
    }
  });
  const std::string when = std::to_string(now_s);
  for (const std::string& statement :
       {"INSERT INTO catalog_written (writes, written_s) SELECT COALESCE(MAX(writes), 0) + 1, " +
            when + " FROM catalog_written",
        std::string("DELETE FROM catalog_written WHERE writes < "
                    "(SELECT MAX(writes) FROM catalog_written)"),
        std::string("COMMIT")}) {
    if (done) {
      done = connection.execute(statement);
    }
  }
  return done;
}

namespace {

/// An error with the store's name before it.
template <typename T>
StoreResult<T> named(const std::string& name, StoreResult<T> result) {
  return result ? std::move(result) : std::unexpected(name + ": " + result.error());
}

}  // namespace

StoreResult<size_t> StoredCatalog::migrate() {
  auto connection = connect(Purpose::kWrite);
  return named(name(), connection ? run_migrations(**connection)
                                  : StoreResult<size_t>(std::unexpected(connection.error())));
}

StoreResult<CatalogReading> StoredCatalog::load() {
  auto connection = connect(Purpose::kRead);
  return named(name(), connection
                           ? read_all(**connection)
                           : StoreResult<CatalogReading>(std::unexpected(connection.error())));
}

StoreResult<void> StoredCatalog::replace(const bidder::CatalogRows& rows, int64_t now_s,
                                         const OnProgress& on_progress) {
  auto connection = connect(Purpose::kRead);
  return named(name(), connection ? write_all(**connection, rows, now_s, on_progress)
                                  : StoreResult<void>(std::unexpected(connection.error())));
}

}  // namespace spillway::adapters
