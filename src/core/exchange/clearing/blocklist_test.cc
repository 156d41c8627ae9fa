#include "exchange/clearing/blocklist.h"

#include <cstdint>
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
  EXPECT_TRUE(category_listed("IAB25-3", {"IAB1", "IAB25"}, kContentTaxonomy1));
  EXPECT_TRUE(category_listed("iab25", {"IAB25"}, kContentTaxonomy1));
  for (const int64_t taxonomy : {2, 3, 4, 5, 6, 7, 8, 9, 500}) {
    EXPECT_TRUE(category_listed("jlbcu7", {"1", "JLBCU7"}, taxonomy)) << taxonomy;
    EXPECT_FALSE(category_listed("IAB25-3", {"IAB25"}, taxonomy)) << taxonomy;
    EXPECT_FALSE(category_listed("53", {"5"}, taxonomy)) << taxonomy;
  }
  EXPECT_FALSE(category_listed("IAB250", {"IAB25"}, kContentTaxonomy1));
  EXPECT_FALSE(category_listed("IAB25", {"IAB25-3"}, kContentTaxonomy1))
      << "a child does not block its parent";
  EXPECT_FALSE(category_listed("IAB25", {""}, kContentTaxonomy1));
}

}  // namespace
}  // namespace spillway::exchange::clearing
