// What the failure table of docs/bidder.md says of everything but Redis: each row broken for real.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "adapters/postgres_fixture.h"
#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;
using adapters::testing::PostgresServer;

bidder::CatalogRows rows_bidding(double cpm) {
  bidder::CatalogRows rows;
  add_campaign(rows, 1, cpm);
  return rows;
}

bool bids_at(const BidderProcess& bidder, std::string_view price) {
  return bidder.bid(request_of("u")).body.contains(fmt::format(R"("price":{},)", price));
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

TEST(BidderFailures, ACatalogFileThatIsSpoilledLeavesTheOldOneInUse) {
  const BidderProcess bidder(rows_bidding(2.5));
  ASSERT_TRUE(bidder.ready());
  const std::string& path = bidder.catalog().path();
  const std::string good = bytes_of(path);
  put(path, std::string(good.size(), 'x'));
  EXPECT_TRUE(bidder.moves("spillway_bidder_catalog_loads_total", {R"(end="failed")"},
                           [&] { EXPECT_TRUE(bids_at(bidder, "2.5")); }));
  EXPECT_TRUE(BidderProcess::within(20s, [&] {
    return bidder.total("spillway_bidder_catalog_age_seconds") > 0.5;
  })) << "its age tells";
  EXPECT_EQ(bidder.admin().call("GET", "/readyz").status(), 200);
  put(path, good);
  bidder.catalog().write(rows_bidding(4));
  EXPECT_TRUE(BidderProcess::within(20s, [&] { return bids_at(bidder, "4"); }));
}

TEST(BidderFailures, APostgresThatIsFrozenOrGoneLeavesTheOldCatalogInUse) {
  PostgresServer server;
  ASSERT_EQ(server.error(), "") << "PostgreSQL does not run: tools/setup check";
  ASSERT_TRUE(server.run_sql("postgres", "CREATE DATABASE catalog"));
  const BidderProcess bidder(std::make_unique<CatalogFile>(server.address("catalog")),
                             rows_bidding(2.5), "", "", ", patience: 300ms");
  ASSERT_TRUE(bidder.ready());
  const auto failed = [&] {
    return bidder.total("spillway_bidder_catalog_loads_total", {R"(end="failed")"});
  };
  const auto goes_on_failing = [&](double before) {
    return BidderProcess::within(20s, [&] {
      EXPECT_TRUE(bids_at(bidder, "2.5"));
      return failed() > before;
    });
  };
  ::kill(server.pid(), SIGSTOP);
  EXPECT_TRUE(goes_on_failing(0)) << "frozen";
  ::kill(server.pid(), SIGCONT);
  server.stop();
  EXPECT_TRUE(goes_on_failing(failed())) << "killed";
  server.start();
  ASSERT_EQ(server.error(), "");
  bidder.catalog().write(rows_bidding(4));
  EXPECT_TRUE(BidderProcess::within(20s, [&] { return bids_at(bidder, "4"); }));
}

TEST(BidderFailures, ABrokenRowTakesWhatIsUnderItAndNothingElse) {
  auto rows = rows_bidding(2.5);
  add_campaign(rows, 2, 5);
  rows.advertisers.push_back(rows.advertisers.front());
  rows.advertisers.back().id = 2;
  rows.advertisers.back().time_zone = "Atlantis/Capital";
  rows.campaigns.back().advertiser = 2;
  const BidderProcess bidder(rows);
  ASSERT_TRUE(bidder.ready());
  EXPECT_TRUE(bids_at(bidder, "2.5")) << "the dearer one is left out";
  EXPECT_EQ(bidder.total("spillway_bidder_catalog_broken_rows", {R"(kind="advertiser")"}), 1);
  rows.advertisers.back().time_zone = "UTC";
  bidder.catalog().write(rows);
  EXPECT_TRUE(BidderProcess::within(20s, [&] { return bids_at(bidder, "5"); }));
  EXPECT_EQ(bidder.total("spillway_bidder_catalog_broken_rows"), 0);
}

TEST(BidderFailures, ABudgetThatIsSpentSilencesItsCampaignAlone) {
  auto rows = rows_bidding(2.5);
  add_campaign(rows, 2, 2);
  rows.campaigns.front().daily_micros = 5'000;  // two impressions
  const BidderProcess bidder(rows);
  ASSERT_TRUE(bidder.ready());
  EXPECT_TRUE(bids_at(bidder, "2.5"));
  EXPECT_TRUE(bids_at(bidder, "2.5"));
  const auto go_on = [&] { EXPECT_TRUE(bids_at(bidder, "2")); };
  go_on();
  EXPECT_TRUE(bidder.moves("spillway_bidder_dropped_total", {R"(reason="exhausted")"}, go_on));
  EXPECT_GE(bidder.total("spillway_bidder_budget_refused_total", {R"(reason="exhausted")"}), 1);
}

TEST(BidderFailures, WithoutNoticesMoneyComesBackAndOpenBidsAreBounded) {
  const BidderProcess bidder(rows_bidding(2.5), "budget: { open_bids: 64, open_for: 1s }\n");
  ASSERT_TRUE(bidder.ready());
  const auto ask = [&] { (void)bidder.bid(request_of("u")); };
  EXPECT_TRUE(
      bidder.moves("spillway_bidder_budget_refused_total", {R"(reason="too_many_open")"}, ask));
  EXPECT_LE(bidder.total("spillway_bidder_budget_open_bids"), 64);
  EXPECT_TRUE(
      bidder.moves("spillway_bidder_budget_reservations_total", {R"(event="expired")"}, [] {}));
  EXPECT_TRUE(BidderProcess::within(20s, [&] { return bids_at(bidder, "2.5"); }));
}

TEST(BidderFailures, WithoutMemoryForCountsCampaignsWithCapsAreSilent) {
  using bidder::CapKind;
  using bidder::CapScope;
  using bidder::CapWindow;
  std::vector<bidder::Cap> caps;
  for (const auto scope : {CapScope::kCampaign, CapScope::kCreative, CapScope::kAdvertiser}) {
    for (const auto window :
         {CapWindow::kHour, CapWindow::kDay, CapWindow::kWeek, CapWindow::kLifetime}) {
      caps.push_back({.scope = scope, .window = window, .kind = CapKind::kCalendar, .most = 1'000});
    }
  }
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 5, caps);
  add_campaign(rows, 2, 2.5);
  const BidderProcess bidder(rows, "caps: { bytes: 1MiB }\n");
  ASSERT_TRUE(bidder.ready());
  int users = 0;
  EXPECT_TRUE(bidder.moves("spillway_bidder_dropped_total", {R"(reason="cap_memory")"}, [&] {
    for (int i = 0; i < 200; ++i) {
      const auto winner = winner_of(bidder.bid(request_of(fmt::format("user {}", ++users))));
      EXPECT_TRUE(winner == "1" || winner == "2") << winner;
    }
  }));
  EXPECT_GE(bidder.total("spillway_bidder_cap_places_total", {R"(event="full")"}), 1);
}

TEST(BidderFailures, AFullDiskLosesEventsAndNoBid) {
  const BidderProcess bidder(rows_bidding(2.5), "events: { file: /dev/full }\n");
  ASSERT_TRUE(bidder.ready());
  EXPECT_TRUE(bidder.moves("spillway_bidder_events_total", {R"(end="lost")"},
                           [&] { EXPECT_TRUE(bids_at(bidder, "2.5")); }));
  EXPECT_EQ(bidder.total("spillway_bidder_events_total", {R"(end="written")"}), 0);
}

TEST(BidderFailures, AReaderOfEventsThatStopsHoldsUpNeitherBidsNorTheEnd) {
  const TemporaryFile file;
  std::filesystem::remove(file.path());
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  const Fd reader(::open(file.path().c_str(), O_RDONLY | O_NONBLOCK));
  BidderProcess bidder(rows_bidding(2.5), fmt::format("events: {{ file: \"{}\" }}\n", file.path()));
  ASSERT_TRUE(bidder.ready());
  EXPECT_TRUE(bidder.moves("spillway_bidder_events_total", {R"(end="lost")"}, [&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(bids_at(bidder, "2.5"));
    }
  }));
  EXPECT_GE(bidder.total("spillway_bidder_events_total", {R"(end="written")"}), 1);
  EXPECT_EQ(bidder.stop(), 0);
}

}  // namespace
}  // namespace spillway::e2e
