#include "exchange/enrich.h"

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "exchange/replay.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

/// A market of one DSP, and what it is sent behind the imps.
class Enrich : public testing::Test {
 protected:
  Enrich() {
    market_.add("alpha", answers_no_bid());
    market_.start.client_address = "203.0.113.9";
    market_.start.user_agent = "Agent/1 \"x\"";
    market_.start.has_origin = true;
    account().fill_device = FillDevice::kBrowser;
  }

  Account& account() { return market_.snapshot.accounts[0]; }

  std::string sent(std::string_view more = "", std::string_view imps = kBannerImp) {
    market_.run(request_json(imps, std::string(R"(,"at":1,"tmax":200)") + std::string(more)));
    const std::string& bytes = market_.seen["alpha/display"];
    const std::string head = request_json(imps, R"(,"at":1,"tmax":194)");
    EXPECT_TRUE(bytes.starts_with(head.substr(0, head.size() - 1))) << bytes;
    return bytes.substr(std::min(bytes.size(), head.size() - 1));
  }

  FakeMarket market_;
};

TEST_F(Enrich, ABrowsersConnectionIsTheDevice) {
  const std::string filled = R"(,"device":{"ip":"203.0.113.9","ua":"Agent/1 \"x\""}})";
  EXPECT_EQ(sent(), filled);
  EXPECT_EQ(sent(R"(,"device":{"ua":"own"})"), R"(,"device":{"ua":"own","ip":"203.0.113.9"}})");
  EXPECT_EQ(sent(R"(,"device":{"ipv6":"2a::1","ua":"u"})"),
            R"(,"device":{"ipv6":"2a::1","ua":"u"}})");
  EXPECT_EQ(sent(R"(,"device":{"ip":"caller","ipv6":"caller","ua":"u"})"),
            R"(,"device":{"ip":"203.0.113.9","ua":"u"}})");
  EXPECT_EQ(sent(R"(,"device":{"ip":"1.2.3.4","ua":"caller"})"),
            R"(,"device":{"ip":"1.2.3.4","ua":"Agent/1 \"x\""}})");
  market_.start.client_address = "2001:db8::7";
  EXPECT_EQ(sent(R"(,"device":{"ua":"u"})"), R"(,"device":{"ua":"u","ipv6":"2001:db8::7"}})");
}

TEST_F(Enrich, AServersConnectionIsNotUnlessTheAccountSaysSo) {
  market_.start.has_origin = false;
  EXPECT_EQ(sent(), "}");
  account().fill_device = FillDevice::kAlways;
  EXPECT_NE(sent(), "}");
  account().fill_device = FillDevice::kNever;
  market_.start.has_origin = true;
  EXPECT_EQ(sent(), "}");
}

TEST_F(Enrich, WhatIsNoUseToADspIsNotSent) {
  for (const std::string_view address : {"", "10.1.2.3", "127.0.0.1", "::1", "fe80::1"}) {
    market_.start.client_address = address;
    market_.start.user_agent = "bell\x07";
    EXPECT_EQ(sent(), "}") << address;
  }
  market_.start.user_agent = "\xff";
  EXPECT_EQ(sent(), "}");
  const std::string endless(kLongestUserAgent + 1, 'a');
  market_.start.user_agent = endless;
  EXPECT_EQ(sent(), "}");
}

TEST(EnrichParts, PrivateAddressesAreKnown) {
  for (const char* address :
       {"10.0.0.1",  "172.16.0.1",  "172.31.255.255",   "192.168.0.1", "100.64.0.1",
        "127.9.9.9", "169.254.1.1", "0.0.0.0",          "::1",         "fd00::1",
        "fe80::1",   "1.2.3",       "1.2.3.4.5",        "1.2.3.256",   "1.2.3.4x",
        "name",      "2001",        "2001:db8::1%eth0", "2001:\"",     ""}) {
    EXPECT_TRUE(is_private_address(address)) << address;
  }
  for (const char* address : {"8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "192.169.0.1",
                              "2001:db8::1", "2A00::1", "3fff::"}) {
    EXPECT_FALSE(is_private_address(address)) << address;
  }
}

TEST_F(Enrich, ATransactionIdIsAHashOfWhatIsRecorded) {
  account().fill_device = FillDevice::kNever;
  account().source_tid = true;
  const std::string once = sent();
  EXPECT_TRUE(std::regex_match(
      once, std::regex(R"rx(,"source":\{"tid":"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-)rx"
                       R"rx([89ab][0-9a-f]{3}-[0-9a-f]{12}"\}\})rx")))
      << once;
  EXPECT_EQ(sent(), once);
  ++market_.start.seed;
  EXPECT_NE(sent(), once);
  EXPECT_EQ(sent(R"(,"source":{"tid":"own"})"), R"(,"source":{"tid":"own"}})");
  EXPECT_EQ(sent(R"(,"ext":{"prebid":{"createtids":false}})"), "}");
}

TEST_F(Enrich, ASilentImpIsSecureWhenTheAccountIs) {
  account().fill_device = FillDevice::kNever;
  account().secure = true;
  market_.run(request_json(R"({"id":"1","banner":{}},{"id":"2","banner":{},"secure":0})"));
  EXPECT_NE(market_.seen["alpha/display"].find(
                R"([{"id":"1","banner":{},"secure":1},{"id":"2","banner":{},"secure":0}])"),
            std::string::npos)
      << market_.seen["alpha/display"];
  EXPECT_TRUE(market_.auction.request().imps[0].secure);
  EXPECT_FALSE(market_.auction.request().imps[1].secure);
}

TEST_F(Enrich, OurNodeEndsEverySupplyChain) {
  account().fill_device = FillDevice::kNever;
  account().seller = {.asi = "us.example", .sid = "7", .begins_complete = false};
  const std::string ours = R"({"asi":"us.example","sid":"7","rid":"r1","hp":1})";
  EXPECT_EQ(sent(),
            R"(,"source":{"schain":{"complete":0,"nodes":[)" + ours + R"(],"ver":"1.0"}}})");
  const auto chain = [](const std::string& nodes) {
    return R"({"nodes":)" + nodes + R"(,"complete": 1 ,"ver":"1.0","x":1e9})";
  };
  const std::string theirs = R"({"asi":"a","sid":"1"})";
  for (const auto& [nodes, after] :
       {std::pair("[" + theirs + " ]", "[" + theirs + " ," + ours + "]"),
        std::pair(std::string("[]"), "[" + ours + "]"),
        std::pair(std::string("null"), "[" + ours + "]")}) {
    const std::string whole = R"(,"source":{"schain":)" + chain(after) + "}}";
    EXPECT_EQ(sent(R"(,"source":{"schain":)" + chain(nodes) + "}"), whole);
    EXPECT_EQ(sent(R"(,"source":{"ext":{"schain":)" + chain(nodes) + "}}"), whole);
  }
  EXPECT_EQ(sent(R"(,"source":{"schain":{}})"),
            R"(,"source":{"schain":{"nodes":[)" + ours + "]}}}");
  market_.snapshot.dsps[0].openrtb = "2.5";
  EXPECT_EQ(sent(R"(,"source":{"schain":{}})"),
            R"(,"source":{"ext":{"schain":{"nodes":[)" + ours + "]}}}}");
}

TEST_F(Enrich, ADspsOwnRequestIdIsTheOneItMayAnswerWithAndNobodyElses) {
  market_.add("beta", answers_no_bid()).own_request_id = true;
  market_.add("gamma", answers_no_bid()).own_request_id = true;
  for (DspConfig& dsp : market_.snapshot.dsps) {
    dsp.checks.require_response_id = true;
  }
  market_.run(request_json());
  std::set<std::string> ids;
  for (const auto& [key, bytes] : market_.seen) {
    ids.insert(bytes.substr(0, bytes.find(',')));
  }
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_TRUE(ids.contains(R"({"id":"r1")"));
  const std::string& beta = market_.seen["beta/display"];
  const std::string id = beta.substr(7, 36);
  market_.behaviour[1] =
      answers(R"({"id":")" + id + R"(","seatbid":[{"bid":[)" +
              bid_json("b", "1", "1", R"(,"w":300,"h":250,"adm":"${AUCTION_ID}")") + "]}]}");
  std::string& body = market_.behaviour[1].body;
  body.erase(body.find(R"("adm":"<b>ad</b>",)"), std::string_view(R"("adm":"<b>ad</b>",)").size());
  market_.behaviour[2] = bids("9");  // Answers the caller's id, which it was never told.
  market_.run(request_json());
  EXPECT_EQ(market_.reply.kind, ReplyKind::kBid) << market_.reply.body;
  EXPECT_NE(market_.reply.body.find(R"("adm":")" + id), std::string::npos) << market_.reply.body;
  EXPECT_TRUE(market_.reply.body.starts_with(R"({"id":"r1")"));
}

TEST_F(Enrich, AReplayFromALogAsksForTheSameBytes) {
  account().source_tid = true;
  account().seller = {.asi = "us.example", .sid = "7", .begins_complete = false};
  market_.snapshot.dsps[0].own_request_id = true;
  market_.behaviour[0] = bids("1");
  market_.run(request_json());
  std::string log;
  append_record(log, market_.record);
  RecordReader reader(log);
  const auto entry = reader.next();
  ASSERT_TRUE(entry);
  const Record& record = entry->record;
  EXPECT_EQ(record.client_address, "203.0.113.9");
  EXPECT_EQ(record.user_agent, "Agent/1 \"x\"");
  const openrtb::Padded body(record.request);
  Start start = record.start;
  start.body = body.view();
  start.client_address = record.client_address;
  start.user_agent = record.user_agent;
  Auction again;
  again.start(market_.snapshot, start);
  std::string bytes;
  for (const Ask& ask : again.admit(record.admitted_at, record.verdicts)) {
    for (const std::string_view piece : ask.body) {
      bytes += piece;
    }
  }
  EXPECT_EQ(bytes, market_.seen["alpha/display"]);
  Auction replayed;
  EXPECT_EQ(replay(market_.snapshot, record, replayed).body, market_.reply.body);
}

}  // namespace
}  // namespace spillway::exchange
