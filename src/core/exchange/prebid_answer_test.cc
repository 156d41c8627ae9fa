#include "exchange/prebid_answer.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "openrtb/signed_url.h"

namespace spillway::exchange {
namespace {

constexpr std::string_view kFromPrebid = R"(,"ext":{"prebid":{"channel":{"name":"pbjs"}}})";

std::string imp(std::string_view bidders,
                std::string_view media = R"("banner":{"w":300,"h":250})") {
  return R"({"id":"1",)" + std::string(media) + R"(,"ext":{"prebid":{"bidder":{)" +
         std::string(bidders) + "}}}}";
}

/// A browser asks, one DSP answers.
class PrebidAnswer : public ::testing::Test {
 protected:
  PrebidAnswer() {
    market_.start.has_origin = true;
    market_.snapshot.events.signer = std::make_shared<openrtb::EventSigner>(
        "https://x.example", std::vector<openrtb::EventSigner::Key>{
                                 {.id = "a", .secret = "a secret of at least that length"}});
    market_.add("alpha", bids("1"));
  }

  const std::string& reply(std::string_view bid, const std::string& request) {
    market_.behaviour[0] =
        answers(R"({"id":"r1","seatbid":[{"seat":"4711","bid":[)" + std::string(bid) + "]}]}");
    return market_.run(request).body;
  }

  FakeMarket market_;
};

TEST_F(PrebidAnswer, ComesUnderTheNameOfThePageWithTheEventsWherePrebidLooks) {
  const std::string body =
      reply(bid_json("b", "1", "1", R"(,"w":300,"h":250,"nurl":"http://d/w","burl":"http://d/b")"),
            request_json(imp(R"("ALPHA":{})"), kFromPrebid));
  EXPECT_TRUE(body.contains(R"("seat":"ALPHA")")) << body;
  EXPECT_TRUE(body.contains(R"("ext":{"prebid":{"type":"banner","events":{"win":)"
                            R"("https://x.example/event?type=win&)"))
      << body;
  EXPECT_TRUE(body.contains(R"("burl":"https://x.example/event?type=imp&)")) << body;
  EXPECT_TRUE(body.contains("&s=4711&b=b&")) << body;
  EXPECT_FALSE(body.contains("nurl")) << body;
  // Nobody named: the DSP's own name, not the seat it writes.
  const std::string open = reply(bid_json("b", "1", "1"), request_json(kBannerImp, kFromPrebid));
  EXPECT_TRUE(open.contains(R"("seat":"alpha")")) << open;
}

TEST_F(PrebidAnswer, KeepsTheBidsExtButForItsPrebid) {
  const std::string body = reply(
      bid_json(
          "b", "1", "1",
          R"(,"w":300,"h":250,"ext":{"a":[1, 2],"prebid":{"events":{"win":"http://evil"}},"dsa":{}})"),
      request_json(kBannerImp, std::string(kFromPrebid) + R"(,"test":1)"));
  EXPECT_TRUE(body.contains(R"("ext":{"prebid":{"type":"banner"},"a":[1, 2],"dsa":{}})")) << body;
  EXPECT_FALSE(body.contains("evil")) << body;
}

TEST_F(PrebidAnswer, SaysWhatPrebidDropsABidForTheLackOf) {
  for (const std::string_view crid : {"", R"("crid":null,)", R"("crid":7,"w":0,"h":0,)"}) {
    const std::string body =
        reply(R"({"id":"b\"1","impid":"1",)" + std::string(crid) + R"("price":1,"adm":"<b>"})",
              request_json(kBannerImp, kFromPrebid));
    EXPECT_TRUE(body.contains(R"("crid":"b\"1","w":300,"h":250,"ext")")) << body;
    EXPECT_EQ(body.find("crid"), body.rfind("crid")) << body;
    EXPECT_EQ(body.find("\"w\":"), body.rfind("\"w\":")) << body;
  }
}

TEST_F(PrebidAnswer, IsPlainOpenRtbForServersThatPassTheRequestOn) {
  market_.start.has_origin = false;
  const std::string body =
      reply(bid_json("b", "1", "1"), request_json(imp(R"("ALPHA":{})"), kFromPrebid));
  EXPECT_TRUE(body.contains(R"("seat":"4711")")) << body;
  EXPECT_TRUE(body.contains(R"("nurl":"https://x.example/event?type=win)")) << body;
  EXPECT_FALSE(body.contains("prebid")) << body;
}

TEST_F(PrebidAnswer, GivesANurlToOtherPagesForBannersAlone) {
  EXPECT_TRUE(reply(bid_json("b", "1", "1"), request_json()).contains("\"nurl\":"));
  const std::string video =
      reply(R"({"id":"b","impid":"1","price":1,"adm":"<VAST version=\"3.0\"></VAST>","crid":"c"})",
            request_json(R"({"id":"1","video":{"mimes":["video/mp4"]}})"));
  EXPECT_TRUE(video.contains(R"("mtype":2)")) << video;
  EXPECT_FALSE(video.contains("nurl")) << video;
  EXPECT_TRUE(video.contains("\"burl\":")) << video;
}

TEST_F(PrebidAnswer, NamesTheTypeOfHouseAdsWithoutEvents) {
  market_.add_house();
  market_.behaviour[0] = stays_silent();
  const std::string body = market_.run(request_json(kBannerImp, kFromPrebid)).body;
  EXPECT_TRUE(body.contains(R"("ext":{"house":1,"prebid":{"type":"banner"}}})")) << body;
  EXPECT_FALSE(body.contains("/event")) << body;
}

}  // namespace
}  // namespace spillway::exchange
