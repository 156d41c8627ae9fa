// The command line of the program as it is run: what it takes, and what it must not do.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "app/bidder/demo.h"
#include "app/config/command_fixture.h"

namespace spillway::app::bidding {
namespace {

using app::testing::Ended;

/// Runs `spillway bidder …` to its end.
Ended run_bidder(const std::string& args) { return app::testing::run_command("bidder", args); }

class BidderCommand : public ::testing::Test {
 protected:
  BidderCommand() : path_(::testing::TempDir() + "bidder_command_" + std::to_string(::getpid())) {
    std::filesystem::remove(path_);
  }

  ~BidderCommand() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_;
};

TEST_F(BidderCommand, TheDemoNeitherWritesNorDeletesAFileThatIsThereAlready) {
  std::ofstream(path_) << "";  // As a database, SQLite would take it.
  const auto ended = run_bidder("--demo --demo-file " + path_);
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.out, "spillway bidder: --demo-file: " + path_ + ": File exists\n");
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(text(), "");
}

TEST_F(BidderCommand, TheDemosOwnFilesAreGoneAtItsEnd) {
  {
    const DemoFile file(path_);
    ASSERT_EQ(file.error(), "");
    EXPECT_EQ(write_demo_catalog("sqlite:" + file.path(), 1'767'225'600), "");
    EXPECT_GT(std::filesystem::file_size(path_), 0U);
    std::ofstream(path_ + "-wal") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  std::string name;
  {
    const DemoFile file("");
    ASSERT_EQ(file.error(), "");
    name = file.path();
    EXPECT_TRUE(std::filesystem::exists(name));
  }
  EXPECT_FALSE(std::filesystem::exists(name));
}

TEST_F(BidderCommand, AnAddressOfTheCommandLineIsUnderTheRulesOfTheConfigurations) {
  const auto open = run_bidder("--demo --check-config --admin-listen 0.0.0.0:9911");
  EXPECT_EQ(open.status, 1);
  EXPECT_NE(open.out.find("--admin-listen: must be a loopback address"), std::string::npos)
      << open.out;
  const auto unread = run_bidder("--demo --check-config --listen here");
  EXPECT_EQ(unread.status, 1);
  EXPECT_NE(unread.out.find("--listen: must be an address and a port"), std::string::npos)
      << unread.out;
  EXPECT_EQ(run_bidder("--demo --check-config --listen 0.0.0.0:1 --admin-listen [::1]:2").status,
            0);
  std::ofstream(path_) << "admin: { allow_remote: true }\nexchanges: [{ name: a }]\n"
                          "catalog: { address: \"sqlite:c.db\" }\n";
  EXPECT_EQ(run_bidder("--check-config --admin-listen 0.0.0.0:9911 --config " + path_).status, 0);
}

TEST_F(BidderCommand, CheckConfigShowsNoPassword) {
  std::ofstream(path_) << "exchanges: [{ name: a }]\n"
                          "catalog: { address: \"postgres://bob:tell-nobody@db.example/c\" }\n";
  const auto checked = run_bidder("--check-config --config " + path_);
  EXPECT_EQ(checked.status, 0);
  EXPECT_NE(checked.out.find("catalog postgres://db.example"), std::string::npos) << checked.out;
  EXPECT_EQ(checked.out.find("tell-nobody"), std::string::npos) << checked.out;
}

TEST_F(BidderCommand, CheckConfigRefusesAnAddressThatTheStartWouldRefuse) {
  std::ofstream(path_) << "exchanges: [{ name: a }]\n"
                          "catalog: { address: \"postgres://[::1\" }\n";
  const auto checked = run_bidder("--check-config --config " + path_);
  EXPECT_EQ(checked.status, 1);
  EXPECT_NE(checked.out.find("catalog.address: "), std::string::npos) << checked.out;
}

TEST_F(BidderCommand, AFileThatCannotBeReadIsNamedOnce) {
  EXPECT_EQ(run_bidder("--config /no/such").out,
            "/no/such: cannot be opened: No such file or directory\n");
}

}  // namespace
}  // namespace spillway::app::bidding
