#include "workload/corpus.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "openrtb/consent/gpp.h"
#include "openrtb/consent/tcf.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::workload {
namespace {

using openrtb::Document;
using openrtb::Key;
using openrtb::Padded;

TEST(Corpus, EveryRequestIsJsonWithTheIdItIsGivenAndTheTmaxItAnnounces) {
  const Corpus corpus = Corpus::generate({});
  Document request;
  for (size_t i = 0; i < corpus.size(); ++i) {
    const Padded text(corpus.bytes(i, "call-7"));
    ASSERT_TRUE(request.walk(text.view())) << text.view();
    EXPECT_TRUE(request.equals(request.find(request.root(), Key::id), "call-7"));
    EXPECT_EQ(request.integer(request.find(request.root(), Key::tmax)), corpus.at(i).tmax_ms);
    EXPECT_GE(request.node(request.find(request.root(), Key::imp)).children, 1);
  }
}

TEST(Corpus, MediaTypesComeInTheSharesAskedFor) {
  const Corpus corpus = Corpus::generate(
      {.requests = 20'000, .video_ratio = 0.3, .native_ratio = 0.1, .audio_ratio = 0.05});
  std::map<Corpus::Media, double> shares;
  for (size_t i = 0; i < corpus.size(); ++i) {
    shares[corpus.at(i).media] += 1.0 / static_cast<double>(corpus.size());
  }
  EXPECT_NEAR(shares[Corpus::Media::kVideo], 0.3, 0.01);
  EXPECT_NEAR(shares[Corpus::Media::kNative], 0.1, 0.01);
  EXPECT_NEAR(shares[Corpus::Media::kAudio], 0.05, 0.01);
  EXPECT_NEAR(shares[Corpus::Media::kBanner], 0.55, 0.015);
}

TEST(Corpus, TheSameSeedGivesTheSameBytesAndAnotherSeedOthers) {
  const auto text = [](uint64_t seed) {
    const Corpus corpus = Corpus::generate({.seed = seed, .requests = 50});
    std::string all;
    for (size_t i = 0; i < corpus.size(); ++i) {
      all += corpus.bytes(i, "x");
    }
    return all;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

CorpusSettings full_settings() {
  return {.requests = 4000,
          .deals_ratio = 0.2,
          .consent_ratio = 0.3,
          .gzip_ratio = 0.25,
          .invalid_ratio = 0.1};
}

TEST(Corpus, DealsConsentGzipAndBrokenRequestsComeInTheSharesAskedFor) {
  const Corpus corpus = Corpus::generate(full_settings());
  Document request;
  double deals = 0;
  double imps = 0;
  double signals = 0;
  double broken = 0;
  for (size_t i = 0; i < corpus.size(); ++i) {
    broken += corpus.at(i).valid ? 0 : 1;
    const Padded text(corpus.bytes(i, "x"));
    if (!corpus.at(i).valid || !request.walk(text.view())) {
      continue;
    }
    for (const auto imp : request.children(request.find(request.root(), Key::imp))) {
      imps += 1;
      deals += request.path(imp, Key::pmp, Key::deals) == openrtb::kAbsent ? 0 : 1;
    }
    signals += request.find(request.root(), Key::regs) == openrtb::kAbsent ? 0 : 1;
  }
  const auto size = static_cast<double>(corpus.size());
  EXPECT_NEAR(deals / imps, 0.2, 0.02);
  EXPECT_NEAR(signals / (size - broken), 0.3, 0.025);
  EXPECT_NEAR(broken / size, 0.1, 0.015);
  EXPECT_NEAR(corpus.gzip_ratio(), 0.25, 0.025);
}

TEST(Corpus, ItsConsentStringsCanBeRead) {
  const Corpus corpus = Corpus::generate({.requests = 300, .consent_ratio = 1});
  Document request;
  int tcf = 0;
  int gpp = 0;
  int all_purposes = 0;
  for (size_t i = 0; i < corpus.size(); ++i) {
    const Padded text(corpus.bytes(i, "x"));
    ASSERT_TRUE(request.walk(text.view()));
    std::string consent(request.raw_string(request.path(request.root(), Key::user, Key::consent)));
    const auto platform = request.path(request.root(), Key::regs, Key::gpp);
    if (platform != openrtb::kAbsent) {
      const auto sections = openrtb::consent::Gpp::decode(request.raw_string(platform));
      ASSERT_TRUE(sections.has_value());
      ++gpp;
      const std::string_view* const section = sections->find(openrtb::consent::kGppTcfEu);
      ASSERT_TRUE(section != nullptr || sections->find(openrtb::consent::kGppUsPrivacy) != nullptr);
      consent = section != nullptr ? std::string(*section) : "";
    }
    if (!consent.empty()) {
      const auto read = openrtb::consent::Tcf::decode(consent);
      ASSERT_TRUE(read);
      ++tcf;
      all_purposes += read->purpose_consent(1) && read->purpose_consent(10) ? 1 : 0;
    }
  }
  EXPECT_NEAR(tcf, 200, 30);
  EXPECT_NEAR(gpp, 150, 30);
  EXPECT_GT(all_purposes, tcf / 2);
}

TEST(Corpus, NoBrokenRequestIsASoundOne) {
  const Corpus corpus = Corpus::generate({.requests = 500, .invalid_ratio = 1});
  Document request;
  for (size_t i = 0; i < corpus.size(); ++i) {
    const Padded text(corpus.bytes(i, "x"));
    ASSERT_FALSE(corpus.at(i).valid);
    ASSERT_FALSE(request.walk(text.view()) && request.is(request.root(), openrtb::Kind::kObject) &&
                 request.first_child(request.find(request.root(), Key::imp)) != openrtb::kAbsent)
        << text.view();
  }
}

TEST(Corpus, WhatOnlySomeCorporaHaveLeavesTheRestOfTheBytesAlone) {
  const Corpus plain = Corpus::generate({.requests = 50});
  const Corpus packed = Corpus::generate({.requests = 50, .gzip_ratio = 0.5});
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain.bytes(i, "x"), packed.bytes(i, "x"));
  }
}

TEST(Corpus, TheHonestOneMeetsAMillionUsersInThreeMillionRequests) {
  const CorpusSettings settings = honest_bidder_settings(1);
  const UserLaw law{.users = settings.users, .exponent = settings.user_exponent};
  std::vector<bool> met(settings.users + 1);
  uint64_t distinct = 0;
  uint64_t top_thousand = 0;
  constexpr uint64_t kSendings = 3'000'000;
  for (uint64_t i = 0; i < kSendings; ++i) {
    const uint64_t user = law.user(base::unit(base::combine64(1, i)));
    ASSERT_GE(user, 1);
    ASSERT_LE(user, settings.users);
    distinct += met[user] ? 0 : 1;
    met[user] = true;
    top_thousand += user <= 1000 ? 1 : 0;
  }
  EXPECT_GE(distinct, 1'000'000);
  // The law's own share: (1000^0.05 - 1) / (10^7^0.05 - 1).
  EXPECT_NEAR(static_cast<double>(top_thousand) / kSendings, 0.3328, 0.002);
}

TEST(Corpus, TheHonestOneHasOneToEightImpsAndUsersOfItsOwnASending) {
  CorpusSettings settings = honest_bidder_settings(1);
  settings.requests = 800;
  const Corpus corpus = Corpus::generate(settings);
  ASSERT_TRUE(corpus.draws_users());
  std::map<uint32_t, int> counts;
  Document request;
  for (size_t i = 0; i < corpus.size(); ++i) {
    const Padded text(corpus.bytes(i, "somebody"));
    if (corpus.at(i).valid) {
      ASSERT_TRUE(request.walk(text.view()));
      ++counts[request.node(request.find(request.root(), Key::imp)).children];
      EXPECT_TRUE(request.equals(request.path(request.root(), Key::user, Key::id), "somebody"));
    }
  }
  EXPECT_EQ(counts.size(), 8);
  EXPECT_EQ(counts.rbegin()->first, 8);
}

TEST(Corpus, TheParityOneHasThePublishedShares) {
  const Corpus corpus = Corpus::parity_bidder();
  ASSERT_EQ(corpus.size(), 1000);
  Document request;
  std::set<std::string> users;
  std::map<std::string, int> metros;
  std::map<int64_t, int> devices;
  double bytes = 0;
  double segments = 0;
  for (size_t i = 0; i < corpus.size(); ++i) {
    const Padded text(corpus.bytes(i, "0123456789abcdef"));
    ASSERT_TRUE(request.walk(text.view())) << text.view();
    const auto root = request.root();
    bytes += static_cast<double>(text.view().size()) / 1000;
    users.insert(request.string(request.path(root, Key::user, Key::id)));
    ++metros[request.string(request.path(root, Key::device, Key::geo, Key::metro))];
    ++devices[request.integer(request.path(root, Key::device, Key::devicetype)).value()];
    const auto data = request.first_child(request.path(root, Key::user, Key::data));
    segments += request.node(request.find(data, Key::segment)).children / 1000.0;
    EXPECT_EQ(request.node(request.find(root, Key::imp)).children, 2);
  }
  EXPECT_NEAR(bytes, 2016, 40);
  EXPECT_NEAR(segments, 10, 0.3);
  EXPECT_NEAR(static_cast<double>(users.size()), 712, 36);
  EXPECT_NEAR(devices[2], 728, 42);
  EXPECT_NEAR(devices[1], 175, 36);
  EXPECT_EQ(metros.size(), 10);
  EXPECT_EQ(metros["511"] + metros["534"] + metros["819"], 300) << "bid rate 0.700";
}

TEST(Corpus, TextsOfOthersKeepTheirBytesButForIdsAndTimes) {
  const Corpus corpus = Corpus::from_texts(
      {R"({"tmax":80,"id":"a","imp":[{"video":{}}],"source":{"tid":"b","ts":1700000000000},)"
       R"( "ext":{"timestamp":1700000000, "big":12345678901234567890}})",
       "{not JSON"},
      {});
  EXPECT_EQ(corpus.at(0).request.bytes(
                {.id = "N", .tid = "T", .seconds = "7", .millis = "7000", .user = "U"}),
            R"({"tmax":80,"id":"N","imp":[{"video":{}}],"source":{"tid":"T","ts":7000},)"
            R"( "ext":{"timestamp":7, "big":12345678901234567890}})");
  EXPECT_EQ(corpus.at(0).tmax_ms, 80);
  EXPECT_EQ(corpus.at(0).media, Corpus::Media::kVideo);
  EXPECT_TRUE(corpus.at(0).valid);
  EXPECT_EQ(corpus.bytes(1, "x"), "{not JSON");
  EXPECT_FALSE(corpus.at(1).valid);
}

TEST(Corpus, MoneyPerTimeShrinksAsTimeRunsFasterAndPricesStay) {
  const Corpus corpus = Corpus::from_texts(
      {R"({"id":"x","bidfloor":2.4,"daily_budget":240,"hourly_cap":12,"spend_per_day":1.2,)"
       R"("dailymotion":7})"},
      {.time_scale = 24});
  EXPECT_EQ(corpus.bytes(0, "x"),
            R"({"id":"x","bidfloor":2.4,"daily_budget":10,"hourly_cap":0.5,"spend_per_day":0.05,)"
            R"("dailymotion":7})");
}

}  // namespace
}  // namespace spillway::workload
