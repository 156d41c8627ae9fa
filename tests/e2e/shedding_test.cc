#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

std::string request(int tmax_ms, std::string_view publisher) {
  return fmt::format(R"({{"id":"r","tmax":{},"imp":[{{"id":"1","banner":{{"w":300,"h":250}}}}],)"
                     R"("site":{{"id":"s","publisher":{{"id":"{}"}}}}}})",
                     tmax_ms, publisher);
}

double shed(const ExchangeProcess& exchange, std::string_view level, std::string_view priority) {
  return exchange.metrics().at(fmt::format(
      "spillway_exchange_shed_total{{level=\"{}\",reason=\"in_flight\",priority=\"{}\"}}", level,
      priority));
}

/// Two workers of which each may hold 10 auctions of the first class, 7 of the last.
class Shedding : public testing::Test {
 protected:
  /// Auctions that wait for a DSP that hangs.
  void hold(size_t auctions) {
    const auto body = request(30'000, "vip");
    while (held_.size() < auctions) {
      held_.push_back(connect_to(exchange_.auction().port, 10s));
      send_all(held_.back().value(),
               fmt::format("POST /openrtb2/auction HTTP/1.1\r\nHost: h\r\nContent-Type: "
                           "application/json\r\nContent-Length: {}\r\n\r\n{}",
                           body.size(), body));
    }
    const auto deadline = Clock::now() + 10s;
    while ((exchange_.metrics()["spillway_exchange_in_flight_auctions"] <
                static_cast<double>(auctions) ||
            hangs_.calls() < auctions) &&
           Clock::now() < deadline) {
    }
  }

  FakeDsp hangs_{[](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; }};
  ExchangeProcess exchange_{
      fmt::format("timing: {{ tmax_max: 30s }}\n"
                  "shedding: {{ level_1: {{ in_flight: 10 }}, level_2: {{ in_flight: 14 }} }}\n"
                  "guards: {{ mode: disabled }}\n"
                  "dsps: [{{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}]\n"
                  "accounts:\n"
                  "  - {{ priority: sheddable, fallback: {{ shed: house }} }}\n"
                  "  - {{ publisher: silent, fallback: {{ shed: pass }} }}\n"
                  "  - {{ publisher: vip, priority: critical_plus }}\n"
                  "house_ads: [{{ w: 300, h: 250, adm: \"<b>house</b>\" }}]\n",
                  hangs_.port())};
  std::vector<Fd> held_;
};

TEST_F(Shedding, GivesTheLastClassItsFallbackAndServesTheFirst) {
  ASSERT_TRUE(exchange_.started());
  hold(14);
  const auto house = exchange_.bid_request(request(300, "anybody"));
  EXPECT_NE(house.body.find("<b>house</b>"), std::string::npos) << house.body;
  EXPECT_EQ(exchange_.bid_request(request(300, "silent")).status(), 204);
  EXPECT_EQ(shed(exchange_, "1", "sheddable"), 2);
  EXPECT_EQ(hangs_.calls(), 14U);
  EXPECT_EQ(exchange_.bid_request(request(300, "vip")).status(), 200);  // degraded: a house ad
  EXPECT_EQ(hangs_.calls(), 15U);
  EXPECT_EQ(shed(exchange_, "1", "critical_plus"), 0);
}

TEST_F(Shedding, RefusesTheLastClassAtLevel2WhileTheFirstGetsItsFallback) {
  ASSERT_TRUE(exchange_.started());
  hold(20);
  const auto house = exchange_.bid_request(request(300, "vip"));
  EXPECT_NE(house.body.find("<b>house</b>"), std::string::npos) << house.body;
  EXPECT_EQ(shed(exchange_, "1", "critical_plus"), 1);
  EXPECT_EQ(exchange_.bid_request(request(300, "anybody")).status(), 204);
  EXPECT_EQ(shed(exchange_, "2", "sheddable"), 1);
  EXPECT_EQ(hangs_.calls(), 20U);
}

}  // namespace
}  // namespace spillway::e2e
