#include "exchange/clearing/blocklist.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace spillway::exchange::clearing {
namespace {

TEST(BlocklistTest, ADomainIsBlockedWithAllThatIsUnderIt) {
  const std::vector<std::string> blocked = {"other.example", "adv.example"};
  for (const std::string_view domain :
       {"adv.example", "ADV.EXAMPLE", "www.adv.example", "a.b.adv.example", "adv.example.",
        "https://www.adv.example/landing?x=1", "adv.example:8080", " adv.example "}) {
    EXPECT_TRUE(domain_listed(domain, blocked)) << domain;
  }
  for (const std::string_view domain : {"", ".", "example", "badadv.example", "adv.example.org",
                                        "www.", "https://", "xadv.example"}) {
    EXPECT_FALSE(domain_listed(domain, blocked)) << domain;
  }
  EXPECT_FALSE(domain_listed("adv.example", {""}));
}

TEST(BlocklistTest, ACategoryIsBlockedByItselfOrByItsParent) {
  EXPECT_TRUE(category_blocked("IAB25-3", {"IAB1", "IAB25"}, true));
  EXPECT_TRUE(category_blocked("iab25", {"IAB25"}, true));
  EXPECT_FALSE(category_blocked("IAB25-3", {"IAB25"}, false));
  EXPECT_FALSE(category_blocked("IAB250", {"IAB25"}, true));
  EXPECT_FALSE(category_blocked("IAB25", {"IAB25-3"}, true)) << "a child does not block its parent";
  EXPECT_FALSE(category_blocked("IAB25", {""}, true));
}

}  // namespace
}  // namespace spillway::exchange::clearing
