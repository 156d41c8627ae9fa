#include "exchange/record.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/rng.h"
#include "exchange/auction.h"
#include "exchange/fake_market.h"
#include "openrtb/document.h"
#include "openrtb/padded.h"

namespace spillway::exchange {
namespace {

/// A market with a bit of everything, and one auction in its record.
class BusyMarket : public FakeMarket {
 public:
  BusyMarket() {
    add("alpha", bids("1.5"));
    add("beta", bids("2.25"));
    add("gamma", is_refused(520));
    add("kappa", stays_silent());
    add("omega", fails(base::CallError::kReset, base::CallPhase::kFirstByte));
    run(request_json(kBannerImp, R"(,"test":1)"));
  }
};

TEST(Record, ALogGivesBackWhatWasWritten) {
  const BusyMarket market;
  std::string log;
  append_snapshot(log, 77, "dsps: []\n");
  append_record(log, market.record);
  RecordReader reader(log);
  const auto snapshot = reader.next();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->is_snapshot);
  EXPECT_EQ(snapshot->snapshot_hash, 77U);
  EXPECT_EQ(snapshot->snapshot_text, "dsps: []\n");
  const auto entry = reader.next();
  ASSERT_TRUE(entry);
  EXPECT_TRUE(reader.at_end());
  const Record& read = entry->record;
  EXPECT_EQ(entry->snapshot_hash, 77U);
  EXPECT_EQ(read.request, market.record.request);
  EXPECT_EQ(read.start.seed, 42U);
  EXPECT_EQ(read.start.wall_ms, 1'700'000'000'123);
  EXPECT_EQ(read.start.now.time_since_epoch(), market.start.now - market.start.time_zero);
  ASSERT_EQ(read.verdicts.size(), 5U);
  EXPECT_EQ(read.verdicts[2].refusal, 520);
  EXPECT_EQ(read.verdicts[0].terms.offered, market.record.verdicts[0].terms.offered);
  ASSERT_EQ(read.answers.size(), 3U);
  EXPECT_EQ(read.body_of(read.answers[1]), market.record.body_of(market.record.answers[1]));
  EXPECT_EQ(read.answers[2].result.error, base::CallError::kReset);
  EXPECT_EQ(read.answers[2].result.elapsed(), market.record.answers[2].result.elapsed());
  EXPECT_TRUE(read.finished);
  EXPECT_EQ(read.reply, market.reply.body);
  EXPECT_EQ(read.status, 200);
}

TEST(Record, TheSameAuctionInAnotherBootIsTheSameRecord) {
  BusyMarket market;
  std::string log;
  append_record(log, market.record);
  market.start.time_zero += std::chrono::hours(31);
  market.start.now += std::chrono::hours(31);
  market.run(request_json(kBannerImp, R"(,"test":1)"));
  std::string other;
  append_record(other, market.record);
  EXPECT_EQ(log, other);
}

TEST(Record, AFlippedBitIsABadChecksumAndTheNextEntryIsStillRead) {
  const BusyMarket market;
  std::string log;
  append_record(log, market.record);
  const size_t first = log.size();
  append_record(log, market.record);
  log[first / 2] = static_cast<char>(log[first / 2] ^ 4);
  RecordReader reader(log);
  const auto broken = reader.next();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error(), RecordErrc::kBadChecksum);
  EXPECT_TRUE(reader.next());
  EXPECT_TRUE(reader.at_end());
}

TEST(Record, ALogCutAnywhereIsTruncated) {
  std::string log;
  append_record(log, BusyMarket().record);
  for (size_t size = 1; size < log.size(); ++size) {
    RecordReader reader(std::string_view(log).substr(0, size));
    const auto entry = reader.next();
    ASSERT_FALSE(entry);
    EXPECT_EQ(entry.error(), RecordErrc::kTruncated) << size;
    EXPECT_TRUE(reader.at_end());
  }
}

TEST(Record, AnEntryThatWasNeverFinishedCostsNoneOfThoseAfterIt) {
  std::string entry;
  append_record(entry, BusyMarket().record);
  for (const size_t kept : {size_t{1}, size_t{8}, size_t{12}, size_t{13}, size_t{40},
                            entry.size() / 2, entry.size() - 1}) {
    const std::string log = entry + entry.substr(0, kept) + entry + entry;
    RecordReader reader(log);
    EXPECT_TRUE(reader.next());
    EXPECT_FALSE(reader.next()) << kept;
    EXPECT_TRUE(reader.next()) << kept;
    EXPECT_TRUE(reader.next()) << kept;
    EXPECT_TRUE(reader.at_end()) << kept;
  }
}

TEST(Record, AnotherFormatIsABadMagic) {
  RecordReader reader("{\"a\":1} and so on and on and on");
  EXPECT_EQ(reader.next().error(), RecordErrc::kBadMagic);
  EXPECT_TRUE(reader.at_end());
}

/// Makes the checksum right again, as a hostile writer would.
std::string resealed(std::string log) {
  const std::string_view body = std::string_view(log).substr(8, log.size() - 16);
  const uint64_t hash = base::hash64(body);
  for (size_t i = 0; i < 8; ++i) {
    log[log.size() - 8 + i] = static_cast<char>(hash >> (8 * i));
  }
  return log;
}

TEST(Record, AnIntactEntryWithImpossibleValuesIsABadValue) {
  std::string log;
  append_record(log, BusyMarket().record);
  std::string unknown_kind = log;
  unknown_kind[8] = 9;
  RecordReader reader(unknown_kind = resealed(unknown_kind));
  EXPECT_EQ(reader.next().error(), RecordErrc::kBadValue);
}

TEST(Record, RandomDamageUnderAGoodChecksumNeverCrashesReadingOrReplay) {
  const BusyMarket market;
  std::string log;
  append_record(log, market.record);
  base::Rng rng(3);
  Auction auction;
  for (int round = 0; round < 3'000; ++round) {
    std::string damaged = log;
    for (uint64_t i = 0; i <= rng.below(4); ++i) {
      damaged[13 + rng.below(damaged.size() - 21)] = static_cast<char>(rng.next());
    }
    damaged = resealed(damaged);
    RecordReader reader(damaged);
    if (const auto entry = reader.next(); entry) {
      (void)replay(market.snapshot, entry->record, auction);
      (void)explain(market.snapshot, entry->record, (round & 1) != 0);
    } else {
      EXPECT_EQ(entry.error(), RecordErrc::kBadValue);
    }
  }
}

TEST(Explain, TellsWhyEachDspWasAskedAndEachBidLost) {
  const BusyMarket market;
  const std::string text = explain(market.snapshot, market.record, false);
  for (const std::string_view part :
       {"auction r1: bid, status 200\nasked under", "alpha/display: asked (normal, given ",
        "gamma/display: not asked, 520", "kappa/display: asked", "silent until the end, 101",
        "omega/display: asked", "reset after 20 ms",
        "bid b seat alpha imp 1 price 1.5 USD: lost, 102",
        "bid b seat beta imp 1 price 2.25 USD: won, pays 2.25",
        "imp 1: beta wins with bid b, clearing price 2.25 USD"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
  EXPECT_EQ(text.find("warning"), std::string::npos);
}

TEST(Explain, SaysWhenTheReplyIsNotTheRecordedOne) {
  BusyMarket market;
  market.record.reply += ' ';
  EXPECT_NE(explain(market.snapshot, market.record, false).find("not the recorded one"),
            std::string::npos);
  EXPECT_NE(explain(market.snapshot, market.record, true).find(R"("same_as_recorded":false)"),
            std::string::npos);
}

TEST(Explain, AsJsonIsOneDocumentWithTheSameFacts) {
  const BusyMarket market;
  const openrtb::Padded json(explain(market.snapshot, market.record, true));
  openrtb::Document document;
  ASSERT_TRUE(document.walk(json.view())) << json.view();
  const auto root = document.root();
  EXPECT_EQ(document.string(document.find(root, "id")), "r1");
  EXPECT_EQ(document.raw(document.find(root, "same_as_recorded")), "true");
  EXPECT_EQ(document.node(document.find(root, "candidates")).children, 5U);
  EXPECT_EQ(document.node(document.find(root, "nonbids")).children, 4U);
  const auto imp = document.first_child(document.find(root, "imps"));
  EXPECT_EQ(document.string(document.find(imp, "dsp")), "beta");
  EXPECT_EQ(document.raw(document.find(imp, "clearing_price")), "2.25");
}

}  // namespace
}  // namespace spillway::exchange
