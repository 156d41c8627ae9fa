#include "exchange/outgoing.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "exchange/fake_market.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"
#include "openrtb/path_edits.h"
#include "openrtb/validate.h"
#include "openrtb/versions.h"

namespace spillway::exchange {
namespace {

constexpr auto kBanner = static_cast<uint8_t>(openrtb::MediaType::kBanner);
constexpr auto kVideo = static_cast<uint8_t>(openrtb::MediaType::kVideo);

TEST(Outgoing, WhatIsNotOursPassesByteForByte) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  const std::string head =
      "{ \"id\" : \"r1\" ,\t\"x_unknown\":{\"big\":123456789012345678901234567890,\"e\":1.50E+2,"
      "\"t\":\"\\u00e9\\/\\u0000\"},\n\"at\":1,\"tmax\": ";
  const std::string tail =
      " ,\"imp\":[ {\"id\":\"1\",\"banner\":{\"w\":300.0,\"h\":250},\"y\":[1, 2]} ] ,\"z\":null }";
  market.run(head + "200" + tail);
  EXPECT_EQ(market.seen["alpha/display"], head + "194" + tail);
}

TEST(Outgoing, MembersTheCallerLeftOutAreAdded) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.run(request_json());
  EXPECT_EQ(market.seen["alpha/display"],
            R"({"id":"r1","imp":[{"id":"1","banner":{"w":300,"h":250}}],"tmax":144,"at":1})");
}

TEST(Outgoing, NoDspSeesAnImpThatIsNotMeantForIt) {
  FakeMarket market;
  DspConfig& alpha = market.add("alpha", answers_no_bid());
  alpha.endpoints[0].media = kBanner;
  alpha.endpoints.emplace_back();
  alpha.endpoints[1].media = kVideo;
  alpha.endpoints[1].path = "video";
  market.add("beta", answers_no_bid()).endpoints[0].media = kVideo;
  market.add("gamma", answers_no_bid());
  market.run(
      request_json(R"({"id":"a","banner":{"w":1,"h":1}}, {"id":"b","video":{"mimes":["m"]}},)"
                   R"({"id":"c","banner":{"w":2,"h":2}})"));
  const std::string& display = market.seen["alpha/display"];
  EXPECT_NE(display.find(R"("id":"a")"), std::string::npos);
  EXPECT_NE(display.find(R"("id":"c")"), std::string::npos);
  EXPECT_EQ(display.find(R"("id":"b")"), std::string::npos);
  for (const char* key : {"alpha/video", "beta/display"}) {
    EXPECT_EQ(market.seen[key].find("banner"), std::string::npos) << key;
    EXPECT_NE(market.seen[key].find(R"("id":"b")"), std::string::npos) << key;
  }
  EXPECT_NE(market.seen["gamma/display"].find(R"("id":"a")"), std::string::npos);
  EXPECT_NE(market.seen["gamma/display"].find(R"("id":"b")"), std::string::npos);
  for (const auto& [key, bytes] : market.seen) {
    openrtb::Document document;
    const openrtb::Padded padded(bytes);
    EXPECT_TRUE(document.walk(padded.view())) << key << bytes;
  }
}

TEST(Outgoing, EqualEditsShareOneSetOfBytes) {
  const openrtb::Padded text(request_json(R"({"id":"a","banner":{}},{"id":"b","banner":{}})"));
  openrtb::Document document;
  openrtb::RequestView request;
  ASSERT_TRUE(document.walk(text.view()));
  ASSERT_TRUE(read_request(document, {}, request));
  Outgoing outgoing;
  outgoing.reset(document, request);
  const uint32_t both[] = {0, 1};
  const uint32_t second[] = {1};
  const DspEdits base{.imps = both, .tmax_ms = 100};
  std::string first;
  for (const std::string_view piece : outgoing.bytes(base)) {
    first += piece;
  }
  const auto joined = outgoing.bytes(base);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined.front(), first);
  EXPECT_EQ(outgoing.bytes(base).front().data(), joined.front().data());
  EXPECT_EQ(outgoing.variants(), 1U);
  outgoing.bytes({.imps = both, .tmax_ms = 99});
  outgoing.bytes({.imps = second, .tmax_ms = 100});
  outgoing.bytes({.imps = both, .tmax_ms = 100, .at = 2});
  EXPECT_EQ(outgoing.variants(), 4U);
  outgoing.reset(document, request);
  EXPECT_EQ(outgoing.variants(), 0U);
}

TEST(Outgoing, EachDspIsSentThePlacesOfItsVersion) {
  FakeMarket market;
  market.add("alpha", answers_no_bid()).openrtb = "2.5";
  market.add("beta", answers_no_bid());
  const std::string head = R"({"id":"r1","tmax":200,"at":1,"imp":[{"id":"1","banner":{}}],"regs":)";
  const std::string places_25 = R"({"ext":{"gdpr":0}},"user":{"id":"u","ext":{"consent":"C"}}})";
  const std::string places_26 = R"({"gdpr":0},"user":{"id":"u","consent":"C"}})";
  std::string sent = head;
  sent.replace(sent.find("200"), 3, "194");
  for (const std::string& places : {places_25, places_26}) {
    market.run(head + places);
    EXPECT_EQ(market.seen["alpha/display"], sent + places_25);
    EXPECT_EQ(market.seen["beta/display"], sent + places_26);
  }
}

/// Changes each member of the key alone: forgetting one in the comparison fails here.
TEST(Outgoing, EveryMemberOfTheKeyParts) {
  const uint32_t imps[] = {0};
  const openrtb::NodeId params[] = {3};
  const openrtb::NodeId other_params[] = {4};
  const openrtb::PathEdit scrub[] = {
      {.path = {openrtb::Key::device, openrtb::Key::ip}, .json = ""}};
  const openrtb::PathEdit mask[] = {
      {.path = {openrtb::Key::device, openrtb::Key::ip}, .json = "1"}};
  const DspEdits base{.imps = imps, .params = params, .privacy = scrub};
  std::vector<DspEdits> others(11, base);
  others[0].imps = {};
  others[1].tmax_ms = 7;
  others[2].at = 2;
  others[3].version = openrtb::Version::k25;
  others[4].params = other_params;
  others[5].buyeruid = 5;
  others[6].schain = 6;
  others[7].request_id = "own";
  others[8].privacy = mask;
  others[9].discount_ppm = 1;
  others[10].floor.price.micros = 1;
  EXPECT_TRUE(same_bytes(base, DspEdits(base)));
  for (size_t i = 0; i < others.size(); ++i) {
    EXPECT_FALSE(same_bytes(base, others[i])) << i;
  }
}

TEST(Outgoing, PrivacyHasTheLastWord) {
  const openrtb::Padded text(request_json(
      kBannerImp, R"(,"device":{"ip":"1.2.3.4","ua":"u"},"user":{"id":"x"},"z":"id9")"));
  openrtb::Document document;
  openrtb::RequestView request;
  ASSERT_TRUE(document.walk(text.view()));
  ASSERT_TRUE(read_request(document, {}, request));
  Outgoing outgoing;
  outgoing.reset(document, request);
  const uint32_t imps[] = {0};
  using openrtb::Key;
  const openrtb::PathEdit scrub[] = {{.path = {Key::device, Key::ip}, .json = R"("1.2.3.0")"},
                                     {.path = {Key::user}, .json = ""}};
  std::string bytes;
  for (const std::string_view piece :
       outgoing.bytes({.imps = imps,
                       .tmax_ms = 9,
                       .buyeruid = document.find(document.root(), "z"),
                       .privacy = scrub})) {
    bytes += piece;
  }
  EXPECT_EQ(bytes, request_json(kBannerImp, R"(,"device":{"ip":"1.2.3.0","ua":"u"},"z":"id9")"
                                            R"(,"tmax":9,"at":1)"));
}

}  // namespace
}  // namespace spillway::exchange
