#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "bidder/model.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

constexpr std::string_view kRequest =
    R"({"id":"r","tmax":500,"at":1,"site":{"domain":"n.example"},"user":{"id":"u"},)"
    R"("imp":[{"id":"1","banner":{"w":300,"h":250}}]})";

class BidderNotices : public ::testing::Test {
 protected:
  BidderNotices() : bidder_(rows()) {}

  void SetUp() override { ASSERT_TRUE(bidder_.ready()); }

  static bidder::CatalogRows rows() {
    bidder::CatalogRows rows;
    add_campaign(rows, 1, 2.5);
    return rows;
  }

  int tell(const std::string& target) {
    EXPECT_NE(target, "");
    return bidder_.caller().call("GET", target).status();
  }

  double count(std::string_view kind, std::string_view end) {
    auto metrics = bidder_.metrics();
    return metrics[fmt::format(R"(spillway_bidder_notices_total{{end="{}",kind="{}"}})", end,
                               kind)] +
           metrics[fmt::format(R"(spillway_bidder_notices_total{{kind="{}",end="{}"}})", kind,
                               end)];
  }

  double doubts(std::string_view doubt) {
    return bidder_.metrics()[fmt::format(
        R"(spillway_bidder_notice_price_doubts_total{{doubt="{}"}})", doubt)];
  }

  double open_bids() { return bidder_.metrics()["spillway_bidder_budget_open_bids"]; }

  std::string bid() {
    auto answer = bidder_.bid(kRequest);
    EXPECT_EQ(answer.status(), 200);
    return answer.body;
  }

  BidderProcess bidder_;
};

TEST_F(BidderNotices, AWinCountsOnceHoweverOftenAndInWhicheverWordItIsTold) {
  const std::string answer = bid();
  EXPECT_EQ(open_bids(), 1);
  EXPECT_EQ(tell(notice_of(answer, "nurl", "2.125")), 204);
  EXPECT_EQ(open_bids(), 0);
  EXPECT_EQ(tell(notice_of(answer, "nurl", "2.125")), 204);
  EXPECT_EQ(tell(notice_of(answer, "burl", "2.125")), 204);
  EXPECT_EQ(count("win", "settled"), 1);
  EXPECT_EQ(count("win", "duplicate"), 1);
  EXPECT_EQ(count("billing", "duplicate"), 1);
}

TEST_F(BidderNotices, ALossGivesTheMoneyBackAndAWinAfterItIsLate) {
  const std::string answer = bid();
  EXPECT_EQ(tell(notice_of(answer, "lurl", "3")), 204);
  EXPECT_EQ(open_bids(), 0);
  EXPECT_EQ(count("loss", "settled"), 1);
  EXPECT_EQ(tell(notice_of(answer, "nurl", "2")), 204);
  EXPECT_EQ(count("win", "late") + count("win", "duplicate"), 1);
}

TEST_F(BidderNotices, PricesThatCannotBeTakenAreCountedAndTheBidsOwnIsTaken) {
  EXPECT_EQ(tell(notice_of(bid(), "nurl", "2.500001")), 204);
  EXPECT_EQ(doubts("above_ceiling"), 1);
  EXPECT_EQ(tell(notice_of(bid(), "nurl", "${AUCTION_PRICE}")), 204);
  EXPECT_EQ(doubts("unreadable"), 1);
  EXPECT_EQ(tell(notice_of(bid(), "nurl", "")), 204);
  EXPECT_EQ(doubts("missing"), 1);
  EXPECT_EQ(tell(notice_of(bid(), "nurl", "-1")), 204);
  EXPECT_EQ(doubts("unreadable"), 2);
  EXPECT_EQ(count("win", "settled"), 4);
}

TEST_F(BidderNotices, NobodyForgesOrChangesOne) {
  const std::string good = notice_of(bid(), "nurl", "2");
  const auto changed = [&good](std::string_view from, std::string_view to) {
    std::string target = good;
    const size_t at = target.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return target.replace(at, from.size(), to);
  };
  EXPECT_EQ(tell(changed("/win?", "/loss?")), 403);
  EXPECT_EQ(tell(changed("m=2500000", "m=9500000")), 403);
  EXPECT_EQ(tell(changed("c=1&", "c=2&")), 403);
  EXPECT_EQ(tell(changed("&h=", "&h=0")), 403);
  EXPECT_EQ(tell(changed("e=x&", "e=y&")), 403);
  EXPECT_EQ(tell("/notice/win?e=x&h=1"), 403);
  EXPECT_EQ(tell("/notice/win?"), 400);
  EXPECT_EQ(tell("/notice/other?e=x&h=1"), 400);
  EXPECT_EQ(count("win", "unknown_exchange"), 1);
  EXPECT_EQ(count("win", "bad_signature"), 4);
  EXPECT_EQ(count("loss", "bad_signature"), 1);
  EXPECT_EQ(open_bids(), 1) << "nothing moved";
  EXPECT_EQ(tell(good), 204);
}

TEST_F(BidderNotices, OfATestNothingFollows) {
  std::string body(kRequest);
  body.insert(1, R"("test":1,)");
  const auto answer = bidder_.bid(body);
  EXPECT_EQ(tell(notice_of(answer.body, "nurl", "2")), 204);
  EXPECT_EQ(count("win", "test"), 1);
}

}  // namespace
}  // namespace spillway::e2e
