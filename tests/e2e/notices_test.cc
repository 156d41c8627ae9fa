#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    R"({"id":"req-1","at":1,"tmax":400,"imp":[{"id":"1","banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s","page":"https://p.example/"},"device":{"ip":"192.0.2.9","ua":"X/1 y"
}
})";

/// Where notices go: keeps book of what it answered well, and fails as often as it is told.
class Sink {
 public:
  explicit Sink(int failures = 0) : failures_(failures) {}

  [[nodiscard]] uint16_t port() const { return server_.port(); }

  [[nodiscard]] int attempts(const std::string& target) const { return of(attempts_, target); }

  /// A header of the last call of this target; "" for none.
  [[nodiscard]] std::string header(const std::string& target, const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = last_.find(target);
    return found == last_.end() ? "" : found->second.header(name);
  }

  [[nodiscard]] int taken(const std::string& target) const { return of(taken_, target); }

 private:
  FakeDsp::Answer answer(const Message& request) {
    const size_t begin = request.start_line.find(' ') + 1;
    const auto target =
        request.start_line.substr(begin, request.start_line.find(' ', begin) - begin);
    const std::lock_guard lock(mutex_);
    ++attempts_[target];
    last_[target] = request;
    if (failures_ > 0) {
      --failures_;
      return {.bytes = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"};
    }
    ++taken_[target];
    return {.bytes = "HTTP/1.1 204 No Content\r\n\r\n"};
  }

  int of(const std::map<std::string, int>& book, const std::string& target) const {
    const std::lock_guard lock(mutex_);
    const auto found = book.find(target);
    return found == book.end() ? 0 : found->second;
  }

  mutable std::mutex mutex_;
  int failures_;
  std::map<std::string, int> attempts_, taken_;
  std::map<std::string, Message> last_;
  FakeDsp server_{[this](const Message& request) { return answer(request); }};
};

std::string bid(std::string_view price, uint16_t sink, std::string_view name) {
  return fmt::format(
      R"({{"id":"req-1","cur":"USD","seatbid":[{{"seat":"{2}","bid":[{{"id":"b1","impid":"1",)"
      R"("price":{0},"adm":"<b>ad</b>","crid":"c1","w":300,"h":250,)"
      R"("nurl":"http://127.0.0.1:{1}/win/{2}?p=${{AUCTION_PRICE}}",)"
      R"("burl":"http://127.0.0.1:{1}/bill/{2}?p=${{AUCTION_PRICE}}",)"
      R"("lurl":"http://127.0.0.1:{1}/loss/{2}?l=${{AUCTION_LOSS}}"}}]}}]}})",
      price, sink, name);
}

constexpr std::string_view kNotices =
    "notices:\n"
    "  public_url: http://exchange.example\n"
    "  allow_private: true\n"
    "  keys: [{ id: k1, secret: \"0123456789abcdef0123456789abcdef\" }]\n";

/// Two bidders, of which "high" wins, and their sink.
struct Market {
  explicit Market(std::string_view notices, int failures = 0, std::string_view more = "",
                  std::string_view exchange_keys = "")
      : sink(failures),
        exchange(fmt::format("dsps:\n"
                             "  - {{ name: high, endpoint: \"http://127.0.0.1:{}/\" }}\n"
                             "  - {{ name: low, endpoint: \"http://127.0.0.1:{}/\" }}\n{}{}",
                             high.port(), low.port(), notices, more),
                 exchange_keys) {}

  Sink sink;
  FakeDsp high{[this](const Message&) {
    return FakeDsp::Answer{.bytes = ok(bid("1.5", sink.port(), "high"))};
  }};
  FakeDsp low{[this](const Message&) {
    return FakeDsp::Answer{.bytes = ok(bid("1.2", sink.port(), "low"))};
  }};
  ExchangeProcess exchange;

  bool wait_for(const std::string& series, double value) {
    const auto deadline = Clock::now() + 10s;
    while (Clock::now() < deadline) {
      auto metrics = exchange.metrics();
      if (metrics[series] >= value) {
        return true;
      }
    }
    return false;
  }
};

/// Path and query of a URL member of the answer.
std::string event_target(const std::string& body, std::string_view member) {
  const std::string start = fmt::format("\"{}\":\"http://exchange.example", member);
  const size_t at = body.find(start);
  return at == std::string::npos
             ? ""
             : body.substr(at + start.size(),
                           body.find('"', at + start.size()) - at - start.size());
}

TEST(Notices, ReachTheDspsOnceHoweverOftenTheCallerReports) {
  Market market(kNotices);
  ASSERT_TRUE(market.exchange.started());
  const auto answer = market.exchange.bid_request(kRequest);
  ASSERT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body.find("127.0.0.1"), std::string::npos) << answer.body;
  EXPECT_EQ(answer.body.find("lurl"), std::string::npos);
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"win\"}", 1));
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"loss\"}", 1));
  EXPECT_EQ(market.sink.taken("/win/high?p=1.5"), 1);
  EXPECT_EQ(market.sink.taken("/loss/low?l=102"), 1);
  EXPECT_EQ(market.sink.taken("/bill/high?p=1.5"), 0);
  const auto imp = event_target(answer.body, "burl");
  ASSERT_NE(imp, "") << answer.body;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(market.exchange.auction().call("GET", imp).status(), 204);
  }
  EXPECT_EQ(market.exchange.auction().call("GET", event_target(answer.body, "nurl")).status(), 204);
  ASSERT_TRUE(market.wait_for("spillway_exchange_events_total{end=\"duplicate\"}", 2));
  ASSERT_TRUE(market.wait_for("spillway_exchange_events_total{end=\"taken\"}", 2));
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"billing\"}", 1));
  EXPECT_EQ(market.sink.taken("/bill/high?p=1.5"), 1);
  EXPECT_EQ(market.sink.taken("/win/high?p=1.5"), 1);
  EXPECT_EQ(market.sink.header("/bill/high?p=1.5", "x-device-ip"), "192.0.2.9");
  EXPECT_EQ(market.sink.header("/bill/high?p=1.5", "x-forwarded-for"), "192.0.2.9");
  EXPECT_EQ(market.sink.header("/bill/high?p=1.5", "x-device-user-agent"), "X/1 y");
  EXPECT_EQ(market.sink.header("/win/high?p=1.5", "x-device-ip"), "");
  EXPECT_EQ(market.exchange.stop(), 0);
}

TEST(Notices, OfBillingAreRepeatedAfterServerErrors) {
  Market market(kNotices, 0);
  const auto answer = market.exchange.bid_request(kRequest);
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"loss\"}", 1));
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"win\"}", 1));
  Market failing(kNotices, 4);
  const auto second = failing.exchange.bid_request(kRequest);
  ASSERT_TRUE(failing.wait_for("spillway_exchange_notices_failed_total{kind=\"win\"}", 1));
  ASSERT_TRUE(failing.wait_for("spillway_exchange_notices_failed_total{kind=\"loss\"}", 1));
  EXPECT_EQ(failing.exchange.auction().call("GET", event_target(second.body, "burl")).status(),
            204);
  ASSERT_TRUE(failing.wait_for("spillway_exchange_notices_sent_total{kind=\"billing\"}", 1));
  EXPECT_EQ(failing.sink.attempts("/bill/high?p=1.5"), 3);
  EXPECT_EQ(failing.sink.taken("/bill/high?p=1.5"), 1);
  EXPECT_EQ(failing.exchange.metrics()["spillway_exchange_notices_retried_total{kind=\"billing\"}"],
            2);
}

TEST(Notices, OfBillingExpireWhenTheirHostStaysSick) {
  Market market(fmt::format("{}  retry_for: 1s\n", kNotices), 1'000);
  const auto answer = market.exchange.bid_request(kRequest);
  EXPECT_EQ(market.exchange.auction().call("GET", event_target(answer.body, "burl")).status(), 204);
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_expired_total{kind=\"billing\"}", 1));
  EXPECT_GE(market.sink.attempts("/bill/high?p=1.5"), 2);
  EXPECT_EQ(market.sink.taken("/bill/high?p=1.5"), 0);
  EXPECT_EQ(market.exchange.metrics()["spillway_exchange_notices_pending"], 0);
}

TEST(Notices, OfAHostThatIsDownDoNotHoldUpAStop) {
  Market market(fmt::format("{}  stop_timeout: 100ms\n", kNotices), 1'000, "",
                ", stop_timeout: 5m");
  const auto answer = market.exchange.bid_request(kRequest);
  EXPECT_EQ(market.exchange.auction().call("GET", event_target(answer.body, "burl")).status(), 204);
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_retried_total{kind=\"billing\"}", 1));
  EXPECT_EQ(market.exchange.stop(), 0) << "nobody waits five minutes for it";
  EXPECT_NE(market.exchange.wait_for_event({"event=stopped", "clean=true", "notices_lost=1"}, 5s),
            "");
}

TEST(Notices, AreNotSentForForgedLateOrForeignEvents) {
  Market market(kNotices, 0, "accounts: [{ auction_is_final: false }]\n");
  const auto answer = market.exchange.bid_request(kRequest);
  const auto imp = event_target(answer.body, "burl");
  ASSERT_NE(imp, "");
  std::string forged = imp;
  forged.replace(forged.find("type=imp"), 8, "type=win");
  EXPECT_EQ(market.exchange.auction().call("GET", forged).status(), 403);
  EXPECT_EQ(market.exchange.auction().call("GET", "/event?type=imp").status(), 403);
  // Another instance with the same keys knows nothing of it.
  Market other(fmt::format("{}  instance: \"2\"\n", kNotices));
  EXPECT_EQ(other.exchange.auction().call("GET", imp).status(), 204);
  ASSERT_TRUE(other.wait_for("spillway_exchange_events_total{end=\"unknown\"}", 1));
  auto metrics = market.exchange.metrics();
  EXPECT_EQ(metrics["spillway_exchange_events_total{end=\"bad_signature\"}"], 1);
  EXPECT_EQ(metrics["spillway_exchange_events_total{end=\"malformed\"}"], 1);
  EXPECT_EQ(metrics["spillway_exchange_notices_taken_total{kind=\"billing\"}"], 0);
  EXPECT_EQ(metrics["spillway_exchange_notices_taken_total{kind=\"win\"}"], 0);
  EXPECT_EQ(market.exchange.auction().call("GET", event_target(answer.body, "nurl")).status(), 204);
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"win\"}", 1));
}

TEST(Notices, EventsThatReachAnotherInstanceAreForwardedToTheirs) {
  Market market(kNotices);
  const auto answer = market.exchange.bid_request(kRequest);
  const auto imp = event_target(answer.body, "burl");
  ASSERT_NE(imp, "");
  const auto other_config = [&](uint16_t port) {
    return fmt::format(
        "{}  instance: \"2\"\n  instances: {{ \"1\": {{ url: \"http://127.0.0.1:{}\" }} }}\n",
        kNotices, port);
  };
  Market other(other_config(market.exchange.auction().port));
  ASSERT_TRUE(other.exchange.started());
  EXPECT_EQ(other.exchange.auction().call("GET", imp).status(), 204);
  ASSERT_TRUE(other.wait_for("spillway_exchange_events_forwarded_total{end=\"sent\"}", 1));
  ASSERT_TRUE(market.wait_for("spillway_exchange_notices_sent_total{kind=\"billing\"}", 1));
  EXPECT_EQ(market.sink.taken("/bill/high?p=1.5"), 1);
  // Two that take each other for it do not send it round.
  EXPECT_EQ(other.exchange.auction().call("GET", imp + "&forwarded=1").status(), 204);
  ASSERT_TRUE(other.wait_for("spillway_exchange_events_total{end=\"unknown\"}", 1));
  EXPECT_EQ(other.exchange.metrics()["spillway_exchange_events_forwarded_total{end=\"sent\"}"], 1);
}

TEST(Notices, NeverGoToOurOwnNetworksUnlessAllowed) {
  Market market("");
  const auto answer = market.exchange.bid_request(kRequest);
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.body.find("url\""), std::string::npos) << answer.body;
  ASSERT_TRUE(market.wait_for(
      "spillway_exchange_notices_dropped_total{kind=\"win\",reason=\"private_address\"}", 1));
  EXPECT_EQ(market.exchange.auction().call("GET", "/event?type=imp").status(), 404);
  EXPECT_EQ(market.sink.attempts("/win/high?p=1.5"), 0);
}

}  // namespace
}  // namespace spillway::e2e
