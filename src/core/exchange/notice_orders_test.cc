#include "exchange/notice_orders.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "openrtb/signed_url.h"

namespace spillway::exchange {
namespace {

constexpr std::string_view kUrls =
    R"(,"w":300,"h":250,"nurl":"http://d/w?p=${AUCTION_PRICE}&m=${AUCTION_MIN_TO_WIN}",)"
    R"("burl":"http://d/b?p=${AUCTION_PRICE}&i=${AUCTION_IMP_ID}",)"
    R"("lurl":"http://d/l?l=${AUCTION_LOSS}&p=${AUCTION_PRICE}&m=${AUCTION_MIN_TO_WIN}")";

void sign(FakeMarket& market) {
  market.snapshot.events.signer = std::make_shared<openrtb::EventSigner>(
      "https://x.example", std::vector<openrtb::EventSigner::Key>{
                               {.id = "a", .secret = "a secret of at least that length"}});
  market.snapshot.events.instance = "eu-1";
}

void add_bidder(FakeMarket& market, std::string name, std::string_view price) {
  market.add(std::move(name), answers(response_json(bid_json("b", "1", price, kUrls))));
}

ClearedNotices notices_of(const FakeMarket& market) {
  ClearedNotices out;
  market.auction.list_notices(out);
  return out;
}

std::vector<std::string> due(const ClearedNotices& notices) {
  std::vector<std::string> out;
  for (const NoticeOrder& order : notices.due) {
    out.push_back(std::string(to_string(order.kind)) + " " + order.url);
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(ListNotices, TellsTheWinnerItsPriceAndTheLoserWhyItLost) {
  FakeMarket market;
  sign(market);
  add_bidder(market, "a", "1.5");
  add_bidder(market, "b", "1.2");
  market.run(request_json());
  const auto notices = notices_of(market);
  EXPECT_EQ(due(notices), (Lines{"win http://d/w?p=1.5&m=1.2", "loss http://d/l?l=102&p=&m=1.5"}));
  ASSERT_EQ(notices.waiting.size(), 1U);
  EXPECT_EQ(notices.waiting[0].burl, "http://d/b?p=1.5&i=1");
  EXPECT_EQ(notices.waiting[0].nurl, "");
}

TEST(ListNotices, WaitsForTheWinEventWhenTheAuctionIsNotFinal) {
  FakeMarket market;
  sign(market);
  market.snapshot.accounts[0].auction_is_final = false;
  add_bidder(market, "a", "1.5");
  market.run(request_json());
  auto notices = notices_of(market);
  EXPECT_TRUE(notices.due.empty());
  ASSERT_EQ(notices.waiting.size(), 1U);
  EXPECT_EQ(notices.waiting[0].nurl, "http://d/w?p=1.5&m=");
  market.snapshot.accounts[0].auction_is_final = true;
  market.snapshot.accounts[0].billing_on_win = true;
  market.run(request_json());
  notices = notices_of(market);
  EXPECT_EQ(due(notices), (Lines{"win http://d/w?p=1.5&m=", "billing http://d/b?p=1.5&i=1"}));
}

TEST(ListNotices, SaysNothingOfTestsAndHouseAds) {
  FakeMarket market;
  sign(market);
  add_bidder(market, "a", "1.5");
  market.run(request_json(kBannerImp, R"(,"test":1)"));
  EXPECT_TRUE(notices_of(market).empty());
  EXPECT_FALSE(market.reply.body.contains("/event"));
  FakeMarket house;
  sign(house);
  house.add("a", stays_silent());
  house.add_house();
  house.run(request_json());
  EXPECT_EQ(house.reply.kind, ReplyKind::kHouse);
  EXPECT_TRUE(notices_of(house).empty());
  EXPECT_FALSE(house.reply.body.contains("/event"));
}

TEST(ListNotices, NeedsNoEventUrlsForWhatIsDueAtClearing) {
  FakeMarket market;
  add_bidder(market, "a", "1.5");
  market.run(request_json());
  const auto notices = notices_of(market);
  EXPECT_EQ(due(notices), (Lines{"win http://d/w?p=1.5&m="}));
  EXPECT_TRUE(notices.waiting.empty());
  EXPECT_FALSE(market.reply.body.contains("url"));
}

std::string device_of(FakeMarket& market, std::string_view device, std::string_view more = "") {
  sign(market);
  if (market.snapshot.dsps.empty()) {
    add_bidder(market, "a", "1.5");
  }
  market.run(
      request_json(kBannerImp, R"(,"device":{)" + std::string(device) + "}" + std::string(more)));
  const auto notices = notices_of(market);
  EXPECT_EQ(notices.waiting.size(), 1U);
  return notices.waiting.empty() || notices.waiting[0].device == nullptr
             ? ""
             : *notices.waiting[0].device;
}

TEST(DeviceLines, GoWithTheBillingNoticeAlone) {
  FakeMarket market;
  EXPECT_EQ(device_of(market, R"("ip":"192.0.2.9","ua":"Mozilla/5.0 X")"),
            "X-Device-IP: 192.0.2.9\r\nX-Forwarded-For: 192.0.2.9\r\n"
            "X-Device-User-Agent: Mozilla/5.0 X\r\n");
  for (const NoticeOrder& order : notices_of(market).due) {
    EXPECT_EQ(order.device, nullptr) << to_string(order.kind);
  }
  market.snapshot.accounts[0].billing_on_win = true;
  market.run(request_json(kBannerImp, R"(,"device":{"ipv6":"2001:db8::9"})"));
  const auto notices = notices_of(market);
  ASSERT_EQ(notices.due.size(), 2U);
  EXPECT_EQ(notices.due[0].device, nullptr);
  ASSERT_NE(notices.due[1].device, nullptr);
  EXPECT_EQ(*notices.due[1].device, "X-Device-IP: 2001:db8::9\r\nX-Forwarded-For: 2001:db8::9\r\n");
}

TEST(DeviceLines, AreForNobodyWhoWasSentNoIds) {
  constexpr std::string_view kDevice = R"("ip":"192.0.2.9","ua":"Mozilla/5.0")";
  for (const std::string_view regs :
       {R"(,"regs":{"coppa":1})", R"(,"regs":{"us_privacy":"1YYN"})", R"(,"regs":{"gdpr":1})"}) {
    FakeMarket market;
    EXPECT_EQ(device_of(market, kDevice, regs), "") << regs;
  }
  FakeMarket limited;
  EXPECT_EQ(device_of(limited, R"("ip":"192.0.2.9","lmt":1)"), "");
}

TEST(DeviceLines, NeverBreakOutOfTheirLine) {
  for (const std::string_view device :
       {R"("ip":"192.0.2.9\r\nX-Evil: 1")", R"("ip":"192.0.2.9 ","ua":"a\r\nX-Evil: 1")",
        R"("ip":"evil.example","ua":"a\u0000b")", R"("ipv6":"::1%eth0","ua":"caf\u00e9")",
        R"("ip":"","ua":"")"}) {
    FakeMarket market;
    EXPECT_EQ(device_of(market, device), "") << device;
  }
  FakeMarket market;
  const std::string endless = R"("ip":"no","ipv6":"2001:db8::9","ua":")" + std::string(1'025, 'a');
  EXPECT_EQ(device_of(market, endless + '"'),
            "X-Device-IP: 2001:db8::9\r\nX-Forwarded-For: 2001:db8::9\r\n");
}

TEST(DeviceLines, SayWhatTheConnectionSaidWhereTheRequestIsSilent) {
  FakeMarket market;
  market.start.client_address = "203.0.113.9";
  market.start.user_agent = "Browser/1.0";
  market.start.has_origin = true;
  EXPECT_EQ(device_of(market, R"("ip":"caller")"),
            "X-Device-IP: 203.0.113.9\r\nX-Forwarded-For: 203.0.113.9\r\n"
            "X-Device-User-Agent: Browser/1.0\r\n");
}

TEST(Reply, CarriesOurEventUrlsNeverTheDsps) {
  FakeMarket market;
  sign(market);
  add_bidder(market, "a", "1.5");
  market.run(request_json());
  const std::string& body = market.reply.body;
  EXPECT_FALSE(body.contains("http://d/")) << body;
  EXPECT_FALSE(body.contains("lurl"));
  const auto waiting = notices_of(market).waiting;
  ASSERT_EQ(waiting.size(), 1U);
  for (const std::string_view start : {"\"nurl\":\"https://x.example/event?type=win",
                                       "\"burl\":\"https://x.example/event?type=imp"}) {
    const size_t at = body.find(start);
    ASSERT_NE(at, std::string::npos) << body;
    const size_t query = body.find('?', at) + 1;
    const auto event = market.snapshot.events.signer->read(
        std::string_view(body).substr(query, body.find('"', query) - query),
        market.start.wall_ms / 1'000);
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->auction, waiting[0].auction);
    EXPECT_EQ(event->imp, waiting[0].imp);
    EXPECT_EQ(event->seat, "a");
    EXPECT_EQ(event->bid_id, "b");
    EXPECT_EQ(event->instance, "eu-1");
    EXPECT_EQ(event->expires_s, market.start.wall_ms / 1'000 + 3'600);
  }
}

TEST(Reply, WithEventUrlsReplaysByteForByte) {
  FakeMarket market;
  sign(market);
  add_bidder(market, "a", "1.5");
  add_bidder(market, "b", "1.2");
  market.run(request_json());
  std::string log;
  append_record(log, market.record);
  RecordReader reader(log);
  const auto entry = reader.next();
  ASSERT_TRUE(entry.has_value());
  Auction again;
  EXPECT_EQ(replay(market.snapshot, entry->record, again).body, market.reply.body);
}

}  // namespace
}  // namespace spillway::exchange
