#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHouse =
    "house_ads:\n"
    "  - { type: banner, w: 300, h: 250, adm: \"<a href=https://house.example></a>\", adomain: "
    "[house.example] }\n";

// The base request: one 300x250 banner, floor 0.5.
std::string request(std::string_view extra = "") {
  return fmt::format(
      R"({{"id":"req-1","at":1,"tmax":400,"imp":[{{"id":"1","bidfloor":0.5,"banner":{{"w":300,"h":250}}}}],)"
      R"("site":{{"id":"s","page":"https://p.example/"}}{}}})",
      extra);
}

std::string dsps(std::initializer_list<std::pair<std::string_view, uint16_t>> list,
                 std::string_view more = "") {
  std::string out = "dsps:\n";
  for (const auto& [name, port] : list) {
    out += fmt::format("  - {{ name: {}, endpoint: \"http://127.0.0.1:{}/bid\"{} }}\n", name, port,
                       more);
  }
  return out;
}

uint16_t closed_port() {
  const FakeDsp gone([](const Message&) { return FakeDsp::Answer{}; });
  return gone.port();
}

TEST(Auction, IsWonByTheHighestBid) {
  FakeDsp low([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("0.9", "low"))}; });
  FakeDsp high(
      [](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1.5", "high"))}; });
  ExchangeProcess exchange(fmt::format(
      "{}  - {{ name: old, openrtb: \"2.5\", endpoint: \"http://127.0.0.1:{}/b?x=1\" }}\n",
      dsps({{"low", low.port()}}), high.port()));
  ASSERT_TRUE(exchange.started());
  const auto answer = exchange.bid_request(request());
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.header("content-type"), "application/json");
  EXPECT_EQ(answer.header("x-openrtb-version"), "2.6");
  EXPECT_NE(answer.body.find(R"("seat":"high")"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find(R"("price":1.5)"), std::string::npos);
  EXPECT_EQ(answer.body.find(R"("seat":"low")"), std::string::npos);
  EXPECT_EQ(low.last().start_line, "POST /bid HTTP/1.1");
  EXPECT_EQ(low.last().header("x-openrtb-version"), "2.6");
  EXPECT_EQ(low.last().header("host"), fmt::format("127.0.0.1:{}", low.port()));
  EXPECT_EQ(high.last().start_line, "POST /b?x=1 HTTP/1.1");
  EXPECT_EQ(high.last().header("x-openrtb-version"), "2.5");
  const size_t tmax = high.last().body.find("\"tmax\":");
  ASSERT_NE(tmax, std::string::npos);
  const int announced = std::atoi(high.last().body.c_str() + tmax + 7);
  EXPECT_GT(announced, 300);
  EXPECT_LE(announced, 395);
  EXPECT_EQ(exchange.stop(), 0);
}

TEST(Auction, ShowsAHouseAdWhenItsDspsAreDownAndPassesWhenTheyMerelyDecline) {
  FakeDsp declines(
      [](const Message&) { return FakeDsp::Answer{.bytes = "HTTP/1.1 204 No Content\r\n\r\n"}; });
  ExchangeProcess degraded(fmt::format("{}{}", dsps({{"down", closed_port()}}), kHouse));
  const auto house = degraded.bid_request(request());
  EXPECT_EQ(house.status(), 200);
  EXPECT_NE(house.body.find(R"("seat":"house")"), std::string::npos) << house.body;
  EXPECT_NE(house.body.find(R"("house":1)"), std::string::npos);
  ExchangeProcess healthy(fmt::format("{}{}", dsps({{"no", declines.port()}}), kHouse));
  EXPECT_EQ(healthy.bid_request(request()).status(), 204);
  EXPECT_EQ(declines.calls(), 1U);
}

TEST(Auction, EndsAtItsDeadlineWhenADspHangs) {
  FakeDsp hangs([](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; });
  FakeDsp bids([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("0.7"))}; });
  // A margin a busy machine does not eat: what counts here is that the hang is not waited for.
  ExchangeProcess exchange(dsps({{"hangs", hangs.port()}, {"bids", bids.port()}}) +
                           "accounts:\n  - { response_margin: 100ms }\n");
  const auto begin = Clock::now();
  const auto answer = exchange.bid_request(request());
  EXPECT_GE(Clock::now() - begin, 250ms);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_NE(answer.body.find(R"("price":0.7)"), std::string::npos);
  auto metrics = exchange.metrics();
  EXPECT_EQ(metrics["spillway_exchange_deadline_misses_total"], 0);
  EXPECT_EQ(metrics["spillway_exchange_replies_total{kind=\"bid\"}"], 1);
}

TEST(Transport, SpeaksToBrowsersAndRefusesWhatItDoesNotSpeak) {
  FakeDsp declines(
      [](const Message&) { return FakeDsp::Answer{.bytes = "HTTP/1.1 204 No Content\r\n\r\n"}; });
  ExchangeProcess exchange(dsps({{"no", declines.port()}}));
  auto caller = exchange.auction();
  caller.extra_headers = "Origin: https://pub.example\r\nContent-Type: text/plain\r\n";
  const auto browser = caller.post("/openrtb2/auction", request());
  EXPECT_EQ(browser.status(), 200);
  EXPECT_NE(browser.body.find("\"nbr\""), std::string::npos);
  EXPECT_EQ(browser.header("access-control-allow-origin"), "https://pub.example");
  EXPECT_EQ(browser.header("access-control-allow-credentials"), "true");
  EXPECT_EQ(browser.header("vary"), "Origin");
  const auto preflight = caller.call("OPTIONS", "/openrtb2/auction");
  EXPECT_EQ(preflight.status(), 204);
  EXPECT_EQ(preflight.header("access-control-allow-origin"), "https://pub.example");
  caller.extra_headers = "Content-Type: application/x-protobuf\r\n";
  EXPECT_EQ(caller.post("/openrtb2/auction", "\x01\x02").status(), 415);
  caller.extra_headers = "";
  const auto get = caller.call("GET", "/openrtb2/auction");
  EXPECT_EQ(get.status(), 405);
  EXPECT_EQ(get.header("allow"), "POST, OPTIONS");
  EXPECT_EQ(caller.call("GET", "/nothing").status(), 404);
  const auto invalid = caller.post("/openrtb2/auction", R"({"id":"x","imp":[{}]})");
  EXPECT_EQ(invalid.status(), 400);
  EXPECT_NE(invalid.body.find("imp[0]"), std::string::npos);
}

TEST(Auction, LetsEveryPageReadEveryAnswer) {
  FakeDsp declines(
      [](const Message&) { return FakeDsp::Answer{.bytes = "HTTP/1.1 204 No Content\r\n\r\n"}; });
  ExchangeProcess exchange(dsps({{"no", declines.port()}}) +
                           "notices:\n  public_url: http://x.example\n"
                           "  keys: [{ id: k1, secret: \"0123456789abcdef0123456789abcdef\" }]\n");
  auto caller = exchange.auction();
  caller.extra_headers =
      "Origin: https://pub.example\r\nAccess-Control-Request-Headers: x-page,content-type\r\n";
  const std::string large(300'000, ' ');
  const std::vector<std::pair<Message, int>> answers{
      {caller.post("/openrtb2/auction", request()), 200},
      {caller.post("/hb?zone=1&v=1.8", request()), 200},
      {caller.post("/openrtb2/auction", "{"), 400},
      {caller.post("/openrtb2/auction", large), 413},
      {caller.call("GET", "/openrtb2/auction"), 405},
      {caller.call("OPTIONS", "/openrtb2/auction"), 204},
      {caller.post("/cookie_sync", R"({"bidders":["no"]})"), 200},
      {caller.call("OPTIONS", "/cookie_sync"), 204},
      {caller.call("GET", "/cookie_sync"), 405},
      {caller.call("GET", "/event?type=win"), 403},
      {caller.call("GET", "/setuid"), 404}};
  for (const auto& [answer, status] : answers) {
    EXPECT_EQ(answer.status(), status);
    EXPECT_EQ(answer.header("access-control-allow-origin"), "https://pub.example") << status;
    EXPECT_EQ(answer.header("access-control-allow-credentials"), "true") << status;
    EXPECT_EQ(answer.header("vary"), "Origin") << status;
  }
  EXPECT_EQ(answers[5].first.header("access-control-allow-headers"), "x-page,content-type");
  EXPECT_EQ(answers[5].first.header("access-control-allow-methods"), "POST, OPTIONS");
  EXPECT_EQ(answers[6].first.body, R"({"status":"ok","bidder_status":[]})");
}

TEST(Auction, SurvivesCallersThatLeave) {
  FakeDsp hangs([](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; });
  ExchangeProcess exchange(dsps({{"hangs", hangs.port()}}));
  {
    Fd fd = connect_to(exchange.auction().port, 1s);
    send_all(fd.value(),
             fmt::format("POST /openrtb2/auction HTTP/1.1\r\nHost: x\r\nContent-Length: "
                         "{}\r\n\r\n{}",
                         request().size(), request()));
    const auto deadline = Clock::now() + 5s;
    while (hangs.calls() == 0 && Clock::now() < deadline) {
      (void)exchange.metrics();
    }
    reset(fd);  // a closed sending half alone would not mean that nobody reads
  }
  const auto deadline = Clock::now() + 5s;
  auto metrics = exchange.metrics();
  while ((metrics["spillway_exchange_callers_gone_total"] == 0 ||
          metrics["spillway_exchange_in_flight_auctions"] != 0) &&
         Clock::now() < deadline) {
    metrics = exchange.metrics();
  }
  EXPECT_EQ(metrics["spillway_exchange_callers_gone_total"], 1);
  EXPECT_EQ(metrics["spillway_exchange_in_flight_auctions"], 0);
  EXPECT_EQ(exchange.stop(), 0);
}

}  // namespace
}  // namespace spillway::e2e
