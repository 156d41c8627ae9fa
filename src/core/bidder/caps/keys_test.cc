#include "bidder/caps/keys.h"

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/caps/recent.h"
#include "bidder/caps/user.h"
#include "bidder/model.h"

namespace spillway::bidder::caps {
namespace {

TEST(CapKeys, AnAnonymousUserHasNoCountersAndIsNobodyElse) {
  EXPECT_FALSE(hash_user("ifa", "").has_value());
  EXPECT_NE(hash_user("ifa", "x"), hash_user("buyeruid", "x"));
  EXPECT_NE(hash_user("ab", "c"), hash_user("a", "bc"));
}

TEST(CapKeys, IdsOfAnyLengthAndContentMakeKeysOfOneLengthWithOneTag) {
  for (const std::string& id : {std::string("u1"), std::string(100'000, '}'), std::string("a}{b"),
                                std::string("\0\r\n", 3), std::string("{}")}) {
    const UserHash user = hash_user("buyeruid", id).value();
    const std::array<char, 32> hex = user.text();
    const std::string tag = "{" + std::string(hex.data(), hex.size()) + "}";
    EXPECT_EQ(caps_key(user), "caps:" + tag);
    EXPECT_EQ(segments_key(user), "seg:" + tag);
    EXPECT_EQ(won_key(user, {.exchange = id, .auction = id, .imp = id}).substr(0, 38),
              "won:" + tag);
    EXPECT_EQ(won_key(user, {.exchange = id, .auction = id, .imp = id}).size(), 38U + 1 + 32);
    EXPECT_EQ(parse_user({hex.data(), hex.size()}), user);
  }
  EXPECT_FALSE(parse_user("0123").has_value());
  EXPECT_FALSE(parse_user(std::string(31, '0') + "x").has_value());
  EXPECT_FALSE(parse_user("+" + std::string(31, '0')).has_value());
}

TEST(CapKeys, AUsersHashIsTheSameInEveryRelease) {
  const std::array<char, 32> hex = hash_user("buyeruid", "user-1").value().text();
  // printf '\x08\0\0\0\0\0\0\0buyeruiduser-1' | sha256sum
  EXPECT_EQ(std::string_view(hex.data(), hex.size()), "01195543a7cd00df78dbefe76e530406");
}

// Defects 3.6.4 of the reference: no exchange in the key, and parts that run into each other.
TEST(CapKeys, TwoImpressionsNeverShareAKeyForWantOfASeparatorOrAnExchange) {
  const UserHash user = hash_user("x", "u").value();
  const std::vector<Impression> all{{"a", "b", "c"},  {"a", "b:c", ""}, {"a:b", "c", ""},
                                    {"", "a:b", "c"}, {"a", "", "b:c"}, {"a|b", "c", ""},
                                    {"a", "b|c", ""}, {"b", "b", "c"},  {"1:a", "b", "c"}};
  std::set<std::string> keys;
  for (const Impression& impression : all) {
    keys.insert(won_key(user, impression));
  }
  EXPECT_EQ(keys.size(), all.size());
}

TEST(CapKeys, FieldsSayScopeIdAndWindow) {
  EXPECT_EQ(cap_field({.scope = CapScope::kCampaign, .window = CapWindow::kDay, .id = 123}).view(),
            "c123.d");
  EXPECT_EQ(cap_field({.scope = CapScope::kCreative,
                       .window = CapWindow::kHour,
                       .kind = CapKind::kSliding,
                       .id = 5})
                .view(),
            "r5.H");
  EXPECT_EQ(cap_field({.scope = CapScope::kAdvertiser,
                       .window = CapWindow::kLifetime,
                       .kind = CapKind::kSliding,
                       .id = 7})
                .view(),
            "a7.l");
  EXPECT_EQ(
      cap_field({.window = CapWindow::kWeek, .id = std::numeric_limits<int64_t>::min()}).view(),
      "c-9223372036854775808.w");
}

TEST(CapKeys, OneReadAsksForAllCountersOfARequest) {
  const UserHash user = hash_user("x", "u").value();
  const std::vector<CapKey> keys{{.id = 1}, {.window = CapWindow::kHour, .id = 1}, {.id = 2}};
  Command command{"left", "over", "from", "a", "longer", "one"};
  read_command(user, keys, command);
  EXPECT_EQ(command, (Command{"HMGET", caps_key(user), "c1.d", "c1.h", "c2.d"}));
}

TEST(RecentImpressions, EachIsTheFirstOfItsKindOnce) {
  RecentImpressions recent(1'000, 60);
  std::vector<std::string> auctions;
  for (int i = 0; i < 500; ++i) {
    auctions.push_back("auction-" + std::to_string(i));
  }
  for (const std::string& auction : auctions) {
    EXPECT_TRUE(recent.first_time({"x", auction, "1"}, 100));
  }
  for (const std::string& auction : auctions) {
    EXPECT_FALSE(recent.first_time({"x", auction, "1"}, 150));
    EXPECT_TRUE(recent.first_time({"y", auction, "1"}, 150)) << "another exchange";
  }
}

TEST(RecentImpressions, ForgetsAfterTwoGenerationsAndNotBeforeOne) {
  RecentImpressions recent(1'000, 60);
  EXPECT_TRUE(recent.first_time({"x", "a", "1"}, 1'000));
  EXPECT_FALSE(recent.first_time({"x", "a", "1"}, 1'059));
  EXPECT_FALSE(recent.first_time({"x", "a", "1"}, 1'061));  // of the older generation now
  EXPECT_TRUE(recent.first_time({"x", "b", "1"}, 1'200));
  EXPECT_TRUE(recent.first_time({"x", "a", "1"}, 1'261));
}

}  // namespace
}  // namespace spillway::bidder::caps
