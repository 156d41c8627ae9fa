#include "adapters/load_text.h"

#include <string_view>

#include <gtest/gtest.h>

namespace spillway::adapters {
namespace {

TEST(LoadBody, IsAFlatObjectOfNumbers) {
  const auto counts = parse_load(
      "{ \"requests\": 120, \"successes\":100,\"failures\":15,\n\"in_flight\":5,\"limit\":64,"
      "\"p95_ms\":12.5,\"version\":\"1,}\",\"up\":true }");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->requests, 120);
  EXPECT_EQ(counts->successes, 100);
  EXPECT_EQ(counts->failures, 15);
  EXPECT_EQ(counts->in_flight, 5);
  EXPECT_EQ(counts->limit, 64);
  EXPECT_EQ(counts->p95_ms, 12.5);
}

TEST(LoadBody, WithoutRequestsTheyAreSuccessesAndFailures) {
  const auto counts = parse_load(R"({"successes":7,"failures":2})");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->requests, 9);
  EXPECT_EQ(counts->p95_ms, 0);
}

TEST(LoadBody, RefusesWhatItIsNot) {
  for (const std::string_view bad :
       {"", "{", "[]", "{\"successes\":}", "{\"successes\":-1}", "{\"successes\":1e999}",
        "{\"successes\":\"1\"}", "{\"a\":{\"successes\":1}}", "{\"successes\" 1}",
        "{\"successes\":1 \"x\":2}", "{\"successes\":nan}", "{\"x\":\"\\"}) {
    EXPECT_EQ(parse_load(bad).error(), LoadErrc::kMalformed) << bad;
  }
  EXPECT_EQ(parse_load("{\"requests\":1}").error(), LoadErrc::kMissing);
  EXPECT_EQ(parse_load("{}").error(), LoadErrc::kMissing);
}

constexpr std::string_view kPage =
    "# HELP http_requests_total All.\n"
    "# TYPE http_requests_total counter\n"
    "http_requests_total{code=\"200\",path=\"/bid\"} 100\n"
    "http_requests_total{code=\"204\",path=\"/bid\"} 1.5e2 1700000000000\n"
    "http_requests_total{code=\"500\",path=\"/a\\\"b\"} 7\n"
    "http_requests_total_more 9\n"
    "broken{ 1\n"
    "in_flight 3\n"
    "never NaN\n";

std::vector<SeriesSelector> selectors(std::initializer_list<std::string_view> texts) {
  std::vector<SeriesSelector> out;
  for (const auto text : texts) {
    out.push_back(SeriesSelector::parse(text).value());
  }
  return out;
}

TEST(PrometheusPage, SumsTheSeriesThatASelectorNames) {
  EXPECT_EQ(sum_of(kPage, selectors({"http_requests_total"})), 257);
  EXPECT_EQ(sum_of(kPage, selectors({"http_requests_total{code=\"200\"}"})), 100);
  EXPECT_EQ(sum_of(kPage, selectors({"http_requests_total{code!=\"500\"}"})), 250);
  EXPECT_EQ(sum_of(kPage, selectors({"http_requests_total{code=\"200\"}",
                                     "http_requests_total{ code=\"204\", path=\"/bid\" }"})),
            250);
  EXPECT_EQ(sum_of(kPage, selectors({"http_requests_total{path=\"/a\\\"b\"}"})), 7);
  EXPECT_FALSE(sum_of(kPage, selectors({"http_requests"})));
  EXPECT_FALSE(sum_of(kPage, selectors({"never"})));
  EXPECT_FALSE(sum_of(kPage, selectors({"broken"})));
}

TEST(PrometheusPage, SelectorsThatAreNoneAreRefused) {
  for (const std::string_view bad :
       {"", "{a=\"b\"}", "a{b}", "a{b=c}", "a{b=\"c\"", "a b", "a{b=\"c\"} d"}) {
    EXPECT_FALSE(SeriesSelector::parse(bad)) << bad;
  }
}

TEST(PrometheusPage, GivesTheCountsOfAServer) {
  PageSelectors wanted;
  wanted.successes = selectors({"http_requests_total{code=\"200\"}"});
  wanted.failures = selectors({"http_requests_total{code=\"500\"}"});
  wanted.in_flight = selectors({"in_flight"});
  const auto counts = parse_page(kPage, wanted);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->successes, 100);
  EXPECT_EQ(counts->failures, 7);
  EXPECT_EQ(counts->requests, 107);
  EXPECT_EQ(counts->in_flight, 3);
}

TEST(PrometheusPage, FailuresMayAppearLaterButWhatWasAskedForMustBeThere) {
  PageSelectors wanted;
  wanted.successes = selectors({"http_requests_total{code=\"200\"}"});
  wanted.failures = selectors({"errors_total"});
  EXPECT_EQ(parse_page(kPage, wanted)->failures, 0);
  wanted.in_flight = selectors({"no_such_gauge"});
  EXPECT_EQ(parse_page(kPage, wanted).error(), LoadErrc::kMissing);
  wanted.successes = selectors({"no_such_total"});
  EXPECT_EQ(parse_page(kPage, wanted).error(), LoadErrc::kMissing);
}

}  // namespace
}  // namespace spillway::adapters
