// Every bid of the bidder under every rule of the exchange.
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "adapters/time_zones.h"
#include "base/rates.h"
#include "base/rng.h"
#include "bidder/generate/catalogs.h"
#include "bidder/model.h"
#include "bidder/pipeline.h"
#include "bidder/pipeline_fixture.h"
#include "exchange/clearing/bid.h"
#include "exchange/clearing/formats.h"
#include "exchange/snapshot.h"
#include "openrtb/codes.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::bidder {
namespace {

using exchange::Check;
using testing::kNowS;
using testing::Market;

template <size_t N>
std::string_view one_of(base::Rng& rng, const std::array<std::string_view, N>& values) {
  return values.at(rng.below(N));
}

std::string imp_of(base::Rng& rng, int number) {
  std::string imp = R"({"id":"imp )" + std::to_string(number) + '"';
  imp += one_of(rng, std::array<std::string_view, 5>{
                         "", R"(,"bidfloor":0.2)", R"(,"bidfloor":1.5,"bidfloorcur":"EUR")",
                         R"(,"pmp":{"deals":[{"id":"deal-1","bidfloor":0.5,"at":3}]})",
                         R"(,"bidfloor":0.3,"pmp":{"private_auction":1,"deals":[{"id":"deal-2",)"
                         R"("bidfloor":0.4,"bidfloorcur":"EUR","at":1},)"
                         R"({"id":"deal-1","bidfloor":0.2,"at":2}]})"});
  imp += one_of(rng, std::array<std::string_view, 3>{"", R"(,"secure":1)", R"(,"instl":1)"});
  imp += one_of(
      rng,
      std::array<std::string_view, 6>{
          R"(,"banner":{"w":300,"h":250,"battr":[1,2,3]}})",
          R"(,"banner":{"format":[{"w":728,"h":90},{"w":320,"h":50},{"w":160,"h":600}]}})",
          R"(,"video":{"mimes":["video/mp4"],"protocols":[2,3],"minduration":5,"maxduration":30,)"
          R"("w":640,"h":480}})",
          R"(,"video":{"mimes":["video/mp4","video/webm"],"protocols":[3,7],"w":1920,"h":1080},)"
          R"("banner":{"w":300,"h":600}})",
          R"(,"audio":{"mimes":["audio/mpeg","audio/mp4"],"protocols":[3,9,10],)"
          R"("maxduration":30}})",
          R"(,"native":{"request":"{\"ver\":\"1.2\",\"assets\":[{\"id\":1,\"required\":1,)"
          R"(\"title\":{\"len\":90}}]}","ver":"1.2"}})"});
  return imp;
}

std::string request_of(base::Rng& rng, int number) {
  std::string body = R"({"id":"r)" + std::to_string(number) + R"(","tmax":300,"at":)";
  body += rng.below(2) == 0 ? "1" : "2";
  body += one_of(rng, std::array<std::string_view, 4>{"", R"(,"cur":["USD"])", R"(,"cur":["EUR"])",
                                                      R"(,"cur":["GBP","USD"])"});
  body += one_of(rng, std::array<std::string_view, 6>{"", "", R"(,"bcat":["IAB7","IAB18","IAB20"])",
                                                      R"(,"badv":["example.com"])",
                                                      R"(,"acat":["IAB1","IAB2","IAB3","IAB19"])",
                                                      R"(,"bcat":["1","2"],"cattax":7)"});
  body += one_of(
      rng, std::array<std::string_view, 2>{R"(,"site":{"domain":"news.example","cat":["IAB12"]})",
                                           R"(,"app":{"bundle":"org.example.app"})"});
  body += R"(,"user":{"id":")" + std::to_string(rng.below(1000)) + R"("},"device":{"devicetype":)";
  body += std::to_string(1 + rng.below(7));
  body += R"(,"language":"en","geo":{"country":")";
  body += one_of(rng, std::array<std::string_view, 4>{"USA", "DEU", "GBR", "FRA"});
  body += R"("}},"imp":[)" + imp_of(rng, 1) + "," + imp_of(rng, 2) + "]}";
  return body;
}

/// As strict as an exchange can be set.
exchange::DspConfig strict() {
  exchange::DspConfig dsp;
  dsp.name = dsp.seat = "s";
  auto& checks = dsp.checks;
  for (auto* check : {&checks.vast, &checks.mime, &checks.duration, &checks.protocol,
                      &checks.video_size, &checks.native, &checks.language, &checks.expiry}) {
    *check = Check::kEnforce;
  }
  checks.require_crid = checks.require_mtype = checks.require_response_id = true;
  return dsp;
}

TEST(BidsOfTheBidder, PassEveryRuleOfTheExchange) {
  auto rows = generate::honest_catalog({.seed = 7, .campaigns = 3'000, .today_s = kNowS});
  for (size_t i = 0; i < rows.line_items.size(); i += 5) {
    rows.line_items[i].targeting.of(Dimension::kDeal).include = {i % 2 == 0 ? "deal-1" : "deal-2"};
  }
  for (size_t i = 0; i < rows.advertisers.size(); i += 2) {
    rows.advertisers[i].categories.push_back(i % 4 == 0 ? "7:2" : "7:9");
  }
  Market market(rows, adapters::time_zones_of(rows, kNowS));
  market.rates = base::Rates({}, kNowS * 1000, std::chrono::hours(72));
  ASSERT_TRUE(market.rates.add({{'E', 'U', 'R'}}, 900'000'000));
  ASSERT_TRUE(market.rates.add({{'G', 'B', 'P'}}, 800'000'000));
  Pipeline pipeline(market.stats);
  const auto dsp = strict();
  base::Rng rng(20'260'101);
  openrtb::Document asked;
  openrtb::Document answered;
  openrtb::RequestView view;
  exchange::clearing::AskedFormats formats;
  exchange::clearing::Answer answer;
  std::array<size_t, 5> by_media{};
  size_t deals = 0;
  for (int i = 0; i < 4'000; ++i) {
    const std::string request = request_of(rng, i);
    market.run(pipeline, request);
    ASSERT_NE(pipeline.reason(), NoBidReason::kInvalid) << request << pipeline.error().what;
    if (pipeline.bids() == 0) {
      continue;
    }
    const openrtb::Padded text(request);
    const openrtb::Padded body(pipeline.body());
    ASSERT_TRUE(asked.walk(text.view()));
    ASSERT_TRUE(openrtb::read_request(asked, {}, view));
    formats.reset(asked, asked.root());
    exchange::clearing::read_answer(
        body.view(), view,
        {.dsp = dsp, .request_id = view.id, .rates = &market.rates, .formats = &formats}, answered,
        answer);
    ASSERT_EQ(answer.bids.size(), pipeline.bids());
    for (const auto& bid : answer.bids) {
      ASSERT_TRUE(bid.valid()) << describe(bid.loss) << "\n" << request << "\n" << pipeline.body();
      by_media.at(static_cast<size_t>(std::countr_zero(static_cast<unsigned>(bid.media)))) += 1;
      deals += bid.deal == exchange::clearing::Bid::kNoDeal ? 0 : 1;
    }
  }
  EXPECT_GT(by_media[0], 100U) << "banners";
  EXPECT_GT(by_media[1], 100U) << "videos";
  EXPECT_GT(by_media[2] + by_media[3], 50U) << "audio and native";
  EXPECT_GT(deals, 100U);
  std::printf("bids: %zu banner, %zu video, %zu audio, %zu native, %zu in deals\n", by_media[0],
              by_media[1], by_media[2], by_media[3], deals);
}

}  // namespace
}  // namespace spillway::bidder
