// Auctions over HTTP/2, asked for by the clients of others.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/sockets.h"
#include "net/tls_fixture.h"

namespace spillway::e2e {
namespace {

constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":900,"imp":[{"id":"1","bidfloor":0.5,"banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s"}})";

constexpr std::string_view kCurl = "/usr/bin/curl";
constexpr std::string_view kH2load = "/usr/bin/h2load";
constexpr std::string_view kNghttp = "/usr/bin/nghttp";

class Http2Auction : public testing::Test {
 protected:
  Http2Auction() { certificates_.issue("live", "IP:127.0.0.1"); }

  void SetUp() override {
    for (const auto program : {kCurl, kH2load, kNghttp}) {
      if (!std::filesystem::exists(program)) {
        GTEST_SKIP() << program << " is not here: tools/setup check";
      }
    }
  }

  [[nodiscard]] std::string dsp() const {
    return fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}\n",
                       bidder_.port());
  }

  [[nodiscard]] std::string tls() const {
    return fmt::format(", tls: {{ cert_file: {}, key_file: {} }}", certificates_.pem("live"),
                       certificates_.key("live"));
  }

  /// The answer's body and, on a line of its own, its HTTP version and status.
  [[nodiscard]] std::string curl(const ExchangeProcess& exchange, std::string_view scheme,
                                 const std::vector<std::string>& options) const {
    std::vector<std::string> command{std::string(kCurl),
                                     "-s",
                                     "-w",
                                     "\n%{http_version} %{http_code}",
                                     "--max-time",
                                     "20",
                                     "--cacert",
                                     certificates_.pem("ca"),
                                     "--data-binary",
                                     std::string(kRequest)};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(
        fmt::format("{}://127.0.0.1:{}/openrtb2/auction", scheme, exchange.auction().port));
    return run_program(command).out;
  }

  static double events(const ExchangeProcess& exchange, std::string_view event) {
    return exchange
        .metrics()[fmt::format(R"(spillway_exchange_server_events_total{{event="{}"}})", event)];
  }

  FakeDsp bidder_{[](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1.5"))}; }};
  net::testing::Certificates certificates_;
};

TEST_F(Http2Auction, IsHeldInCleartextWithPriorKnowledge) {
  ExchangeProcess exchange(dsp());
  ASSERT_TRUE(exchange.started());
  const std::string answer = curl(exchange, "http", {"--http2-prior-knowledge"});
  EXPECT_NE(answer.find(R"("price":1.5)"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\n2 200")) << answer;
  EXPECT_EQ(events(exchange, "http2_connection"), 1);
  // An Upgrade is not taken: the answer is HTTP/1.1's, and as good.
  EXPECT_TRUE(curl(exchange, "http", {"--http2"}).ends_with("\n1.1 200"));
  EXPECT_EQ(exchange.stop(), 0);
}

TEST_F(Http2Auction, IsHeldOverTlsWhereBothAgreeOnIt) {
  ExchangeProcess exchange(dsp(), tls());
  ASSERT_TRUE(exchange.started());
  const std::string answer = curl(exchange, "https", {"--http2"});
  EXPECT_NE(answer.find(R"("price":1.5)"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\n2 200")) << answer;
  EXPECT_TRUE(curl(exchange, "https", {"--http1.1"}).ends_with("\n1.1 200"));
  EXPECT_TRUE(curl(exchange, "https", {"--http2", "--no-alpn"}).ends_with("\n1.1 200"));
  EXPECT_EQ(events(exchange, "http2_connection"), 1);
}

TEST_F(Http2Auction, IsNotHeldOverHttp2WhereThatIsOff) {
  ExchangeProcess exchange(dsp(), tls() + ", http2: { enabled: false }");
  ASSERT_TRUE(exchange.started());
  EXPECT_TRUE(curl(exchange, "https", {"--http2"}).ends_with("\n1.1 200"));
  EXPECT_EQ(events(exchange, "http2_connection"), 0);
}

TEST_F(Http2Auction, SharesOneConnectionWithManyOthers) {
  ExchangeProcess exchange(dsp());
  ASSERT_TRUE(exchange.started());
  const TemporaryFile body(kRequest);
  const auto load =
      run_program({std::string(kH2load), "-n", "1000", "-c", "2", "-m", "25", "-d", body.path(),
                   fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange.auction().port)});
  EXPECT_NE(load.out.find("1000 succeeded, 0 failed, 0 errored, 0 timeout"), std::string::npos)
      << load.out;
  EXPECT_NE(load.out.find("status codes: 1000 2xx"), std::string::npos) << load.out;
  EXPECT_EQ(events(exchange, "http2_connection"), 2);
  EXPECT_EQ(events(exchange, "request"), 1000);
  EXPECT_EQ(events(exchange, "answer"), 1000);
  EXPECT_EQ(exchange.metrics()["spillway_exchange_auctions_total"], 1000);
  EXPECT_EQ(exchange.stop(), 0);
}

TEST_F(Http2Auction, FollowsTheProtocolAsNghttpSeesIt) {
  ExchangeProcess exchange(dsp());
  ASSERT_TRUE(exchange.started());
  const TemporaryFile body(kRequest);
  const auto client =
      run_program({std::string(kNghttp), "-v", "-m", "5", "-d", body.path(),
                   fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange.auction().port)});
  EXPECT_EQ(client.exit_code, 0) << client.err;
  EXPECT_NE(client.out.find(":status: 200"), std::string::npos);
  EXPECT_EQ(client.out.find("[INVALID"), std::string::npos) << client.out;
  EXPECT_EQ(events(exchange, "http2_protocol"), 0);
}

}  // namespace
}  // namespace spillway::e2e
