#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":900,"cur":["USD"],"imp":[{"id":"1","banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s"}})";

/// Rates that say they were so `age` ago: a euro is 1.25 dollars.
std::string rates(std::chrono::seconds age) {
  const std::time_t at = std::time(nullptr) - age.count();
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  return fmt::format(
      R"({{"base":"EUR","as_of":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z","rates":{{"USD":1.25}}}})",
      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
      parts.tm_sec);
}

FakeDsp::Script says(std::string bytes) {
  return [bytes = std::move(bytes)](const Message&) { return FakeDsp::Answer{.bytes = bytes}; };
}

/// A bidder that bids 2 EUR, where rates come from, and an exchange that takes any currency with a
/// rate.
struct Market {
  explicit Market(FakeDsp::Script rates_script, std::string_view more = "")
      : source(std::make_unique<FakeDsp>(std::move(rates_script))),
        exchange(fmt::format("currency: {{ url: \"http://127.0.0.1:{}/rates\", refresh: 1s{} }}\n"
                             "dsps:\n"
                             "  - name: d\n"
                             "    endpoint: \"http://127.0.0.1:{}/\"\n"
                             "    checks: {{ currency_from_request_only: false }}\n",
                             source->port(), more, bidder.port())) {}

  FakeDsp bidder{[](const Message&) {
    std::string bid = bid_body("2");
    bid.replace(bid.find("USD"), 3, "EUR");
    return FakeDsp::Answer{.bytes = ok(bid)};
  }};
  std::unique_ptr<FakeDsp> source;
  ExchangeProcess exchange;

  [[nodiscard]] double fetches(std::string_view end) const {
    return exchange
        .metrics()[fmt::format("spillway_exchange_currency_fetches_total{{end=\"{}\"}}", end)];
  }

  [[nodiscard]] bool wait_for(std::string_view end, double count) const {
    const auto deadline = Clock::now() + 10s;
    while (fetches(end) < count && Clock::now() < deadline) {
    }
    return fetches(end) >= count;
  }

  /// Whether the bid wins, at its price in dollars.
  [[nodiscard]] bool sells() const {
    return exchange.bid_request(kRequest).body.contains(R"("price":2.5)");
  }
};

TEST(RatesFromAUrl, AreTakenWhenTheyAreGoodAndKeptWhatEverComesAfter) {
  Market market(says(ok("no rates")));
  ASSERT_TRUE(market.exchange.started());
  EXPECT_FALSE(market.sells()) << "fails closed";
  ASSERT_TRUE(market.wait_for("refused", 1));
  EXPECT_EQ(market.exchange.metrics()["spillway_exchange_currency_rates_age_seconds"], -1);

  market.source->set_script(says(ok(rates(2s))));
  ASSERT_TRUE(market.wait_for("taken", 1));
  EXPECT_TRUE(market.sells());
  const double age = market.exchange.metrics()["spillway_exchange_currency_rates_age_seconds"];
  EXPECT_GE(age, 1);
  EXPECT_LT(age, 60);

  market.source->set_script(says(ok(rates(3600s))));
  const double refused = market.fetches("refused");
  ASSERT_TRUE(market.wait_for("refused", refused + 1)) << "older than those in use";
  EXPECT_TRUE(market.sells());

  market.source->set_script(
      [](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; });
  double failed = market.fetches("failed");
  ASSERT_TRUE(market.wait_for("failed", failed + 1)) << "slow";
  EXPECT_TRUE(market.sells());

  market.source.reset();
  failed = market.fetches("failed");
  ASSERT_TRUE(market.wait_for("failed", failed + 1)) << "gone";
  EXPECT_TRUE(market.sells());
  EXPECT_EQ(market.fetches("taken"), 1);
  EXPECT_EQ(market.exchange.stop(), 0);
}

TEST(RatesFromAUrl, AreNotUsedBeyondTheirStaleLimitAndSurviveAReload) {
  Market market(says(ok(rates(50s))), ", stale_after: 1m");
  ASSERT_TRUE(market.wait_for("taken", 1));
  EXPECT_TRUE(market.sells());
  market.exchange.signal(SIGHUP);
  ASSERT_NE(market.exchange.wait_for_event({"event=reloaded"}, 10s), "");
  EXPECT_TRUE(market.sells()) << "the last good ones go over to the new configuration";
  const auto deadline = Clock::now() + 20s;
  while (market.sells() && Clock::now() < deadline) {
  }
  EXPECT_FALSE(market.sells());
}

TEST(GzipToDsps, CompressesRequestsAndBoundsWhatAnswersInflateTo) {
  net::Deflater deflater;
  const auto packed = [&](std::string_view plain) {
    std::string out(deflater.bound(plain.size()), '\0');
    out.resize(deflater.compress(plain, out.data(), out.size()));
    return fmt::format(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
        "Content-Length: {}\r\n\r\n{}",
        out.size(), out);
  };
  FakeDsp bidder(says(packed(bid_body("2.5"))));
  FakeDsp plain(says(ok(bid_body("1"))));
  ExchangeProcess exchange(
      fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\", gzip: true, "
                  "answer_bytes: 64KiB }}\n"
                  "  - {{ name: p, endpoint: \"http://127.0.0.1:{}/\" }}\n",
                  bidder.port(), plain.port()));
  const std::string large =
      fmt::format(R"({{"id":"req-1","tmax":900,"imp":[{{"id":"1","banner":{{"w":300,"h":250}}}}],)"
                  R"("site":{{"id":"s","keywords":"{}"}}}})",
                  std::string(2'000, 'k'));
  EXPECT_TRUE(exchange.bid_request(large).body.contains(R"("price":2.5)"));
  EXPECT_EQ(bidder.last().header("content-encoding"), "gzip");
  EXPECT_EQ(bidder.last().header("accept-encoding"), "gzip");
  net::BufferPool buffers(1 << 20);
  net::Inflater inflater;
  EXPECT_EQ(inflater.inflate(bidder.last().body, 1 << 20, buffers).text, plain.last().body);
  EXPECT_EQ(plain.last().header("content-encoding"), "");

  EXPECT_TRUE(exchange.bid_request(kRequest).body.contains(R"("price":2.5)"));
  EXPECT_EQ(bidder.last().header("content-encoding"), "") << "below 1 KiB";

  bidder.set_script(says(packed(bid_body("2.5") + std::string(1 << 20, ' '))));
  EXPECT_TRUE(exchange.bid_request(kRequest).body.contains(R"("price":1)")) << "a bomb is no bid";
}

}  // namespace
}  // namespace spillway::e2e
