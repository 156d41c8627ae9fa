#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/rng.h"
#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "exchange/record.h"
#include "exchange/shed_levels.h"
#include "exchange/snapshot.h"
#include "openrtb/validate.h"

namespace spillway::exchange {
namespace {

using std::chrono::microseconds;

std::string random_price(base::Rng& rng) {
  return std::to_string(rng.below(4)) + "." + std::to_string(rng.below(1000));
}

std::string random_bids(base::Rng& rng) {
  std::string list;
  const uint64_t count = rng.below(5);
  for (uint64_t i = 0; i < count; ++i) {
    list += i == 0 ? "" : ",";
    list += bid_json("b" + std::to_string(rng.below(4)), std::to_string(1 + rng.below(5)),
                     random_price(rng),
                     rng.below(3) == 0 ? R"(,"w":728,"h":90,"adm2":"${AUCTION_PRICE}")"
                                       : R"(,"w":300,"h":250,"nurl":"http://n")");
  }
  return response_json(list, rng.below(4) == 0 ? R"(,"cur":"EUR","bidid":"x")" : "");
}

FakeAnswer random_answer(base::Rng& rng) {
  FakeAnswer answer;
  switch (rng.below(10)) {
    case 0:
      answer = is_refused(static_cast<uint16_t>(520 + rng.below(6)));
      break;
    case 1:
      answer = stays_silent();
      break;
    case 2:
      answer = fails(static_cast<base::CallError>(1 + rng.below(10)),
                     static_cast<base::CallPhase>(rng.below(5)));
      break;
    case 3:
      answer = answers_status(static_cast<uint16_t>(100 + rng.below(500)));
      break;
    case 4: {
      std::string body = random_bids(rng);
      body.resize(rng.below(body.size() + 1));
      answer = answers(body);
      break;
    }
    default:
      answer = answers(random_bids(rng));
  }
  answer.after = microseconds(1'000 + rng.below(160'000));
  return answer;
}

std::string random_request(base::Rng& rng) {
  std::string imps;
  const uint64_t count = 1 + rng.below(4);
  for (uint64_t i = 1; i <= count; ++i) {
    imps += i == 1 ? "" : ",";
    imps += R"({"id":")" + std::to_string(i) + R"(",)";
    imps += rng.below(4) == 0 ? R"("video":{"mimes":["video/mp4"],"w":300,"h":250})"
                              : R"("banner":{"format":[{"w":300,"h":250},{"w":728,"h":90}]})";
    imps += rng.below(2) == 0 ? R"(,"bidfloor":0.5})" : "}";
  }
  std::string more = R"(,"cur":["USD","EUR"],"tmax":)" + std::to_string(rng.below(300));
  more += rng.below(2) == 0 ? R"(,"at":2)" : "";
  more += rng.below(3) == 0 ? R"(,"test":1)" : "";
  more += rng.below(5) == 0 ? R"(,"badv":["house.example"])" : "";
  more += R"(,"site":{"publisher":{"id":"p)" + std::to_string(rng.below(3)) + R"("}})";
  std::string request = request_json(imps, more);
  if (rng.below(50) == 0) {
    request.resize(rng.below(request.size()));
  }
  return request;
}

void configure(FakeMarket& market) {
  for (int i = 0; i < 6; ++i) {
    DspConfig& dsp = market.add("dsp" + std::to_string(i), {});
    dsp.routing.share_ratio = i == 1 ? 0.5 : 1;
    if (i == 2) {
      dsp.endpoints[0].media = static_cast<uint8_t>(openrtb::MediaType::kBanner);
      dsp.endpoints.emplace_back().path = "video";
      dsp.endpoints[1].media = static_cast<uint8_t>(openrtb::MediaType::kVideo);
    }
  }
  market.add_house();
  market.add_house(728, 90);
  Account& account = market.snapshot.accounts.emplace_back();
  account.publisher = "p1";
  account.on_no_bid = Fallback::kHouse;
  account.no_bid_as_200 = true;
  account.auction = 2;
}

TEST(Replay, TenThousandAuctionsWithMixedFaultsReplayByteForByte) {
  FakeMarket market;
  configure(market);
  base::Rng rng(20'260'818);
  Auction again;
  size_t kinds[6] = {};
  for (int round = 0; round < 10'000; ++round) {
    for (FakeAnswer& answer : market.behaviour) {
      answer = random_answer(rng);
    }
    market.start.seed = rng.next();
    market.start.shed =
        ShedLevels::of_byte(rng.below(30) == 0 ? static_cast<uint8_t>(rng.below(256)) : 0);
    market.start.has_origin = rng.below(3) == 0;
    market.start.time_zero += microseconds(rng.below(1'000'000));
    market.start.now = market.start.time_zero + microseconds(rng.below(20'000));
    market.network_cost = microseconds(rng.below(30'000));
    market.run(random_request(rng));
    ++kinds[static_cast<size_t>(market.reply.kind)];

    std::string log;
    append_record(log, market.record);
    const auto entry = RecordReader(log).next();
    ASSERT_TRUE(entry) << round;
    const ReplyBytes reply = replay(market.snapshot, entry->record, again);
    ASSERT_EQ(reply.status, entry->record.status) << round;
    ASSERT_EQ(reply.body, entry->record.reply) << round;
    ASSERT_EQ(reply.kind, market.reply.kind);
    std::string once_more;
    append_record(once_more, entry->record);
    ASSERT_EQ(once_more, log) << "encoding is not the inverse of decoding";
  }
  // Every kind but "unsupported" was met often enough to mean something.
  for (size_t kind = 0; kind < 5; ++kind) {
    EXPECT_GT(kinds[kind], 50U) << to_string(static_cast<ReplyKind>(kind));
  }
}

TEST(Replay, AChangedInputChangesTheReply) {
  FakeMarket market;
  market.add("alpha", bids("1"));
  market.add("beta", bids("2"));
  market.run(request_json());
  Record& record = market.record;
  Auction again;
  EXPECT_EQ(replay(market.snapshot, record, again).body, record.reply);
  record.answers.pop_back();
  EXPECT_NE(replay(market.snapshot, record, again).body, record.reply);
}

TEST(Replay, ARecordOfAnotherConfigurationIsRunWithoutHarm) {
  FakeMarket market;
  configure(market);
  for (FakeAnswer& answer : market.behaviour) {
    answer = bids("1");
  }
  market.run(request_json());
  Snapshot smaller;
  smaller.accounts.emplace_back();
  Auction again;
  EXPECT_EQ(replay(smaller, market.record, again).status, 204);
  FakeMarket larger;
  configure(larger);
  larger.add("dsp6", {});
  larger.add("dsp7", {});
  EXPECT_EQ(replay(larger.snapshot, market.record, again).kind, ReplyKind::kBid);
}

}  // namespace
}  // namespace spillway::exchange
