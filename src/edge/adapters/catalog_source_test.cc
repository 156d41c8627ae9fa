// Both stores, the same tests.
#include "adapters/catalog_source.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp, mkstemp

#include "adapters/catalog_schema.h"
#include "adapters/postgres_catalog.h"
#include "adapters/postgres_fixture.h"
#include "adapters/sql_connection.h"
#include "adapters/sqlite_catalog.h"
#include "adapters/stored_catalog.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"

namespace spillway::adapters {
namespace {

using bidder::CatalogRows;

constexpr int64_t kNow = 1'800'000'000;

/// A database that calls back before each query of a reading: what another writer does meanwhile.
class Interrupted final : public SqlDatabase {
 public:
  Interrupted(std::unique_ptr<SqlDatabase> database, std::function<void(const std::string&)> before)
      : database_(std::move(database)), before_(std::move(before)) {}

  [[nodiscard]] const std::string& name() const override { return database_->name(); }

  StoreResult<std::unique_ptr<SqlConnection>> connect(Purpose purpose) override {
    auto connection = database_->connect(purpose);
    if (!connection) {
      return connection;
    }
    return std::make_unique<Connection>(std::move(*connection), before_);
  }

 private:
  class Connection final : public SqlConnection {
   public:
    Connection(std::unique_ptr<SqlConnection> inner,
               const std::function<void(const std::string&)>& before)
        : inner_(std::move(inner)), before_(before) {}

    StoreResult<void> begin_read() override { return inner_->begin_read(); }

    StoreResult<void> begin_write() override { return inner_->begin_write(); }

    StoreResult<void> execute(const std::string& sql) override { return inner_->execute(sql); }

    StoreResult<void> query(const std::string& sql, const OnRow& on_row) override {
      before_(sql);
      return inner_->query(sql, on_row);
    }

    StoreResult<void> insert(const std::string& table, const std::string& columns, size_t count,
                             const Produce& produce) override {
      return inner_->insert(table, columns, count, produce);
    }

    StoreResult<bool> has_table(std::string_view name) override { return inner_->has_table(name); }

   private:
    std::unique_ptr<SqlConnection> inner_;
    const std::function<void(const std::string&)>& before_;
  };

  std::unique_ptr<SqlDatabase> database_;
  std::function<void(const std::string&)> before_;
};

enum class Kind { kSqlite, kPostgres };

class CatalogSourceTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    static std::atomic<int> number{0};
    const std::string name = "catalog" + std::to_string(++number);
    if (GetParam() == Kind::kSqlite) {
      std::string folder = (std::filesystem::temp_directory_path() / "spillway_db_XXXXXX").string();
      ASSERT_NE(::mkdtemp(folder.data()), nullptr);
      folder_ = folder;
      address_ = "sqlite:" + folder_ + "/" + name + ".db";
      return;
    }
    auto& server = testing::PostgresServer::shared();
    if (server.pid() < 0 && !testing::PostgresServer::installed()) {
      GTEST_SKIP() << server.error();
    }
    ASSERT_GT(server.pid(), 0) << server.error();
    ASSERT_TRUE(server.run_sql("postgres", "CREATE DATABASE " + name));
    address_ = server.address(name);
    database_ = name;
  }

  void TearDown() override {
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  [[nodiscard]] std::unique_ptr<CatalogStore> store() const {
    auto opened = open_catalog(address_);
    EXPECT_TRUE(opened) << opened.error();
    return std::move(*opened);
  }

  [[nodiscard]] std::unique_ptr<SqlDatabase> database() const {
    if (GetParam() == Kind::kSqlite) {
      return sqlite_database(address_.substr(std::string_view("sqlite:").size()), {});
    }
    auto opened = postgres_database(address_, {});
    EXPECT_TRUE(opened) << opened.error();
    return std::move(*opened);
  }

  /// What somebody else does with a client of the database's own.
  void run_sql(const std::string& sql) const {
    if (GetParam() == Kind::kPostgres) {
      EXPECT_TRUE(testing::PostgresServer::shared().run_sql(database_, sql)) << sql;
      return;
    }
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(address_.c_str() + std::string_view("sqlite:").size(), &connection),
              SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(connection);
    sqlite3_close(connection);
  }

  std::string address_;
  std::string folder_;
  std::string database_;
};

/// Rows with everything that is hard to write down.
CatalogRows awkward_rows() {
  CatalogRows rows;
  rows.advertisers = {
      {.id = 1,
       .name = "Käse & \"Co\"\\n\t\n,;'--",
       .domain = "a.example",
       .categories = {"IAB1", "IAB2-3"},
       .time_zone = "Asia/Kolkata"},
      {.id = INT64_MAX, .domain = "b.example", .status = bidder::Status::kArchived}};
  bidder::Campaign campaign{.id = 5, .advertiser = 1, .name = "NULL"};
  campaign.start_s = -1;
  campaign.currency = {{'E', 'U', 'R'}};
  campaign.goal = bidder::Goal::kCpa;
  campaign.goal_value_micros = INT64_MAX;
  campaign.most.micros = 1;
  campaign.margin_ratio = 0.1;
  campaign.pacing = bidder::Pacing::kFrontLoaded;
  campaign.cap_failure = bidder::CapFailure::kOpen;
  campaign.caps = {{.window = bidder::CapWindow::kHour, .most = 0},
                   {.scope = bidder::CapScope::kAdvertiser,
                    .window = bidder::CapWindow::kLifetime,
                    .kind = bidder::CapKind::kSliding,
                    .most = UINT32_MAX}};
  rows.campaigns = {campaign};
  bidder::LineItem always{.id = 7, .campaign = 5};
  bidder::LineItem item{.id = 8, .campaign = 5, .end_s = 1'900'000'000};
  item.targeting.hours = bidder::DayParts();
  item.targeting.hours->set(167);
  item.targeting.of(bidder::Dimension::kSegment) = {.include = {"", "\\N", "a\tb\\"},
                                                    .exclude = {"ü"}};
  item.targeting.of(bidder::Dimension::kDeal).exclude = {"'; DROP TABLE creative; --"};
  item.targeting.radii = {{.lat = 0.1 + 0.2, .lon = -1e-9, .km = 5},
                          {.lat = 1, .lon = 2, .km = 3, .exclude = true}};
  bidder::LineItem never{.id = 9, .campaign = 5};
  never.targeting.hours = bidder::DayParts();
  rows.line_items = {always, item, never};
  rows.creatives = {{.id = 3,
                     .line_item = 8,
                     .media = bidder::Media::kVideo,
                     .w = 65'535,
                     .h = 1,
                     .duration_s = 15,
                     .secure = false,
                     .mime = "video/mp4",
                     .attributes = {1, 16},
                     .apis = {7},
                     .protocols = {2, 3},
                     .language = "en",
                     .markup = "<a>\r\n\\.\n${AUCTION_PRICE}</a>"}};
  return rows;
}

TEST_P(CatalogSourceTest, RowsComeBackAsTheyWereWritten) {
  const auto catalog = store();
  ASSERT_TRUE(catalog->migrate());
  const CatalogRows rows = awkward_rows();
  const auto written = catalog->replace(rows, kNow, {});
  ASSERT_TRUE(written) << written.error();
  const auto reading = catalog->load();
  ASSERT_TRUE(reading) << reading.error();
  EXPECT_EQ(reading->rows, rows);
  EXPECT_EQ(reading->writes, 1U);
  EXPECT_EQ(reading->written_s, kNow);
}

TEST_P(CatalogSourceTest, ANewCatalogReplacesTheOldOneAndIsCounted) {
  const auto catalog = store();
  ASSERT_TRUE(catalog->migrate());
  const auto first = bidder::generate::parity_catalog({.campaigns = 300});
  const auto second = bidder::generate::honest_catalog({.campaigns = 200, .today_s = kNow});
  size_t last_done = 0;
  size_t total = 0;
  ASSERT_TRUE(catalog->replace(first, kNow, {}));
  const auto written = catalog->replace(second, kNow + 1, [&](size_t done, size_t of) {
    EXPECT_GE(done, last_done);
    last_done = done;
    total = of;
  });
  ASSERT_TRUE(written) << written.error();
  EXPECT_GT(total, 0U);
  EXPECT_EQ(last_done, total);
  const auto reading = catalog->load();
  ASSERT_TRUE(reading) << reading.error();
  EXPECT_EQ(reading->rows, second);
  EXPECT_EQ(reading->writes, 2U);
  EXPECT_EQ(reading->written_s, kNow + 1);
}

TEST_P(CatalogSourceTest, TheRevisionIsThatOfTheRowsWhoeverWroteThem) {
  const auto catalog = store();
  ASSERT_TRUE(catalog->migrate());
  ASSERT_TRUE(catalog->replace(awkward_rows(), kNow, {}));
  const uint64_t first = catalog->load()->revision;
  ASSERT_TRUE(catalog->replace(awkward_rows(), kNow + 1, {}));
  EXPECT_EQ(catalog->load()->revision, first);
  run_sql("UPDATE campaign SET status = 'paused'");
  const uint64_t paused = catalog->load()->revision;
  EXPECT_NE(paused, first);
  run_sql("UPDATE campaign SET status = 'active'");
  EXPECT_EQ(catalog->load()->revision, first);
  run_sql("UPDATE campaign SET end_s = 0");
  EXPECT_NE(catalog->load()->revision, first);
}

TEST_P(CatalogSourceTest, AWriteThatFailsChangesNothing) {
  const auto catalog = store();
  ASSERT_TRUE(catalog->migrate());
  const CatalogRows rows = awkward_rows();
  ASSERT_TRUE(catalog->replace(rows, kNow, {}));
  CatalogRows orphan = rows;
  orphan.creatives.front().line_item = 999;
  const auto refused = catalog->replace(orphan, kNow + 1, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().starts_with(catalog->name() + ": ")) << refused.error();
  const auto reading = catalog->load();
  ASSERT_TRUE(reading) << reading.error();
  EXPECT_EQ(reading->rows, rows);
  EXPECT_EQ(reading->writes, 1U);
}

TEST_P(CatalogSourceTest, MigrationsRunOnce) {
  const auto catalog = store();
  const auto first = catalog->migrate();
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(*first, catalog_migrations().size());
  const auto again = catalog->migrate();
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, 0U);
  const auto reading = catalog->load();
  ASSERT_TRUE(reading) << reading.error();
  EXPECT_EQ(reading->rows, CatalogRows());
  EXPECT_EQ(reading->revision, 0U);
}

TEST_P(CatalogSourceTest, OnlyTheMigrationsThatAreMissingRun) {
  StoredCatalog old(database(), catalog_migrations().first(1));
  ASSERT_TRUE(old.migrate());
  const auto early = store()->load();
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().find("older than this program"), std::string::npos) << early.error();
  const auto rest = store()->migrate();
  ASSERT_TRUE(rest) << rest.error();
  EXPECT_EQ(*rest, catalog_migrations().size() - 1);
  EXPECT_TRUE(store()->load());
}

TEST_P(CatalogSourceTest, AFailedMigrationLeavesNothingBehind) {
  constexpr std::array<std::string_view, 2> kBroken{"CREATE TABLE half (id BIGINT)", "nonsense"};
  std::vector<Migration> migrations(catalog_migrations().begin(), catalog_migrations().end());
  migrations.push_back({3, "broken", kBroken});
  StoredCatalog broken(database(), migrations);
  ASSERT_FALSE(broken.migrate());
  const auto whole = store()->migrate();
  ASSERT_TRUE(whole) << whole.error();
  EXPECT_EQ(*whole, catalog_migrations().size());
  EXPECT_FALSE(*(*database()->connect(SqlDatabase::Purpose::kRead))->has_table("half"));
}

TEST_P(CatalogSourceTest, ADatabaseNewerThanTheProgramIsRefused) {
  ASSERT_TRUE(store()->migrate());
  ASSERT_TRUE(store()->replace(awkward_rows(), kNow, {}));
  run_sql("INSERT INTO catalog_migration (number, name) VALUES (7, 'of tomorrow')");
  const auto catalog = store();
  const std::string words = "its schema is number 7, newer than this program";
  const auto migrated = catalog->migrate();
  ASSERT_FALSE(migrated);
  EXPECT_NE(migrated.error().find(words), std::string::npos) << migrated.error();
  const auto loaded = catalog->load();
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().find(words), std::string::npos) << loaded.error();
  const auto written = catalog->replace({}, kNow, {});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().find(words), std::string::npos) << written.error();
}

TEST_P(CatalogSourceTest, ADatabaseWithoutACatalogSaysWhatToRun) {
  // An SQLite file has to be there at all.
  ASSERT_TRUE(database()->connect(SqlDatabase::Purpose::kWrite));
  const auto loaded = store()->load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error(),
            store()->name() + ": there is no catalog in it: run spillway catalog migrate");
}

// A campaign whose targeting came in later would, between the two, be shown to everybody.
TEST_P(CatalogSourceTest, AReadingSeesNothingOfAWriterThatComesBetween) {
  ASSERT_TRUE(store()->migrate());
  const CatalogRows rows = awkward_rows();
  ASSERT_TRUE(store()->replace(rows, kNow, {}));
  bool written = false;
  StoredCatalog reader(std::make_unique<Interrupted>(database(), [&](const std::string& sql) {
    if (sql.contains("FROM line_item_value")) {
      written = true;
      run_sql("INSERT INTO campaign (id, advertiser, most_cpm_micros) VALUES (50, 1, 9)");
      run_sql("INSERT INTO line_item (id, campaign) VALUES (50, 50)");
      run_sql(
          "INSERT INTO line_item_value (line_item, dimension, value) "
          "VALUES (50, 'segment', 'x')");
      run_sql("DELETE FROM creative");
    }
  }));
  const auto during = reader.load();
  ASSERT_TRUE(during) << during.error();
  EXPECT_TRUE(written);
  EXPECT_EQ(during->rows, rows);
  const auto after = store()->load();
  ASSERT_TRUE(after) << after.error();
  EXPECT_EQ(after->rows.campaigns.size(), 2U);
  EXPECT_EQ(after->rows.line_items.back().targeting.of(bidder::Dimension::kSegment).include,
            std::vector<std::string>{"x"});
  EXPECT_TRUE(after->rows.creatives.empty());
}

TEST_P(CatalogSourceTest, ARowThatCannotBeReadIsNamed) {
  ASSERT_TRUE(store()->migrate());
  ASSERT_TRUE(store()->replace(awkward_rows(), kNow, {}));
  run_sql("UPDATE line_item SET hours = 'mon 25' WHERE id = 9");
  const auto hours = store()->load();
  ASSERT_FALSE(hours);
  EXPECT_EQ(hours.error(),
            store()->name() + ": line_item 9: hours: \"25\" is no range of hours (0 to 24)");
  run_sql("UPDATE line_item SET hours = NULL");
  run_sql("UPDATE line_item_value SET dimension = 'planet' WHERE dimension = 'deal'");
  const auto dimension = store()->load();
  ASSERT_FALSE(dimension);
  EXPECT_NE(dimension.error().find("line_item_value 8: dimension: \"planet\" is none of segment"),
            std::string::npos)
      << dimension.error();
}

INSTANTIATE_TEST_SUITE_P(Stores, CatalogSourceTest,
                         ::testing::Values(Kind::kSqlite, Kind::kPostgres),
                         [](const ::testing::TestParamInfo<Kind>& param) {
                           return param.param == Kind::kSqlite ? "Sqlite" : "Postgres";
                         });

}  // namespace
}  // namespace spillway::adapters
