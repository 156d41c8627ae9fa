// Stop, reload and another certificate while callers ask over HTTP/2: nobody's request is lost.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/http2_load.h"
#include "e2e/sockets.h"
#include "net/tls_fixture.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":900,"imp":[{"id":"1","bidfloor":0.5,"banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s"}})";

class Http2Lifecycle : public testing::Test {
 protected:
  Http2Lifecycle() {
    certificates_.issue("first", "IP:127.0.0.1");
    certificates_.issue("second", "IP:127.0.0.1");
    install("first");
  }

  [[nodiscard]] std::string config() const {
    return fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}\n",
                       bidder_.port());
  }

  [[nodiscard]] std::string tls() const {
    return fmt::format(", tls: {{ cert_file: {}, key_file: {} }}", certificates_.pem("live"),
                       certificates_.key("live"));
  }

  void install(const std::string& name) const {
    for (const auto& [from, to] : {std::pair(certificates_.pem(name), certificates_.pem("live")),
                                   std::pair(certificates_.key(name), certificates_.key("live"))}) {
      std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    }
  }

  static Http2Load::Settings load(const ExchangeProcess& exchange) {
    return {.port = exchange.auction().port, .body = std::string(kRequest)};
  }

  static bool wait_for_answers(const Http2Load& load, uint64_t count) {
    const auto deadline = Clock::now() + 20s;
    while (load.answered() < count && Clock::now() < deadline) {
    }
    return load.answered() >= count;
  }

  static uint64_t events(const ExchangeProcess& exchange, std::string_view event) {
    return static_cast<uint64_t>(exchange.metrics()[fmt::format(
        R"(spillway_exchange_server_events_total{{event="{}"}})", event)]);
  }

  /// A number of a log line.
  static uint64_t field(const std::string& line, std::string_view name) {
    const auto at = line.find(fmt::format(" {}=", name));
    return at == std::string::npos
               ? UINT64_MAX
               : std::strtoull(line.c_str() + at + name.size() + 2, nullptr, 10);
  }

  static void expect_none_lost(const Http2Counts& callers) {
    EXPECT_EQ(callers.answered, callers.opened);
    EXPECT_EQ(callers.reset, 0U);
    EXPECT_EQ(callers.unprocessed, 0U);
    EXPECT_EQ(callers.unwarned, 0U);
  }

  static void stop_under(Http2Load& load, ExchangeProcess& exchange) {
    ASSERT_TRUE(wait_for_answers(load, 200));
    exchange.signal(SIGTERM);
    const auto stopped = exchange.wait_for_event({"event=stopped"}, 20s);
    const Http2Counts callers = load.wait();
    EXPECT_NE(stopped.find("clean=true"), std::string::npos) << stopped;
    EXPECT_EQ(field(stopped, "cut_connections"), 0U);
    EXPECT_EQ(field(stopped, "requests"), callers.opened);
    EXPECT_EQ(field(stopped, "answers"), callers.answered);
    EXPECT_GE(callers.notices, 4U) << "each was told before it ended";
    expect_none_lost(callers);
  }

  FakeDsp bidder_{[](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1.5"))}; }};
  net::testing::Certificates certificates_;
};

TEST_F(Http2Lifecycle, AStopUnderLoadAnswersEveryStreamThatWasOpened) {
  ExchangeProcess exchange(config());
  ASSERT_TRUE(exchange.started());
  Http2Load callers(load(exchange));
  stop_under(callers, exchange);
}

TEST_F(Http2Lifecycle, AStopUnderLoadDoesSoOverTls) {
  ExchangeProcess exchange(config(), tls());
  ASSERT_TRUE(exchange.started());
  auto settings = load(exchange);
  settings.ca_file = certificates_.pem("ca");
  Http2Load callers(std::move(settings));
  stop_under(callers, exchange);
}

TEST_F(Http2Lifecycle, AnAnnouncedStopSendsCallersElsewhereAndLosesNone) {
  ExchangeProcess exchange(config(), ", drain_announce: 300ms");
  ASSERT_TRUE(exchange.started());
  Http2Load callers(load(exchange));
  stop_under(callers, exchange);
}

TEST_F(Http2Lifecycle, ReloadsUnderLoadKeepConnectionsAndLoseNothing) {
  ExchangeProcess exchange(config());
  ASSERT_TRUE(exchange.started());
  Http2Load load(Http2Lifecycle::load(exchange));
  ASSERT_TRUE(wait_for_answers(load, 50));
  for (int i = 0; i < 10; ++i) {
    exchange.rewrite(config() + fmt::format("timing: {{ tmax_default: {}ms }}\n", 100 + i));
    exchange.signal(SIGHUP);
    EXPECT_NE(exchange.wait_for_event({"event=reloaded"}, 10s), "");
    EXPECT_TRUE(wait_for_answers(load, load.answered() + 20));
  }
  const Http2Counts callers = load.end();
  expect_none_lost(callers);
  EXPECT_EQ(callers.connections, 4U);
  EXPECT_EQ(events(exchange, "request"), callers.opened);
  EXPECT_EQ(events(exchange, "answer"), callers.answered);
}

TEST_F(Http2Lifecycle, AnotherCertificateUnderLoadIsSeenByNewCallersAndLosesNothing) {
  ExchangeProcess exchange(config(), tls());
  ASSERT_TRUE(exchange.started());
  auto settings = load(exchange);
  settings.ca_file = certificates_.pem("ca");
  settings.of_a_connection = 30;
  Http2Load load(std::move(settings));
  ASSERT_TRUE(wait_for_answers(load, 50));
  for (int i = 0; i < 6; ++i) {
    install(i % 2 == 0 ? "second" : "first");
    EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
    EXPECT_TRUE(wait_for_answers(load, load.answered() + 150));
  }
  const Http2Counts callers = load.end();
  expect_none_lost(callers);
  EXPECT_EQ(callers.subjects.size(), 2U);
  EXPECT_EQ(events(exchange, "request"), callers.opened);
  EXPECT_EQ(events(exchange, "answer"), callers.answered);
  EXPECT_EQ(events(exchange, "tls_handshake"), callers.connections);
  EXPECT_EQ(events(exchange, "tls_protocol") + events(exchange, "tls_certificate"), 0U);
}

}  // namespace
}  // namespace spillway::e2e
