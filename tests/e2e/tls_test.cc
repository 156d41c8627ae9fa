#include "net/tls.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/load_report.h"
#include "e2e/sockets.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/server.h"
#include "net/tls_fixture.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;
using net::testing::Certificates;

constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":900,"imp":[{"id":"1","bidfloor":0.5,"banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s"}})";

/// A bidder behind TLS that always bids; on a thread of its own.
class TlsDsp {
 public:
  explicit TlsDsp(net::TlsServerSettings settings)
      : reactor_(clock_),
        tls_(net::TlsServer::make(std::move(settings)).value_or(nullptr)),
        server_("127.0.0.1:0", {}, workers(), {.tls = tls_}) {
    EXPECT_NE(tls_, nullptr);
    EXPECT_EQ(server_.error(), "");
    server_.start();
    thread_ = std::thread([this] { reactor_.run(); });
  }

  ~TlsDsp() {
    reactor_.stop();
    thread_.join();
  }

  TlsDsp(const TlsDsp&) = delete;
  TlsDsp& operator=(const TlsDsp&) = delete;

  [[nodiscard]] uint16_t port() const { return server_.port(); }

  [[nodiscard]] const net::ServerCounters& counters() const { return server_.counters(0); }

 private:
  std::vector<net::Server::Worker> workers() {
    std::vector<net::Server::Worker> one;
    one.push_back({.reactor = reactor_, .handler = [](const net::Request&, net::Reply reply) {
                     reply.send({.status = 200,
                                 .content_type = "application/json",
                                 .headers = {},
                                 .body = bid_body("2.5")});
                   }});
    return one;
  }

  net::OsClock clock_;
  net::Reactor reactor_;
  std::shared_ptr<net::TlsServer> tls_;
  net::Server server_;
  std::thread thread_;
};

std::string dsp(uint16_t port, std::string_view host, std::string_view tls) {
  return fmt::format("dsps:\n  - {{ name: d, endpoint: \"https://{}:{}/\", tls: {{ {} }} }}\n",
                     host, port, tls);
}

double client_events(const ExchangeProcess& exchange, std::string_view event) {
  return exchange.metrics()[fmt::format(
      R"(spillway_exchange_client_events_total{{dsp="d",region="default",path="display",event="{}"}})",
      event)];
}

class TlsToDsps : public testing::Test {
 protected:
  TlsToDsps() {
    certificates_.issue("dsp", "IP:127.0.0.1");
    certificates_.issue("elsewhere", "DNS:elsewhere.example");
    certificates_.issue("ours", "DNS:exchange.example");
  }

  std::string ca() { return "ca_file: " + certificates_.pem("ca"); }

  net::TlsServerSettings server(const std::string& name) {
    return {.certificate_file = certificates_.pem(name), .key_file = certificates_.key(name)};
  }

  Certificates certificates_;
};

TEST_F(TlsToDsps, AreAskedOnConnectionsThatAreKept) {
  const TlsDsp bidder(server("dsp"));
  ExchangeProcess exchange(dsp(bidder.port(), "127.0.0.1", ca()));
  ASSERT_TRUE(exchange.started());
  constexpr int kAuctions = 20;
  for (int i = 0; i < kAuctions; ++i) {
    const auto answer = exchange.bid_request(kRequest);
    EXPECT_EQ(answer.status(), 200);
    EXPECT_NE(answer.body.find(R"("price":2.5)"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(bidder.counters().requests.value(), kAuctions);
  EXPECT_LE(bidder.counters().tls_handshakes.value(), 2U);  // a worker keeps one
  EXPECT_EQ(exchange.stop(), 0);
}

TEST_F(TlsToDsps, NoticesAreSentOverTlsToHostsThatProveTheirName) {
  const TlsDsp host(server("dsp"));
  FakeDsp bidder([&](const Message&) {
    std::string bid = bid_body("2.5");
    bid.replace(bid.find("\"adm\""), 0,
                fmt::format(R"("nurl":"https://127.0.0.1:{}/win",)", host.port()));
    return FakeDsp::Answer{.bytes = ok(bid)};
  });
  const auto sent_after_an_auction = [&](std::string_view notices, std::string_view end) {
    ExchangeProcess exchange(
        fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}\n"
                    "notices: {{ allow_private: true, retry_for: 1s{} }}\n",
                    bidder.port(), notices));
    EXPECT_EQ(exchange.bid_request(kRequest).status(), 200);
    const auto series = fmt::format(R"(spillway_exchange_notices_{}_total{{kind="win"}})", end);
    const auto deadline = Clock::now() + 10s;
    while (exchange.metrics()[series] < 1 && Clock::now() < deadline) {
    }
    return exchange.metrics()[series];
  };
  EXPECT_EQ(sent_after_an_auction("", "expired"), 1) << "nobody known signed for it";
  EXPECT_EQ(host.counters().requests.value(), 0U);
  EXPECT_EQ(sent_after_an_auction(", " + ca(), "sent"), 1);
  EXPECT_EQ(host.counters().requests.value(), 1U);
}

TEST_F(TlsToDsps, AreCalledOnKeptConnections99TimesIn100UnderSteadyLoad) {
  const TlsDsp bidder(server("dsp"));
  ExchangeProcess exchange(dsp(bidder.port(), "127.0.0.1", ca()));
  ASSERT_TRUE(exchange.started());
  // All calls that the bidder saw are in the counters, which are copied now and then.
  const auto settled = [&] {
    const auto deadline = Clock::now() + 5s;
    while (client_events(exchange, "call") <
               static_cast<double>(bidder.counters().requests.value()) &&
           Clock::now() < deadline) {
    }
    return std::pair(client_events(exchange, "call"), client_events(exchange, "reused"));
  };
  const auto load = [&](const char* duration) {
    (void)run_program({SPILLWAY_BINARY_DIR "/libexec/spillway-load", "--target",
                       fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange.auction().port),
                       "--rate", "400", "--duration", duration, "--timeout", "5s"});
  };
  load("300ms");  // opens the connections
  const auto before = settled();
  load("3s");
  const auto after = settled();
  const double calls = after.first - before.first;
  EXPECT_GT(calls, 500);
  EXPECT_GE(after.second - before.second, 0.99 * calls);
}

TEST_F(TlsToDsps, CountWhatTheirHandshakesDid) {
  const TlsDsp bidder(server("dsp"));
  ExchangeProcess exchange(dsp(bidder.port(), "127.0.0.1", ca()));
  ASSERT_TRUE(exchange.started());
  ASSERT_EQ(exchange.bid_request(kRequest).status(), 200);
  const auto deadline = Clock::now() + 5s;
  while (client_events(exchange, "tls_handshake") < 1 && Clock::now() < deadline) {
  }
  EXPECT_GE(client_events(exchange, "tls_handshake"), 1);
  EXPECT_EQ(client_events(exchange, "tls_failed"), 0);
}

TEST_F(TlsToDsps, GetNoRequestUnlessTheyProveTheirName) {
  const TlsDsp impostor(server("elsewhere"));
  ExchangeProcess exchange(dsp(impostor.port(), "127.0.0.1", ca()));
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(exchange.bid_request(kRequest).status(), 204);
  EXPECT_EQ(impostor.counters().requests.value(), 0U);
  const auto deadline = Clock::now() + 5s;
  while (client_events(exchange, "tls_failed") < 1 && Clock::now() < deadline) {
  }
  EXPECT_GE(client_events(exchange, "tls_failed"), 1);
}

TEST_F(TlsToDsps, AreShownOurCertificateWhenTheyAsk) {
  auto asking = server("dsp");
  asking.client_ca_file = certificates_.pem("ca");
  const TlsDsp bidder(asking);
  ExchangeProcess nameless(dsp(bidder.port(), "127.0.0.1", ca()));
  ASSERT_TRUE(nameless.started());
  EXPECT_EQ(nameless.bid_request(kRequest).status(), 204);
  ExchangeProcess exchange(dsp(bidder.port(), "127.0.0.1",
                               fmt::format("{}, cert_file: {}, key_file: {}", ca(),
                                           certificates_.pem("ours"), certificates_.key("ours"))));
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(exchange.bid_request(kRequest).status(), 200);
}

TEST_F(TlsToDsps, KeepTheirFilesWhenAReloadBringsBadOnes) {
  const TlsDsp bidder(server("dsp"));
  const std::string good = dsp(bidder.port(), "127.0.0.1", ca());
  ExchangeProcess exchange(good);
  ASSERT_TRUE(exchange.started());
  const auto bad = dsp(bidder.port(), "127.0.0.1", "ca_file: /nonexistent/ca.pem");
  exchange.rewrite(bad);
  const auto refused = exchange.admin().post("/admin/reload", "");
  EXPECT_NE(refused.status(), 200);
  EXPECT_NE(refused.body.find("/nonexistent/ca.pem"), std::string::npos) << refused.body;
  EXPECT_EQ(exchange.bid_request(kRequest).status(), 200);
  exchange.rewrite(good);
  EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
  EXPECT_EQ(exchange.bid_request(kRequest).status(), 200);
  const TemporaryFile file(bad);
  const auto check = run_program({SPILLWAY_BINARY_DIR "/libexec/spillway-exchange", "--config",
                                  file.path(), "--check-config"});
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_NE(check.err.find("/nonexistent/ca.pem"), std::string::npos) << check.err;
}

class TlsForCallers : public TlsToDsps {
 protected:
  TlsForCallers() {
    certificates_.issue("first", "IP:127.0.0.1");
    certificates_.issue("second", "IP:127.0.0.1");
    certificates_.self_sign("other", "IP:127.0.0.1");
    install("first");
  }

  /// Puts a certificate and its key where the exchange looks for them.
  void install(const std::string& name) {
    for (const auto& [from, to] : {std::pair(certificates_.pem(name), certificates_.pem("live")),
                                   std::pair(certificates_.key(name), certificates_.key("live"))}) {
      std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    }
  }

  std::string keys() {
    return fmt::format(", tls: {{ cert_file: {}, key_file: {} }}", certificates_.pem("live"),
                       certificates_.key("live"));
  }

  /// The report of 100 requests, on fresh connections.
  std::string load(const ExchangeProcess& exchange, const std::string& ca) {
    return run_program(
               {SPILLWAY_BINARY_DIR "/libexec/spillway-load", "--target",
                fmt::format("https://127.0.0.1:{}/openrtb2/auction", exchange.auction().port),
                "--ca", certificates_.pem(ca), "--rate", "200", "--duration", "500ms", "--timeout",
                "5s", "--json"})
        .out;
  }
};

constexpr std::string_view kHouseAlone =
    "house_ads: [{ type: banner, w: 300, h: 250, adm: \"<b>x</b>\" }]\n";

TEST_F(TlsForCallers, LoseNoRequestWhileTheCertificateChanges) {
  ExchangeProcess exchange(kHouseAlone, keys());
  ASSERT_TRUE(exchange.started());
  long sent = 0;
  long answered = 0;
  std::atomic<bool> ending{false};
  std::thread callers([&] {
    for (int i = 0; i < 4; ++i) {
      const auto report = load(exchange, "ca");
      sent += number(report, "offered") - number(report, "dropped");
      answered += answered_of(report);
      EXPECT_EQ(number(report, "offered"), 100) << report;
    }
    ending = true;
  });
  int reloads = 0;
  while (!ending) {
    install(reloads % 2 == 0 ? "second" : "first");
    EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
    EXPECT_NE(exchange.wait_for_event({"event=reloaded"}, 5s), "");
    ++reloads;
  }
  callers.join();
  EXPECT_GE(reloads, 4);
  auto metrics = exchange.metrics();
  const auto event = [&](std::string_view name) {
    return static_cast<long>(
        metrics[fmt::format("spillway_exchange_server_events_total{{event=\"{}\"}}", name)]);
  };
  EXPECT_EQ(answered, sent);
  EXPECT_EQ(event("request"), sent);
  EXPECT_EQ(event("answer"), sent);
  EXPECT_GE(event("tls_handshake"), 4);
  EXPECT_EQ(event("tls_protocol") + event("tls_certificate") + event("tls_plaintext"), 0);
  EXPECT_EQ(exchange.stop(), 0);
}

TEST_F(TlsForCallers, SeeTheNewCertificateAfterAReloadAndTheOldOneAfterABadFile) {
  ExchangeProcess exchange(kHouseAlone, keys());
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(answered_of(load(exchange, "ca")), 100);
  install("other");
  exchange.signal(SIGHUP);
  EXPECT_NE(exchange.wait_for_event({"event=reloaded"}, 5s), "");
  EXPECT_EQ(answered_of(load(exchange, "other")), 100);
  EXPECT_EQ(answered_of(load(exchange, "ca")), 0);
  std::ofstream(certificates_.pem("live"), std::ios::trunc) << "no certificate\n";
  const auto refused = exchange.admin().post("/admin/reload", "");
  EXPECT_NE(refused.status(), 200);
  EXPECT_NE(refused.body.find("cannot use the certificate in"), std::string::npos) << refused.body;
  EXPECT_EQ(answered_of(load(exchange, "other")), 100);
}

TEST_F(TlsForCallers, AreRefusedInPlainAndCounted) {
  ExchangeProcess exchange(kHouseAlone, keys());
  ASSERT_TRUE(exchange.started());
  EXPECT_NE(exchange.bid_request(kRequest).status(), 200);
  EXPECT_EQ(exchange.metrics()["spillway_exchange_server_events_total{event=\"tls_plaintext\"}"],
            1);
}

}  // namespace
}  // namespace spillway::e2e
