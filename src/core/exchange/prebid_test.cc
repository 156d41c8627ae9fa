#include "exchange/prebid.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "exchange/fake_market.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

constexpr size_t kDsps = 20;

std::string imp_for(std::string_view id, std::string_view bidders, std::string_view more = "") {
  std::string out = R"({"id":")";
  out += id;
  out += R"(","banner":{"w":300,"h":250},"ext":{"prebid":{"bidder":{)";
  out += bidders;
  out += "}}";
  out += more;
  out += "}}";
  return out;
}

TEST(Prebid, AnImpGoesToTheBiddersItNamesWithTheirOwnParametersOnly) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.add("beta", answers_no_bid());
  market.add("gamma", answers_no_bid());
  market.run(request_json(imp_for("1", R"("alpha":{"p":1},"Beta":{"p":2})", R"(,"gpid":"g")") +
                          "," + imp_for("2", R"("beta":{"p":3})") + R"(,{"id":"3","banner":{}})"));
  EXPECT_EQ(
      market.seen["alpha/display"],
      R"({"id":"r1","imp":[{"id":"1","banner":{"w":300,"h":250},"ext":{"gpid":"g","bidder":{"p":1}}},)"
      R"({"id":"3","banner":{}}],"tmax":144,"at":1})");
  EXPECT_EQ(
      market.seen["beta/display"],
      R"({"id":"r1","imp":[{"id":"1","banner":{"w":300,"h":250},"ext":{"gpid":"g","bidder":{"p":2}}},)"
      R"({"id":"2","banner":{"w":300,"h":250},"ext":{"bidder":{"p":3}}},)"
      R"({"id":"3","banner":{}}],"tmax":144,"at":1})");
  EXPECT_EQ(market.seen["gamma/display"],
            R"({"id":"r1","imp":[{"id":"3","banner":{}}],"tmax":144,"at":1})");
  EXPECT_EQ(market.non_bid(2, 0).code, openrtb::NonBid::kBlocked);
}

TEST(Prebid, NamesOfNobodyAreIgnoredWithAWarning) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.run(request_json(imp_for("1", R"("other":{"p":1})"), R"(,"test":1)"));
  EXPECT_TRUE(market.seen.empty());
  EXPECT_NE(market.reply.body.find("imp[0].ext.prebid.bidder: other is no DSP here"),
            std::string::npos)
      << market.reply.body;
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":{}";
  }
  market.run(request_json(imp_for("1", many)));
  EXPECT_EQ(market.auction.request().warnings.size(), Prebid::kWarnings);
}

TEST(Prebid, AnIdOfTheMapIsForItsDspAloneAndYieldsToTheUsersOwn) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.add("beta", answers_no_bid());
  constexpr std::string_view kMap = R"("ext":{"prebid":{"buyeruids":{"ALPHA":"a-id","who":"w"}}})";
  market.run(request_json(kBannerImp, R"(,"user":{)" + std::string(kMap) + "}"));
  EXPECT_NE(market.seen["alpha/display"].find(R"("user":{"buyeruid":"a-id"})"), std::string::npos)
      << market.seen["alpha/display"];
  EXPECT_EQ(market.seen["beta/display"].find("user"), std::string::npos)
      << market.seen["beta/display"];
  market.run(request_json(kBannerImp, R"(,"user":{"buyeruid":"own",)" + std::string(kMap) + "}"));
  EXPECT_EQ(market.seen["alpha/display"], market.seen["beta/display"]);
  EXPECT_NE(market.seen["alpha/display"].find(R"("user":{"buyeruid":"own"})"), std::string::npos);
}

TEST(Prebid, ASupplyChainIsForTheBiddersItNames) {
  FakeMarket market;
  market.add("alpha", answers_no_bid());
  market.add("beta", answers_no_bid());
  market.run(request_json(kBannerImp,
                          R"(,"ext":{"prebid":{"schains":[{"bidders":["alpha"],"schain":{"n":1}},)"
                          R"({"bidders":["*"],"schain":{"n":2}}]},"mine":1})"));
  EXPECT_NE(market.seen["alpha/display"].find(R"("ext":{"mine":1},"tmax")"), std::string::npos);
  EXPECT_NE(market.seen["alpha/display"].find(R"("source":{"schain":{"n":1}})"), std::string::npos)
      << market.seen["alpha/display"];
  EXPECT_NE(market.seen["beta/display"].find(R"("source":{"schain":{"n":2}})"), std::string::npos);
}

/// Requests in which everything that is one DSP's says whose: "<dsp>_is_private".
class Secrets {
 public:
  explicit Secrets(uint64_t seed) : rng_(seed) {}

  static std::string name(size_t dsp) { return "d" + std::to_string(100 + dsp); }

  static std::string mark(size_t dsp) { return name(dsp) + "_is_private"; }

  std::string request() {
    std::string imps;
    const uint64_t count = 1 + rng_.below(4);
    for (uint64_t i = 0; i < count; ++i) {
      imps += i == 0 ? "" : ",";
      imps += rng_.below(8) == 0 ? R"({"id":")" + std::to_string(i) + R"(","banner":{}})"
                                 : imp_for(std::to_string(i), map(R"({"a":[1,")", R"("]})"));
    }
    std::string more = rng_.below(2) == 0 ? R"(,"tmax":150)" : "";
    if (rng_.below(3) > 0) {
      more += R"(,"user":{"id":"u","ext":{"prebid":{"buyeruids":{)" + map("\"", "\"") +
              R"(}},"eids":[]}})";
    }
    if (rng_.below(3) == 0) {
      more += R"(,"ext":{"prebid":{"schains":[)" + schains() + "]}}";
    }
    return request_json(imps, more);
  }

 private:
  std::string map(std::string_view before, std::string_view after) {
    std::string out;
    for (size_t dsp = 0; dsp < kDsps; ++dsp) {
      if (rng_.below(3) == 0) {
        out += out.empty() ? "\"" : ",\"";
        out += name(dsp) + "\":" + std::string(before) + mark(dsp) + std::string(after);
      }
    }
    return out;
  }

  std::string schains() {
    std::string out;
    for (size_t dsp = 0; dsp < kDsps; dsp += 1 + rng_.below(5)) {
      out += out.empty() ? "" : ",";
      out += R"({"bidders":[")" + name(dsp) + R"("],"schain":{"x":")" + mark(dsp) + "\"}}";
    }
    return out;
  }

  base::Rng rng_;
};

TEST(Prebid, NoDspsBytesContainAnothersParametersOrIds) {
  FakeMarket market;
  for (size_t dsp = 0; dsp < kDsps; ++dsp) {
    market.add(Secrets::name(dsp), answers_no_bid()).openrtb = dsp % 3 == 0 ? "2.5" : "2.6";
  }
  Secrets secrets(7);
  openrtb::Document document;
  size_t own = 0;
  for (int round = 0; round < 10'000; ++round) {
    market.run(secrets.request());
    for (const auto& [key, bytes] : market.seen) {
      const std::string mark = key.substr(0, key.find('/')) + "_is_private";
      for (size_t at = bytes.find("_is_private"); at != std::string::npos;
           at = bytes.find("_is_private", at + 1)) {
        ASSERT_EQ(bytes.substr(at - 4, mark.size()), mark) << key << ' ' << bytes;
        ++own;
      }
      if (round % 16 == 0) {
        const openrtb::Padded padded(bytes);
        ASSERT_TRUE(document.walk(padded.view())) << bytes;
      }
    }
  }
  EXPECT_GT(own, 100'000U);
}

}  // namespace
}  // namespace spillway::exchange
