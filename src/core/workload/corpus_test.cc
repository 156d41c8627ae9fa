#include "workload/corpus.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace spillway::workload
