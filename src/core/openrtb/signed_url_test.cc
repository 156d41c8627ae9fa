#include "openrtb/signed_url.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::openrtb {
namespace {

constexpr std::string_view kBase = "https://x.example/rtb";
constexpr int64_t kNow = 1'700'000'000;

const EventSigner::Key kOld{.id = "a", .secret = "the first secret, long enough"};
const EventSigner::Key kNew{.id = "b", .secret = "the second secret, longer still"};

Event event() {
  return {.kind = EventKind::kImp,
          .auction = 0xfedcba9876543210,
          .imp = 3,
          .seat = "s & co/\"ü\"",
          .bid_id = "b=1&h=00",
          .instance = "eu-1",
          .expires_s = kNow + 60};
}

std::string query_of(const EventSigner& signer, const Event& what) {
  std::string url;
  signer.append_url(url, what);
  EXPECT_TRUE(url.starts_with("https://x.example/rtb/event?")) << url;
  return url.substr(url.find('?') + 1);
}

TEST(EventSigner, ReadsWhatItWrote) {
  const EventSigner signer(std::string(kBase), {kNew});
  const std::string query = query_of(signer, event());
  EXPECT_EQ(query.find_first_of("\"<> \\'"), std::string::npos) << query;
  // What pages that decode and encode whole URLs would change.
  EXPECT_EQ(query.find_first_of("%+/:;@?,#!*()[]"), std::string::npos) << query;
  const auto read = signer.read(query, kNow);
  ASSERT_TRUE(read.has_value()) << to_string(read.error());
  EXPECT_EQ(*read, event());
  EXPECT_EQ(query, query_of(signer, event()));
  EXPECT_TRUE(signer.read(query + "&cb=123", kNow).has_value());
}

TEST(EventSigner, RefusesEveryChangedByte) {
  const EventSigner signer(std::string(kBase), {kNew, kOld});
  const std::string query = query_of(signer, event());
  for (size_t i = 0; i < query.size(); ++i) {
    std::string changed = query;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_FALSE(signer.read(changed, kNow).has_value()) << changed;
    EXPECT_FALSE(signer.read(query.substr(0, i), kNow).has_value()) << i;
  }
}

TEST(EventSigner, VerifiesTheOldKeyUntilItIsGone) {
  const EventSigner before(std::string(kBase), {kOld});
  const EventSigner between(std::string(kBase), {kNew, kOld});
  const EventSigner after(std::string(kBase), {kNew});
  const std::string query = query_of(before, event());
  EXPECT_TRUE(between.read(query, kNow).has_value());
  const auto gone = after.read(query, kNow);
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error(), EventErrc::kBadSignature);
  EXPECT_TRUE(after.read(query_of(between, event()), kNow).has_value());
}

TEST(EventSigner, KnowsWhenAnEventIsTooLate) {
  const EventSigner signer(std::string(kBase), {kNew});
  const std::string query = query_of(signer, event());
  EXPECT_TRUE(signer.read(query, kNow + 60).has_value());
  const auto late = signer.read(query, kNow + 61);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error(), EventErrc::kExpired);
}

TEST(EventSigner, CutsLongTextsSoThatUrlsStayShort) {
  const EventSigner signer(std::string(kBase), {kNew});
  Event long_event = event();
  long_event.bid_id.assign(5'000, '%');
  const auto read = signer.read(query_of(signer, long_event), kNow);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->bid_id, std::string(kEventTextBytes, '%'));
}

TEST(EventSigner, TakesNoNonsense) {
  const EventSigner signer(std::string(kBase), {kNew});
  for (const std::string_view query :
       {"", "&h=", "h=", "type=win", "type=win&h=", "&k=b&h=00", "type=imp&a=1&i=2&h=%00"}) {
    EXPECT_FALSE(signer.read(query, kNow).has_value()) << query;
  }
}

}  // namespace
}  // namespace spillway::openrtb
