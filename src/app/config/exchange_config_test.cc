#include "app/config/exchange_config.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "app/config/config_fixture.h"
#include "app/config/plan.h"
#include "app/config/url.h"
#include "exchange/snapshot.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using testing::good;
using testing::problems_of;

constexpr std::string_view kMinimal = R"(
exchange: { listen: 127.0.0.1:8080 }
admin:    { listen: 127.0.0.1:9901 }
dsps:
  - { name: alpha, endpoint: "http://127.0.0.1:9101/bid" }
  - { name: beta,  endpoint: "http://127.0.0.1:9102/bid", openrtb: "2.5" }
house_ads:
  - { type: banner, w: 300, h: 250, adm: "<a href=https://house.example></a>", adomain: [house.example] }
)";

TEST(ExchangeConfig, ReadsTheMinimalConfiguration) {
  const auto config = good(kMinimal);
  EXPECT_EQ(config.listen, "127.0.0.1:8080");
  EXPECT_EQ(config.admin_listen, "127.0.0.1:9901");
  EXPECT_GE(config.workers, 1U);
  ASSERT_EQ(config.snapshot.dsps.size(), 2U);
  const auto& beta = config.snapshot.dsps[1];
  EXPECT_EQ(beta.name, "beta");
  EXPECT_EQ(beta.seat, "beta");
  EXPECT_EQ(beta.openrtb, "2.5");
  ASSERT_EQ(beta.endpoints.size(), 1U);
  EXPECT_EQ(beta.endpoints[0].guard_key, "beta/default/display");
  EXPECT_EQ(beta.endpoints[0].host, "127.0.0.1");
  EXPECT_EQ(beta.endpoints[0].port, 9102);
  EXPECT_EQ(beta.endpoints[0].target, "/bid");
  EXPECT_EQ(beta.endpoints[0].media, 0xf);
  ASSERT_EQ(config.snapshot.accounts.size(), 1U);
  EXPECT_EQ(config.snapshot.accounts[0].publisher, "");
  ASSERT_EQ(config.snapshot.house_ads.size(), 1U);
  EXPECT_EQ(config.snapshot.text, kMinimal);
}

TEST(ExchangeConfig, ReadsWhatIsSaidForSilentCallers) {
  const auto config = good(std::string(kMinimal) + R"(
schain: { asi: exchange.example, sid: "77", begins_complete: true }
accounts:
  - { fill_device: always, source_tid: false }
  - { publisher: p, secure: true, seller_id: "p-1", fill_device: never }
)");
  const auto& standard = config.snapshot.accounts[0];
  EXPECT_EQ(standard.fill_device, exchange::FillDevice::kAlways);
  EXPECT_FALSE(standard.source_tid);
  EXPECT_FALSE(standard.secure);
  EXPECT_EQ(standard.seller.sid, "77");
  const auto& own = config.snapshot.accounts[1];
  EXPECT_EQ(own.fill_device, exchange::FillDevice::kNever);
  EXPECT_TRUE(own.secure);
  EXPECT_TRUE(own.seller.begins_complete);
  EXPECT_EQ(own.seller.asi, "exchange.example");
  EXPECT_EQ(own.seller.sid, "p-1");
  EXPECT_FALSE(config.snapshot.dsps[0].own_request_id);
}

TEST(ExchangeConfig, RefusesASellerByHalves) {
  EXPECT_NE(problems_of(std::string(kMinimal) + "schain: { asi: exchange.example }\n")
                .find("schain: must have asi and sid"),
            std::string::npos);
  EXPECT_NE(problems_of(std::string(kMinimal) + "accounts: [ { seller_id: x } ]\n")
                .find("seller_id: is of no use without schain.asi"),
            std::string::npos);
}

TEST(ExchangeConfig, RefusesAnAdminListenerOnTheExchangesOwnPort) {
  constexpr std::string_view kDsps = "dsps:\n  - { name: a, endpoint: \"http://127.0.0.1:1/\" }\n";
  const auto with = [&](std::string_view exchange, std::string_view admin) {
    return problems_of("exchange: { listen: \"" + std::string(exchange) +
                       "\" }\nadmin: { listen: \"" + std::string(admin) + "\" }\n" +
                       std::string(kDsps));
  };
  EXPECT_EQ(with("127.0.0.1:9901", "127.0.0.1:9901"),
            "f:2: admin.listen: \"127.0.0.1:9901\" collides with exchange.listen "
            "\"127.0.0.1:9901\": one port cannot serve both\n");
  EXPECT_NE(with("0.0.0.0:9901", "127.0.0.1:9901"), "");
  EXPECT_NE(with("[::]:9901", "127.0.0.1:9901"), "");
  EXPECT_EQ(with("127.0.0.1:0", "127.0.0.1:0"), "");
  EXPECT_EQ(with("127.0.0.2:9901", "127.0.0.1:9901"), "");
  EXPECT_NE(problems_of("exchange: { listen: 0.0.0.0:9901 }\n" + std::string(kDsps)), "");
}

TEST(ExchangeConfig, RefusesADspOnTheSeatReservedForHouseAds) {
  EXPECT_EQ(problems_of("dsps:\n  - { name: house, endpoint: \"http://127.0.0.1:1/\" }\n"),
            "f:1: house_seat: \"house\" is the seat of dsp \"house\" too: its bids would all be "
            "refused\n");
  EXPECT_EQ(
      problems_of(
          "house_seat: ours\ndsps:\n  - { name: house, endpoint: \"http://127.0.0.1:1/\" }\n"),
      "");
}

TEST(ExchangeConfig, RefusesBytesThatAreNoUtf8AndSaysOnWhichLine) {
  EXPECT_EQ(
      problems_of(
          "dsps:\n  - { name: a, endpoint: \"http://127.0.0.1:1/\" }\nhouse_seat: \"\xff\"\n"),
      "f:3: is no UTF-8 text: save it as UTF-8\n");
}

TEST(ExchangeConfig, NamesAWrongUrlAsItIsWritten) {
  EXPECT_NE(problems_of("dsps:\n  - { name: a, endpoint: \"http://a:0/\" }\n")
                .find("is \"http://a:0/\": its port is not between 1 and 65535"),
            std::string::npos);
}

TEST(ExchangeConfig, InheritsGuardSettingsFromTopToEndpoint) {
  const auto config = good(R"(
guards: { ramp: 10s, open_min: 2s, max_in_flight: 10 }
dsps:
  - name: a
    max_in_flight: 20
    guard: { ramp: 20s }
    regions: { eu: { guard: { slow_floor: 40ms, ramp: 25s } } }
    endpoints:
      - { url: "https://h/v", region: eu, path: video, media: [video], guard: { ramp: 30s } }
      - { url: "https://h/d", region: eu }
      - { url: "https://h/u", region: us }
)");
  const auto& endpoints = config.snapshot.dsps[0].endpoints;
  ASSERT_EQ(endpoints.size(), 3U);
  EXPECT_EQ(endpoints[0].guard_key, "a/eu/video");
  EXPECT_EQ(endpoints[0].media, 2);
  EXPECT_EQ(endpoints[0].guard.ramp, 30s);
  EXPECT_EQ(endpoints[0].guard.slow_floor, 40ms);
  EXPECT_EQ(endpoints[0].guard.open_min, 2s);
  EXPECT_EQ(endpoints[0].guard.max_in_flight, 20U);
  EXPECT_EQ(endpoints[1].guard.ramp, 25s);
  EXPECT_EQ(endpoints[2].guard.ramp, 20s);
  EXPECT_EQ(endpoints[2].guard.slow_floor, 50ms);
}

TEST(ExchangeConfig, KeepsTheContractOfADspApartFromThoseOfItsEndpoints) {
  const auto config = good(R"(
guards: { qps: 500 }
dsps:
  - name: a
    qps: 101
    guard: { qps: 400 }
    regions: { eu: { guard: { qps: 30 } } }
    endpoints:
      - { url: "https://h/d" }
      - { url: "https://h/v", path: video, guard: { qps: 40 } }
      - { url: "https://h/e", region: eu }
  - { name: b, endpoint: "https://h/", guard: { qps: 200 } }
  - { name: c, endpoint: "https://h/" }
)");
  const auto& dsps = config.snapshot.dsps;
  EXPECT_EQ(dsps[0].qps, 101U);
  EXPECT_EQ(dsps[0].endpoints[0].guard.qps, 0U);
  EXPECT_EQ(dsps[0].endpoints[1].guard.qps, 40U);
  EXPECT_EQ(dsps[0].endpoints[2].guard.qps, 30U);
  EXPECT_EQ(dsps[1].qps, 200U);
  EXPECT_EQ(dsps[1].endpoints[0].guard.qps, 0U);
  EXPECT_EQ(dsps[2].qps, 500U);
  const auto plan = plan_connections(config, {});
  EXPECT_EQ(plan.endpoints[0].qps, 101U);
  EXPECT_EQ(plan.endpoints[1].qps, 40U);
}

TEST(ExchangeConfig, ReadsAnAccountsMarginExactly) {
  const auto config = good(R"(
house_ads: [{ type: video, adm: "<VAST/>" }]
accounts: [{ margin_ratio: 0.125 }, { publisher: p }, { publisher: q, margin_ratio: 0.900000 }]
)");
  EXPECT_EQ(config.snapshot.accounts[0].price_margin_ppm, 125'000U);
  EXPECT_EQ(config.snapshot.accounts[1].price_margin_ppm, 125'000U);
  EXPECT_EQ(config.snapshot.accounts[2].price_margin_ppm, 900'000U);
  EXPECT_NE(
      problems_of("house_ads: [{ type: video, adm: v }]\naccounts: [{ margin_ratio: 0.91 }]\n")
          .find("f:2: accounts[0].margin_ratio: must be from 0 to 0.9"),
      std::string::npos);
}

TEST(ExchangeConfig, BeginsEveryAccountAsTheDefaultOne) {
  const auto config = good(R"(
house_ads: [{ type: video, adm: "<VAST/>" }]
accounts:
  - { publisher: p1, no_bid: 200 }
  - { auction: second, response_margin: 7ms, fallback: { no_bid: house } }
)");
  const auto& accounts = config.snapshot.accounts;
  ASSERT_EQ(accounts.size(), 2U);
  EXPECT_EQ(accounts[0].publisher, "");
  EXPECT_EQ(accounts[0].auction, 2);
  EXPECT_FALSE(accounts[0].no_bid_as_200);
  EXPECT_EQ(accounts[1].publisher, "p1");
  EXPECT_TRUE(accounts[1].no_bid_as_200);
  EXPECT_EQ(accounts[1].auction, 2);
  EXPECT_EQ(accounts[1].response_margin, 7ms);
  EXPECT_EQ(accounts[1].on_no_bid, exchange::Fallback::kHouse);
}

TEST(ExchangeConfig, SaysEverythingThatIsWrongByKeyAndLine) {
  EXPECT_EQ(problems_of("exchange: { listen: localhost }\n"
                        "admin: { listen: 0.0.0.0:1 }\n"
                        "dsps:\n"
                        "  - { name: Alpha, endpoint: \"https://x/\" }\n"
                        "  - { name: b, endpont: \"http://x/\" }\n"
                        "  - { name: b, endpoint: \"http://x/\", openrtb: 3.0, insecure: true }\n"
                        "timing: { tmax_default: 2s }\n"),
            "f:1: exchange.listen: must be an address and a port, such as 127.0.0.1:8080 or "
            "[::1]:0; is \"localhost\"\n"
            "f:2: admin.listen: must be a loopback address, or allow_remote: true beside it: "
            "whoever reaches it can open circuits\n"
            "f:4: dsps[0].name: must be 1 to 64 of a-z, 0-9, _ and -, is \"Alpha\"\n"
            "f:5: dsps[1]: must have endpoint: an http or https URL\n"
            "f:5: dsps[1].endpont: is an unknown key; \"endpoint\" is near\n"
            "f:6: dsps[2].openrtb: must be one of 2.5, 2.6, is \"3.0\"\n"
            "f:6: dsps[2].name: \"b\" stands twice\n"
            "f:7: timing.tmax_default: must not be more than tmax_max\n");
}

TEST(ExchangeConfig, RefusesAnEmptyFile) {
  EXPECT_EQ(problems_of(""),
            "f: names neither dsps nor house_ads: there is nobody to ask and nothing to show\n");
}

TEST(ExchangeConfig, RefusesUrlsThatCouldBreakOutOfARequestLine) {
  for (const char* url :
       {"http://h/a b", "http://h/\r\nX: y", "http://u@h/", "http://h:0/", "http://h:70000/",
        "http:///x", "ftp://h/", "http://h/#f", "http://[::1/"}) {
    EXPECT_FALSE(parse_http_url(url)) << url;
  }
  const auto url = parse_http_url("http://[::1]:81?q=1");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 81);
  EXPECT_EQ(url->target, "/?q=1");
}

TEST(ExchangeConfig, SendsRequestsOverANetworkInPlainOnlyWhenToldTo) {
  EXPECT_EQ(problems_of("dsps:\n  - { name: a, endpoint: \"http://dsp.example/\" }\n"),
            "f:2: dsps[0]: plain http to dsp.example, which is not this machine: use https, or say "
            "insecure: true\n");
  EXPECT_NE(problems_of("dsps: [{ name: a, endpoints: [{ url: \"http://10.0.0.1/\" }] }]\n"), "");
  EXPECT_NE(problems_of("dsps: [{ name: a, endpoint: \"http://127.evil.example/\" }]\n"), "");
  for (const char* fine :
       {"\"http://dsp.example/\", insecure: true", "\"https://dsp.example/\"",
        "\"http://localhost:1/\"", "\"http://[::1]:1/\"", "\"http://127.0.0.9:1/\""}) {
    EXPECT_EQ(problems_of(std::string("dsps: [{ name: a, endpoint: ") + fine + " }]\n"), "");
  }
}

TEST(ExchangeConfig, ReadsTheHostsOfADspWholeFromTheLevelThatHasThem) {
  const auto config = good(R"(
guards: { hosts: { volume: 80, warm: 20s } }
dsps:
  - { name: a, endpoint: "https://a.example/" }
  - name: b
    guard: { hosts: { eject_min: 1s } }
    endpoints:
      - { url: "http://b.example:81/", addresses: [127.0.0.2, "::1"], guard: { ramp: 1m } }
)");
  const auto& inherited = config.snapshot.dsps[0].endpoints[0].guard.hosts;
  EXPECT_EQ(inherited.volume, 80U);
  EXPECT_EQ(inherited.warm, 20s);
  EXPECT_EQ(inherited.eject_min, 10s);
  const auto& endpoint = config.snapshot.dsps[1].endpoints[0];
  EXPECT_EQ(endpoint.guard.hosts.eject_min, 1s);
  EXPECT_EQ(endpoint.guard.hosts.volume, 50U) << "the default, not what is inherited";
  EXPECT_EQ(endpoint.guard.ramp, 1min);
  EXPECT_EQ(endpoint.addresses, (std::vector<std::string>{"127.0.0.2", "::1"}));
  EXPECT_EQ(endpoint.host, "b.example");
}

TEST(ExchangeConfig, RefusesHostsAndAddressesThatMakeNoSense) {
  EXPECT_EQ(problems_of("guards: { hosts: { eject_min: 1m, eject_max: 10s } }\n"
                        "dsps: [{ name: a, endpoint: \"https://a.example/\" }]\n"),
            "f:2: dsps[0]: its guard settings as inherited: hosts.eject_max: 10.0 s is not between "
            "60.0 s and 3600.0 s\n");
  EXPECT_NE(problems_of("guards: { hosts: { volume: 9 } }\nhouse_ads: [{ type: video, adm: v }]\n")
                .find("f:1: guards.hosts.volume: must be between 10 and 100000, is 9"),
            std::string::npos);
  const auto with = [](std::string_view addresses) {
    return problems_of("dsps: [{ name: a, endpoints: [{ url: \"http://x.example/\", addresses: [" +
                       std::string(addresses) + "] }] }]\n");
  };
  EXPECT_EQ(with("127.0.0.1"), "");
  EXPECT_EQ(with("localhost, 127.0.0.1"),
            "f:1: dsps[0].endpoints[0].addresses: must be IPv4 or IPv6 addresses without port; "
            "\"localhost\" is none\n");
  EXPECT_NE(with("10.0.0.1").find("plain http to x.example"), std::string::npos)
      << "what counts is where the bytes go";
}

TEST(ExchangeConfig, TrustsOnlyProxiesThatAreNetworks) {
  const auto with = [](std::string_view keys) {
    return problems_of("exchange: { " + std::string(keys) +
                       " }\nhouse_ads: [{ type: video, adm: v }]\n");
  };
  EXPECT_EQ(with("trusted_proxies: [10.0.0.0/8, \"2001:db8::/32\", 127.0.0.1]"), "");
  EXPECT_EQ(with("trusted_proxies: [127.0.0.1], proxy_protocol: true"), "");
  EXPECT_EQ(with("trusted_proxies: [proxy.example]"),
            "f:1: exchange.trusted_proxies: must be networks such as 10.0.0.0/8 or 2001:db8::/32; "
            "\"proxy.example\" is none\n");
  EXPECT_EQ(with("proxy_protocol: true"),
            "f:1: exchange.proxy_protocol: must have trusted_proxies beside it: nobody could "
            "connect without\n");
}

TEST(ExchangeConfig, OffersHttp2UnlessToldNotTo) {
  const std::string house = "house_ads: [{ type: banner, w: 1, h: 1, adm: x }]\n";
  const auto on = good(house);
  EXPECT_TRUE(on.http2.enabled);
  EXPECT_EQ(on.tls.protocols, (std::vector<std::string>{"h2", "http/1.1"}));
  const auto off = good("exchange: { http2: { enabled: false } }\n" + house);
  EXPECT_FALSE(off.http2.enabled);
  EXPECT_EQ(off.tls.protocols, (std::vector<std::string>{"http/1.1"}));
  const auto set =
      good("exchange: { http2: { max_streams: 250, max_resets: 5, max_control_frames: 100 } }\n" +
           house);
  EXPECT_EQ(set.http2.max_streams, 250U);
  EXPECT_EQ(set.http2.max_resets, 5U);
  EXPECT_EQ(set.http2.max_control_frames, 100U);
  EXPECT_NE(problems_of("exchange: { http2: { max_streams: 1001, max_resets: 0 } }\n" + house)
                .find("exchange.http2.max_streams: must be between 1 and 1000, is 1001"),
            std::string::npos);
}

TEST(ExchangeConfig, ReadsHowADspIsCalledOverTls) {
  const auto config = good(R"(
dsps:
  - name: a
    endpoints: [{ url: "https://a.example/bid" }, { url: "https://b.example:8443/", region: eu }]
    tls: { ca_file: ca.pem, cert_file: our.pem, key_file: our.key }
)");
  const auto& dsp = config.snapshot.dsps[0];
  EXPECT_TRUE(dsp.endpoints[0].tls);
  EXPECT_EQ(dsp.endpoints[0].port, 443);
  EXPECT_EQ(dsp.endpoints[0].host, "a.example");
  EXPECT_EQ(dsp.endpoints[1].port, 8443);
  EXPECT_EQ(dsp.tls.ca_file, "ca.pem");
  EXPECT_EQ(dsp.tls.cert_file, "our.pem");
  EXPECT_EQ(dsp.tls.key_file, "our.key");
  EXPECT_EQ(problems_of("dsps: [{ name: a, endpoint: \"https://h/\", tls: { key_file: k } }]\n"),
            "f:1: dsps[0].tls: must have cert_file and key_file, or none of the two\n");
  EXPECT_EQ(problems_of("dsps: [{ name: a, endpoint: \"http://[::1]/\", tls: { ca_file: c } }]\n"),
            "f:1: dsps[0].tls: is of no use: the DSP has no https endpoint\n");
}

}  // namespace
}  // namespace spillway::app
