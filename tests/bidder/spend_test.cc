// What was spent outlives the process.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

/// A campaign with money for two impressions a day, and a file that is not there yet.
class BidderSpend : public ::testing::Test {
 protected:
  BidderSpend() { std::filesystem::remove(file_.path()); }

  ~BidderSpend() override { std::filesystem::remove_all(file_.path() + ".new"); }

  static bidder::CatalogRows rows() {
    bidder::CatalogRows rows;
    add_campaign(rows, 1, 2.5);
    rows.campaigns.front().daily_micros = 5'000;
    return rows;
  }

  [[nodiscard]] std::string settings() const {
    return fmt::format("spend: {{ file: \"{}\", every: 100ms }}\n", file_.path());
  }

  static void spend_all(const BidderProcess& bidder) {
    for (int i = 0; i < 2; ++i) {
      const auto answer = bidder.bid(request_of("u"));
      ASSERT_EQ(answer.status(), 200);
      ASSERT_EQ(bidder.caller().call("GET", notice_of(answer.body, "nurl", "2.5")).status(), 204);
    }
    EXPECT_EQ(bidder.bid(request_of("u")).status(), 204);
  }

  TemporaryFile file_;
};

TEST_F(BidderSpend, ANewProcessSpendsNothingThatTheOneBeforeSpent) {
  {
    BidderProcess bidder(rows(), settings());
    ASSERT_TRUE(bidder.ready());
    spend_all(bidder);
    EXPECT_EQ(bidder.stop(), 0);
  }
  const BidderProcess next(rows(), settings());
  ASSERT_TRUE(next.ready());
  EXPECT_EQ(next.bid(request_of("u")).status(), 204);
  EXPECT_GE(next.total("spillway_bidder_dropped_total", {R"(reason="exhausted")"}), 1);
}

TEST_F(BidderSpend, AProcessThatIsKilledLosesOnlyWhatItHadNotWrittenYet) {
  {
    const BidderProcess bidder(rows(), settings());
    ASSERT_TRUE(bidder.ready());
    spend_all(bidder);
    const double writes = bidder.total("spillway_bidder_spend_writes_total", {R"(end="written")"});
    EXPECT_TRUE(bidder.reaches(R"(spillway_bidder_spend_writes_total{end="written"})", writes + 2));
  }  // killed
  const BidderProcess next(rows(), settings());
  ASSERT_TRUE(next.ready());
  EXPECT_EQ(next.bid(request_of("u")).status(), 204);
}

TEST_F(BidderSpend, AFileThatCannotBeWrittenCostsNoBid) {
  std::filesystem::create_directory(file_.path() + ".new");
  const BidderProcess bidder(rows(), settings());
  ASSERT_TRUE(bidder.ready());
  EXPECT_TRUE(bidder.reaches(R"(spillway_bidder_spend_writes_total{end="failed"})", 1));
  EXPECT_EQ(bidder.bid(request_of("u")).status(), 200);
}

TEST_F(BidderSpend, AFileThatIsNotWholeStopsTheStartAndSaysWhy) {
  file_.write("spillway-spent-1\n1 20000 5 5\n");
  const TemporaryFile config(
      fmt::format("bidder: {{ listen: 127.0.0.1:0 }}\nadmin: {{ listen: 127.0.0.1:0 }}\n"
                  "catalog: {{ address: \"sqlite:/no/catalog\" }}\nexchanges: [{{ name: x }}]\n{}",
                  settings()));
  const auto ended =
      run_program({SPILLWAY_BINARY_DIR "/libexec/spillway-bidder", "--config", config.path()});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.err.find("spend.file: " + file_.path() + ": is not whole"), std::string::npos)
      << ended.err;
}

}  // namespace
}  // namespace spillway::e2e
