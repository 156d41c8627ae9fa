#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "exchange/fake_market.h"
#include "exchange/privacy.h"
#include "exchange/record.h"
#include "openrtb/codes.h"
#include "openrtb/consent/bit_writer.h"

namespace spillway::exchange {
namespace {

constexpr std::string_view kIds =
    R"("buyeruid":"SECRET1","ext":{"eids":[{"source":"s","uids":[{"id":"SECRET2"}]}],)"
    R"("prebid":{"buyeruids":{"alpha":"SECRET3"}}})";

std::string with(const std::string& regs, std::string_view user = kIds) {
  return request_json(kBannerImp, R"(,"regs":)" + regs + R"(,"user":{)" + std::string(user) +
                                      R"(},"device":{"ifa":"SECRET4","ip":"192.0.2.9"})");
}

TEST(PrivacyAuction, NoVersionOfTheCopyHasIds) {
  for (const char* version : {"2.5", "2.6"}) {
    for (const std::string_view user :
         {kIds, std::string_view(R"("ext":{"prebid":{"buyeruids":{"alpha":"SECRET3"}}})")}) {
      FakeMarket market;
      market.add("alpha", answers_no_bid()).openrtb = version;
      market.run(with(R"({"coppa":1})", user));
      const std::string& sent = market.seen["alpha/display"];
      EXPECT_EQ(sent.find("SECRET"), std::string::npos) << sent;
      EXPECT_NE(sent.find(R"("ip":"192.0.2.0")"), std::string::npos) << sent;
      market.run(with(R"({"coppa":0})", user));
      EXPECT_NE(market.seen["alpha/display"].find("SECRET4"), std::string::npos);
    }
  }
}

TEST(PrivacyAuction, TheConnectionsAddressIsTruncatedToo) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.start.client_address = "203.0.113.9";
  market.start.has_origin = true;
  market.run(request_json(kBannerImp, R"(,"regs":{"us_privacy":"1YYN"})"));
  const std::string& sent = market.seen["alpha/display"];
  EXPECT_NE(sent.find(R"("ip":"203.0.113.0")"), std::string::npos) << sent;
}

TEST(PrivacyAuction, EachDspIsSentWhatItsOwnConsentAllows) {
  FakeMarket market;
  market.add("alpha", answers_no_bid()).gvl_id = 7;
  market.add("beta", answers_no_bid()).gvl_id = 6;
  const std::string consent = openrtb::consent::tcf_text({1, 2, 7});
  market.run(with(R"({"gdpr":1})", R"("id":"SECRET","consent":")" + consent + '"'));
  EXPECT_NE(market.seen["alpha/display"].find("SECRET4"), std::string::npos);
  EXPECT_EQ(market.seen["beta/display"].find("SECRET"), std::string::npos);
  EXPECT_NE(market.seen["beta/display"].find(consent), std::string::npos);
  EXPECT_EQ(market.auction.privacy()[0].copy, PrivacyClass::kFull);
  EXPECT_EQ(market.auction.privacy()[1].copy, PrivacyClass::kNoIds);
}

TEST(PrivacyAuction, WhereThePolicySaysSoNobodyIsAsked) {
  FakeMarket market;
  market.snapshot.accounts[0].privacy.coppa = PrivacyAction::kNoCall;
  market.add("alpha", bids("1"));
  market.run(with(R"({"coppa":1})"));
  EXPECT_TRUE(market.seen.empty());
  EXPECT_EQ(market.non_bid(0).code, openrtb::NonBid::kPrivacy);
}

TEST(PrivacyAuction, ExplainTellsWhatWasTakenAndReplayIsTheSame) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.run(with(R"({"us_privacy":"1YYN"})"));
  Auction again;
  EXPECT_EQ(replay(market.snapshot, market.record, again).body, market.reply.body);
  const std::string text = explain(market.snapshot, market.record, false);
  EXPECT_NE(text.find("alpha privacy: no_ids by us_privacy, without or coarser: user.buyeruid "
                      "user.ext.eids user.ext.prebid device.ifa device.ip\n"),
            std::string::npos)
      << text;
  const std::string json = explain(market.snapshot, market.record, true);
  EXPECT_NE(json.find(R"("privacy":[{"dsp":"alpha","copy":"no_ids","reasons":"us_privacy",)"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace spillway::exchange
