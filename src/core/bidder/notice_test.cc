#include "bidder/notice.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/hmac_sha256.h"
#include "bidder/caps/user.h"
#include "openrtb/signed_query.h"

namespace spillway::bidder {
namespace {

constexpr int64_t kNow = 1'767'225'600;

NoticeSigner signer() {
  return {"https://b.example",
          {{.name = "alpha", .keys = {{.id = "1", .secret = std::string(32, 'a')}}},
           {.name = "beta",
            .keys = {{.id = "new", .secret = std::string(32, 'n')},
                     {.id = "old", .secret = std::string(32, 'o')}}}}};
}

Claims claims() {
  return {.bid = 0x1234,
          .test = false,
          .arm = Arm::kTest,
          .campaign = 7,
          .creative = 70,
          .user = caps::hash_user("x", "u"),
          .hold = 9,
          .ceiling = {2'500'000},
          .currency = {{'E', 'U', 'R'}},
          .expires_s = kNow + 60};
}

/// What follows "/notice/win?" of a URL, the macros filled in.
std::string query_of(std::string url, std::string_view price) {
  url.erase(0, url.find('?') + 1);
  constexpr std::string_view kMacro = "${AUCTION_PRICE}";
  url.replace(url.find(kMacro), kMacro.size(), price);
  return url;
}

std::string url(const Claims& said, NoticeKind kind = NoticeKind::kWin, size_t exchange = 0) {
  const NoticeSigner ours = signer();
  std::string common;
  ours.append_claims(common, exchange, "req|1:\xc3\xa9&", "imp 1", said);
  std::string out;
  ours.append_url(out, exchange, kind, common);
  return out;
}

TEST(Notice, IsReadAsItWasWritten) {
  for (const auto kind : {NoticeKind::kWin, NoticeKind::kBilling, NoticeKind::kLoss}) {
    const std::string written = url(claims(), kind);
    EXPECT_TRUE(written.starts_with("https://b.example/notice/" + std::string(to_string(kind))));
    const auto notice = signer().read(to_string(kind), query_of(written, "1.234567"), kNow);
    ASSERT_TRUE(notice) << to_string(notice.error());
    EXPECT_EQ(notice->kind, kind);
    EXPECT_EQ(notice->exchange, "alpha");
    EXPECT_EQ(notice->request, "req|1:\xc3\xa9&");
    EXPECT_EQ(notice->imp, "imp 1");
    EXPECT_EQ(notice->claims, claims());
    EXPECT_EQ(notice->price, base::Cpm{1'234'567});
  }
}

TEST(Notice, OfAnEarlierReleaseItIsOfTheControl) {
  std::string query = query_of(url(claims()), "1");
  const base::HmacSha256 hmac(std::string(32, 'a'));
  query.erase(query.find("&g=1"), 4);
  std::string text = "win?" + query.substr(0, query.find("&h="));
  const std::string signed_text = text;
  text += "&h=";
  openrtb::append_signature(text, hmac, signed_text);
  const auto notice = signer().read("win", std::string_view(text).substr(4), kNow);
  ASSERT_TRUE(notice) << to_string(notice.error());
  EXPECT_EQ(notice->claims.arm, Arm::kControl);
  EXPECT_EQ(notice->claims.campaign, 7);
}

TEST(Notice, NeedsNoEscapingInJson) {
  for (const char c : url(claims())) {
    EXPECT_TRUE(c > ' ' && c != '"' && c != '\\' && c < 0x7f) << c;
  }
}

TEST(Notice, PricesAreExactDecimalsAndNothingElse) {
  const std::string written = url(claims());
  const auto price = [&](std::string_view text) {
    return signer().read("win", query_of(written, text), kNow)->price;
  };
  EXPECT_EQ(price("2"), base::Cpm{2'000'000});
  EXPECT_EQ(price("0.1"), base::Cpm{100'000});
  EXPECT_EQ(price("0"), base::Cpm{0});
  EXPECT_EQ(price("1e-3"), base::Cpm{1'000});
  EXPECT_EQ(price("0.0000001"), base::Cpm{1});  // what we owe is rounded up
  EXPECT_FALSE(price("-1"));
  EXPECT_FALSE(price("1,5"));
  EXPECT_FALSE(price("0x10"));
  EXPECT_FALSE(price("nan"));
  EXPECT_FALSE(price("99999999999999999999"));
  EXPECT_FALSE(price(""));
  EXPECT_FALSE(price("${AUCTION_PRICE}"));
}

TEST(Notice, EveryByteBeforeTheTagIsSigned) {
  const std::string query = query_of(url(claims()), "2");
  const size_t end = query.find("&h=") + 3 + 32;
  for (size_t i = 0; i < end; ++i) {
    std::string changed = query;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_FALSE(signer().read("win", changed, kNow)) << i;
  }
  EXPECT_FALSE(signer().read("billing", query, kNow));
  EXPECT_FALSE(signer().read("loss", query, kNow));
  EXPECT_TRUE(signer().read("win", query + "&more=1", kNow));
}

TEST(Notice, AnExchangeThatIsUnknownIsRefusedWhateverItsTag) {
  std::string query = query_of(url(claims()), "2");
  query.replace(query.find("alpha"), 5, "gamma");
  EXPECT_EQ(signer().read("win", query, kNow).error(), NoticeErrc::kUnknownExchange);
  query.replace(query.find("gamma"), 5, "beta");
  EXPECT_EQ(signer().read("win", query, kNow).error(), NoticeErrc::kBadSignature);
}

TEST(Notice, AnOldKeyVerifiesUntilItIsTakenAway) {
  const NoticeSigner before("https://b.example",
                            {{.name = "beta", .keys = {{"old", std::string(32, 'o')}}}});
  const NoticeSigner after("https://b.example",
                           {{.name = "beta", .keys = {{"new", std::string(32, 'n')}}}});
  std::string common;
  before.append_claims(common, 0, "r", "1", claims());
  std::string old;
  before.append_url(old, 0, NoticeKind::kWin, common);
  EXPECT_TRUE(signer().read("win", query_of(old, "2"), kNow));
  EXPECT_EQ(after.read("win", query_of(old, "2"), kNow).error(), NoticeErrc::kBadSignature);
  EXPECT_TRUE(after.read("win", query_of(url(claims(), NoticeKind::kWin, 1), "2"), kNow));
}

TEST(Notice, ExpiresAndIsReadInNoOtherForm) {
  const std::string query = query_of(url(claims()), "2");
  EXPECT_TRUE(signer().read("win", query, kNow + 60));
  EXPECT_EQ(signer().read("win", query, kNow + 61).error(), NoticeErrc::kExpired);
  for (const std::string_view bad :
       {"", "h=", "e=alpha", "&h=1", "e=&h=1", "r=1&e=alpha&h=1", "e=~zz&h=1"}) {
    EXPECT_FALSE(signer().read("win", bad, kNow)) << bad;
  }
  EXPECT_EQ(signer().read("click", query, kNow).error(), NoticeErrc::kMalformed);
}

TEST(Notice, WithoutAUserThereIsNone) {
  Claims anonymous = claims();
  anonymous.user.reset();
  const auto notice = signer().read("win", query_of(url(anonymous), "2"), kNow);
  ASSERT_TRUE(notice);
  EXPECT_FALSE(notice->claims.user);
}

TEST(Notice, ALossCarriesItsReason) {
  std::string query = query_of(url(claims(), NoticeKind::kLoss), "3");
  query.replace(query.find("${AUCTION_LOSS}"), 15, "102");
  EXPECT_EQ(signer().read("loss", query, kNow)->loss, 102);
}

}  // namespace
}  // namespace spillway::bidder
