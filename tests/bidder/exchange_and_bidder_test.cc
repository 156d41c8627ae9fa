// The exchange and the bidder together, over TLS, with wins flowing back.
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "bidder/bidder_process.h"
#include "e2e/exchange_process.h"
#include "e2e/sockets.h"
#include "net/tls_fixture.h"

namespace spillway::e2e {
namespace {

constexpr std::string_view kRequest =
    R"({"id":"req-1","at":2,"tmax":900,"imp":[{"id":"1","bidfloor":0.5,"secure":1,)"
    R"("banner":{"w":300,"h":250}}],"site":{"id":"s","page":"https://p.example/"},)"
    R"("user":{"id":"u"}})";

constexpr std::string_view kSecret = "0123456789abcdef0123456789abcdef";

/// Path and query of a URL member of the exchange's answer.
std::string event_target(const std::string& body, std::string_view member) {
  const std::string start = fmt::format("\"{}\":\"http://exchange.example", member);
  const size_t at = body.find(start);
  return at == std::string::npos
             ? ""
             : body.substr(at + start.size(),
                           body.find('"', at + start.size()) - at - start.size());
}

TEST(ExchangeAndBidder, TradeOverTlsAndTheWinComesBack) {
  net::testing::Certificates certificates;
  certificates.issue("bidder", "DNS:localhost,IP:127.0.0.1");
  bidder::CatalogRows rows;
  add_campaign(rows, 1, 2.5, {{.window = bidder::CapWindow::kDay, .most = 1}});
  const auto keys = [](uint16_t port) {
    return fmt::format(
        "exchanges: [{{ name: x, seat: s, keys: [{{ id: a, secret: \"{}\" }}] }}]\n"
        "notices: {{ public_url: \"https://127.0.0.1:{}\" }}\n",
        kSecret, port);
  };
  BidderProcess bidder(rows, keys(1),
                       fmt::format(", tls: {{ cert_file: {}, key_file: {} }}",
                                   certificates.pem("bidder"), certificates.key("bidder")));
  ASSERT_TRUE(bidder.ready());
  // Only now is it known where notices come to.
  bidder.rewrite(fmt::format("catalog: {{ address: \"{}\", refresh: 100ms }}\n{}",
                             bidder.catalog().address(), keys(bidder.port())));
  ASSERT_EQ(bidder.admin().post("/admin/reload", "").status(), 200);

  ExchangeProcess exchange(fmt::format(
      "dsps:\n  - {{ name: ours, seat: s, endpoint: "
      "\"https://127.0.0.1:{}/openrtb2/bid?exchange=x\", tls: {{ ca_file: {} }} }}\n"
      "notices: {{ public_url: http://exchange.example, allow_private: true, ca_file: {}, "
      "keys: [{{ id: k1, secret: \"{}\" }}] }}\n",
      bidder.port(), certificates.pem("ca"), certificates.pem("ca"), kSecret));
  ASSERT_TRUE(exchange.started());
  const auto answer = exchange.bid_request(kRequest);
  ASSERT_EQ(answer.status(), 200) << answer.body;
  EXPECT_NE(answer.body.find(R"("crid":"100")"), std::string::npos) << answer.body;
  EXPECT_EQ(bidder.metrics()["spillway_bidder_budget_open_bids"], 1);

  // The exchange tells the win; what the ad's page reports becomes the billing notice.
  const auto shown = event_target(answer.body, "burl");
  ASSERT_NE(shown, "") << answer.body;
  EXPECT_EQ(exchange.auction().call("GET", shown).status(), 204);
  const auto settled = [&] {
    auto metrics = bidder.metrics();
    double sum = 0;
    for (const auto& [series, value] : metrics) {
      const bool is_notice = series.starts_with("spillway_bidder_notices_total");
      sum += is_notice && (series.find("settled") != std::string::npos ||
                           series.find("duplicate") != std::string::npos)
                 ? value
                 : 0;
    }
    return sum;
  };
  EXPECT_TRUE(BidderProcess::within(std::chrono::seconds(20), [&] { return settled() >= 2; }));
  auto metrics = bidder.metrics();
  EXPECT_EQ(metrics["spillway_bidder_budget_open_bids"], 0);
  EXPECT_EQ(metrics[R"(spillway_bidder_cap_places_total{event="won"})"], 1);
  EXPECT_EQ(metrics["spillway_bidder_deadline_misses_total"], 0);

  // The one impression of the day was shown: there is no second.
  EXPECT_EQ(exchange.bid_request(kRequest).status(), 204);
  EXPECT_EQ(exchange.stop(), 0);
  EXPECT_EQ(bidder.stop(), 0);
}

}  // namespace
}  // namespace spillway::e2e
