#include "bidder/row_checks.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "bidder/catalog.h"
#include "bidder/model.h"
#include "bidder/small_catalog_test.h"

namespace spillway::bidder {
namespace {

/// "ROW ID: FIELD" of each problem.
std::string places_of(const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) {
    out += (out.empty() ? "" : "; ") + std::string(to_string(problem.kind)) + " " +
           std::to_string(problem.id) + ": " + problem.field;
  }
  return out;
}

CatalogRows sound() {
  SmallCatalog small;
  small.add(1);
  return small.rows;
}

TEST(RowChecks, AClickUrlOpensAPageOrAnAppAndRunsNothing) {
  CatalogRows rows = sound();
  for (const std::string_view bad :
       {"javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)",
        "java\tscript:alert(1)", "vbscript:x", "data:text/html,x", "file:///etc/passwd",
        "shop.example", "//shop.example/", "https:", "https://", "http:/shop.example",
        "https://shop.example/\n", "1x://y", ":x"}) {
    rows.creatives[0].click_url = bad;
    EXPECT_EQ(places_of(check_rows(rows, {})), "creative 1: click_url") << bad;
  }
  for (const std::string_view good :
       {"", "https://shop.example", "HTTP://shop.example:8080/a?b=c d", "https://[::1]/",
        "https://shop.example/${CAMPAIGN_ID}", "market://details?id=a", "shop-app+1.x:open",
        "intent:#Intent;scheme=shop;end", "tel:+4930"}) {
    rows.creatives[0].click_url = good;
    EXPECT_EQ(places_of(check_rows(rows, {})), "") << good;
  }
}

TEST(RowChecks, ADomainIsNoAddressAndNoPattern) {
  for (const std::string_view bad :
       {"https://shop.example", "https:", "mailto:a", "shop.example:", "shop.example:80a",
        "shop example", "shop\texample", "*.shop.example", "shop.example?x", "shop.example,b"}) {
    CatalogRows rows = sound();
    rows.advertisers[0].domain = bad;
    rows.line_items[0].targeting.of(Dimension::kDomain).include = {std::string(bad)};
    EXPECT_EQ(places_of(check_rows(rows, {})),
              "advertiser 1: domain; line_item 1: targeting.domain.include")
        << bad;
  }
  for (const std::string_view good : {"shop.example", "WWW.Shop.example.", "shop.example:8080",
                                      " shop_1.example ", "xn--bcher-kva.example",
                                      "b\xc3\xbc"
                                      "cher.example"}) {
    CatalogRows rows = sound();
    rows.advertisers[0].domain = good;
    rows.line_items[0].targeting.of(Dimension::kDomain).exclude = {std::string(good)};
    EXPECT_EQ(places_of(check_rows(rows, {})), "") << good;
  }
}

TEST(RowChecks, AValueThatIsIncludedAndExcludedIsNamedAndBreaksNoRow) {
  CatalogRows rows = sound();
  auto& countries = rows.line_items[0].targeting.of(Dimension::kCountry);
  countries = {.include = {"US", "DE"}, .exclude = {"FR", "usa"}};
  auto& segments = rows.line_items[0].targeting.of(Dimension::kSegment);
  segments = {.include = {"7"}, .exclude = {"8"}};
  const auto problems = contradictions(rows);
  ASSERT_EQ(places_of(problems), "line_item 1: targeting.country.exclude");
  EXPECT_EQ(problems[0].value, "usa");
  EXPECT_EQ(places_of(check_rows(rows, {})), "");
  countries.exclude = {"FR"};
  EXPECT_EQ(places_of(contradictions(rows)), "");
}

}  // namespace
}  // namespace spillway::bidder
