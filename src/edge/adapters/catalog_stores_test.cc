// What only one kind of store can meet.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkstemp

#include "adapters/catalog_source.h"
#include "adapters/postgres_fixture.h"

namespace spillway::adapters {
namespace {

TEST(SqliteCatalog, AFileThatIsNotThereIsNamedAndNotMade) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "spillway_no_such_folder/c.db").string();
  const auto loaded = (*open_catalog("sqlite:" + path))->load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error(), "sqlite:" + path + ": unable to open database file");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SqliteCatalog, AFileOfSomethingElseIsNamed) {
  std::string path = (std::filesystem::temp_directory_path() / "spillway_XXXXXX").string();
  ASSERT_GE(::mkstemp(path.data()), 0);
  std::ofstream(path) << std::string(4096, 'x');
  const auto loaded = (*open_catalog("sqlite:" + path))->load();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error(), "sqlite:" + path + ": file is not a database");
  std::filesystem::remove(path);
}

TEST(PostgresCatalog, AServerThatIsNotThereIsNamedWithoutItsPassword) {
  const std::string folder = std::filesystem::temp_directory_path().string() + "/no_such_folder";
  const auto loaded = (*open_catalog("postgres://u:geheim@/shop?host=" + folder))->load();
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.error().starts_with("postgres://" + folder + "/shop: ")) << loaded.error();
  EXPECT_EQ(loaded.error().find("geheim"), std::string::npos) << loaded.error();
}

TEST(PostgresCatalog, AServerThatWasKilledIsNamedAndFoundAgainWhenItIsBack) {
  if (!testing::PostgresServer::installed()) {
    GTEST_SKIP() << "PostgreSQL 15 is not installed";
  }
  testing::PostgresServer server;
  ASSERT_GT(server.pid(), 0) << server.error();
  const auto catalog = *open_catalog(server.address("postgres"));
  ASSERT_TRUE(catalog->migrate());
  ASSERT_TRUE(catalog->load());
  server.stop();
  const auto gone = catalog->load();
  ASSERT_FALSE(gone);
  EXPECT_TRUE(gone.error().starts_with(catalog->name() + ": ")) << gone.error();
  server.start();
  ASSERT_GT(server.pid(), 0) << server.error();
  const auto back = catalog->load();
  EXPECT_TRUE(back) << back.error();
}

TEST(PostgresCatalog, AServerThatFreezesIsGivenUp) {
  if (!testing::PostgresServer::installed()) {
    GTEST_SKIP() << "PostgreSQL 15 is not installed";
  }
  testing::PostgresServer server;
  ASSERT_GT(server.pid(), 0) << server.error();
  const auto catalog =
      *open_catalog(server.address("postgres"), {.patience = std::chrono::milliseconds(200)});
  ASSERT_TRUE(catalog->migrate());
  ::kill(server.pid(), SIGSTOP);
  const auto frozen = catalog->load();
  ASSERT_FALSE(frozen);
  EXPECT_NE(frozen.error().find("timeout expired"), std::string::npos) << frozen.error();
  ::kill(server.pid(), SIGCONT);
  const auto back = catalog->load();
  EXPECT_TRUE(back) << back.error();
}

TEST(OpenCatalog, AnAddressOfNoStoreIsRefused) {
  for (const char* address : {"", "sqlite:", "mysql://x", "catalog.db", "postgres://[::1"}) {
    const auto opened = open_catalog(address);
    EXPECT_FALSE(opened) << address;
  }
}

}  // namespace
}  // namespace spillway::adapters
