#include "exchange/outgoing.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "exchange/fake_market.h"
#include "exchange/snapshot.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

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
  const auto first = outgoing.bytes(both, 100, 1);
  EXPECT_EQ(outgoing.bytes(both, 100, 1).data(), first.data());
  EXPECT_EQ(outgoing.variants(), 1U);
  outgoing.bytes(both, 99, 1);
  outgoing.bytes(second, 100, 1);
  outgoing.bytes(both, 100, 2);
  EXPECT_EQ(outgoing.variants(), 4U);
  outgoing.reset(document, request);
  EXPECT_EQ(outgoing.variants(), 0U);
}

}  // namespace
}  // namespace spillway::exchange
