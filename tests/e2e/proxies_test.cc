#include <chrono>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "e2e/exchange_process.h"
#include "e2e/sockets.h"
#include "net/gzip.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHouseAlone =
    "house_ads: [{ type: banner, w: 300, h: 250, adm: \"<b>x</b>\" }]\n"
    "accounts: [{ fallback: { no_bid: house } }]\n";
constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":900,"imp":[{"id":"1","banner":{"w":300,"h":250}}],"site":{"id":"s"}})";

std::string post(std::string_view target, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", target,
                     body.size(), body);
}

/// The status of the first answer to `bytes`; 0 when the connection ends without one.
int answer_to(const ExchangeProcess& exchange, std::string_view bytes) {
  const Fd socket = connect_to(exchange.auction().port, 5s);
  send_all(socket.value(), bytes);
  std::string buffer;
  Message answer;
  return read_message(socket.value(), buffer, answer) ? answer.status() : 0;
}

double event(const ExchangeProcess& exchange, std::string_view name) {
  return exchange
      .metrics()[fmt::format("spillway_exchange_server_events_total{{event=\"{}\"}}", name)];
}

TEST(ProxyProtocol, IsReadFromTrustedProxiesAndDemandedOfThem) {
  ExchangeProcess exchange(kHouseAlone, ", trusted_proxies: [127.0.0.0/8], proxy_protocol: true");
  ASSERT_TRUE(exchange.started());
  const auto request = post("/openrtb2/auction", kRequest);
  EXPECT_EQ(answer_to(exchange, "PROXY TCP4 203.0.113.9 127.0.0.1 4000 80\r\n" + request), 200);
  EXPECT_EQ(answer_to(exchange, request), 0);
  EXPECT_EQ(event(exchange, "proxy_malformed"), 1);
}

TEST(ProxyProtocol, IsRefusedFromOthers) {
  ExchangeProcess exchange(kHouseAlone, ", trusted_proxies: [192.0.2.0/24], proxy_protocol: true");
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(answer_to(exchange, "PROXY TCP4 203.0.113.9 127.0.0.1 4000 80\r\n" +
                                    post("/openrtb2/auction", kRequest)),
            0);
  EXPECT_EQ(event(exchange, "proxy_untrusted"), 1);
}

TEST(GzipRequest, IsKnownByItsFirstBytesWithTheQueryPrebidSends) {
  ExchangeProcess exchange(kHouseAlone);
  ASSERT_TRUE(exchange.started());
  net::Deflater deflater;
  std::string packed(deflater.bound(kRequest.size()), '\0');
  packed.resize(deflater.compress(kRequest, packed.data(), packed.size()));
  EXPECT_EQ(answer_to(exchange, post("/openrtb2/auction?gzip=1", packed)), 200);
  EXPECT_EQ(answer_to(exchange, post("/openrtb2/auction?gzip=1", kRequest)), 200);
  EXPECT_EQ(event(exchange, "inflated"), 1);
}

}  // namespace
}  // namespace spillway::e2e
