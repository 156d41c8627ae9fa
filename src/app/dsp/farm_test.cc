#include "app/dsp/farm.h"

#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <future>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "app/dsp/farm_config.h"
#include "app/dsp/farm_fixture.h"
#include "base/time.h"
#include "net/http.h"
#include "net/os_clock.h"
#include "net/reactor.h"
#include "net/stream.h"
#include "net/tls.h"
#include "net/tls_fixture.h"
#include "workload/fault.h"
#include "workload/partner.h"

namespace spillway::app {
namespace {

using namespace std::chrono_literals;
using workload::Fault;
using workload::FaultKind;

/// What one session reads up to `end`; "" when it does not come.
std::string read_until(net::TlsSession& session, std::string_view end) {
  std::string all;
  char byte = 0;
  while (!all.ends_with(end)) {
    if (session.read(&byte, 1).bytes != 1) {
      return "";
    }
    all += byte;
  }
  return all;
}

/// One call's answer, and how long it took.
std::pair<std::string, base::Duration> call(RunningFarm& farm) {
  RawClient client(farm.port());
  const auto begin = std::chrono::steady_clock::now();
  client.send();
  std::string answer = client.read_answer();
  return {std::move(answer), std::chrono::steady_clock::now() - begin};
}

TEST(Farm, ADspWithACertificateIsCalledOverTls) {
  net::testing::Certificates certificates;
  certificates.issue("dsp", "IP:127.0.0.1");
  auto config = RunningFarm::config({}, 1ms);
  config.dsps[0].cert_file = certificates.pem("dsp");
  config.dsps[0].key_file = certificates.key("dsp");
  const RunningFarm farm(config);
  const auto tls =
      net::TlsClient::make({.host = "127.0.0.1", .ca_file = certificates.pem("ca")}).value();
  const RawClient client(farm.port());
  const auto session = tls->connect(client.fd());
  ASSERT_EQ(session->handshake().state, net::IoResult::State::kDone);
  for (int i = 0; i < 3; ++i) {
    std::string request =
        "POST /bid HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kRequest.size()) +
        "\r\n\r\n" + std::string(kRequest);
    iovec part{.iov_base = request.data(), .iov_len = request.size()};
    ASSERT_EQ(session->write({&part, 1}).bytes, request.size());
    EXPECT_TRUE(read_until(*session, "\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_TRUE(read_until(*session, "}]}]}").starts_with("{"));
  }
  EXPECT_EQ(farm.account().bids.value(), 3U);
  EXPECT_EQ(farm.account().connections.value(), 1U);
}

TEST(Farm, AHealthyDspAnswersABidOnTheSameConnectionAgainAndAgain) {
  RunningFarm farm({});
  RawClient client(farm.port());
  for (int i = 0; i < 50; ++i) {
    client.send();
    const std::string answer = client.read_answer();
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    ASSERT_NE(answer.find(R"("impid":"i1")"), std::string::npos);
  }
  farm.admin("GET", "/healthz");  // behind the last answer on the farm's thread
  EXPECT_EQ(farm.account().calls.value(), 50);
  EXPECT_EQ(farm.account().bids.value(), 50);
  EXPECT_EQ(farm.account().answered.value(), 50);
  EXPECT_EQ(farm.account().connections.value(), 1);
}

TEST(Farm, ASlowDspAnswersLate) {
  RunningFarm farm({{.kind = FaultKind::kSlow, .added = 120ms}});
  const auto [answer, elapsed] = call(farm);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200"));
  EXPECT_GE(elapsed, 120ms);
}

TEST(Farm, AHangingDspKeepsTheConnectionAndSaysNothing) {
  RunningFarm farm({{.kind = FaultKind::kHang}});
  RawClient client(farm.port());
  client.send();
  client.wait_at_most(150ms);
  EXPECT_EQ(client.read(), "");
  EXPECT_TRUE(client.error() == EAGAIN || client.error() == EWOULDBLOCK) << client.error();
  EXPECT_EQ(farm.account().hung.value(), 1);
}

TEST(Farm, AResettingDspResetsTheConnection) {
  RunningFarm farm({{.kind = FaultKind::kReset}});
  RawClient client(farm.port());
  client.send();
  EXPECT_EQ(client.read(), "");
  EXPECT_EQ(client.error(), ECONNRESET);
}

TEST(Farm, AnErringDspAnswersItsStatus) {
  RunningFarm farm({{.kind = FaultKind::kServerError, .status = 502}});
  EXPECT_TRUE(call(farm).first.starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
}

TEST(Farm, AnOverloadedDspAnswers429AndWhenToComeBack) {
  RunningFarm farm({{.kind = FaultKind::kOverload, .retry_after = 2s}});
  const std::string answer = call(farm).first;
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 429 "));
  EXPECT_NE(answer.find("Retry-After: 2\r\n"), std::string::npos);
}

TEST(Farm, GarbageIsNoBidResponseAndRawGarbageNoHttp) {
  RunningFarm farm({{.kind = FaultKind::kGarbage}});
  EXPECT_TRUE(call(farm).first.starts_with("HTTP/1.1 200"));
  RunningFarm raw({{.kind = FaultKind::kGarbage, .raw = true}});
  RawClient client(raw.port());
  client.send();
  const std::string bytes = client.read();
  EXPECT_FALSE(bytes.empty());
  EXPECT_FALSE(bytes.starts_with("HTTP/"));
}

TEST(Farm, ADrippingDspSendsAFewBytesAtATime) {
  RunningFarm farm({{.kind = FaultKind::kDrip, .drip_interval = 20ms, .drip_bytes = 3}});
  RawClient client(farm.port());
  client.send();
  const auto begin = std::chrono::steady_clock::now();
  std::string bytes;
  while (bytes.size() < 15) {
    const std::string piece = client.read();
    ASSERT_FALSE(piece.empty());
    bytes += piece;
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 75ms);
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 200 OK"));
}

TEST(Farm, AnOversizedAnswerIsAsLargeAsOrdered) {
  RunningFarm farm({{.kind = FaultKind::kOversize, .body_bytes = 3 << 20}});
  const std::string answer = call(farm).first;
  EXPECT_NE(answer.find("Content-Length: 3145728\r\n"), std::string::npos);
  EXPECT_GT(answer.size(), size_t{3} << 20);
}

TEST(Farm, WrongImpidAndWrongCurrencyArriveAsBids) {
  RunningFarm impid({{.kind = FaultKind::kWrongImpid}});
  EXPECT_NE(call(impid).first.find("no-such-imp"), std::string::npos);
  RunningFarm currency({{.kind = FaultKind::kWrongCurrency}});
  EXPECT_NE(call(currency).first.find(R"("cur":"JPY")"), std::string::npos);
}

TEST(Farm, ADeadButFastDspAnswers204AtOnce) {
  RunningFarm farm({{.kind = FaultKind::kDeadButFast}}, 2s);
  const auto [answer, elapsed] = call(farm);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 204 "));
  EXPECT_LT(elapsed, 1s);
}

TEST(Farm, AClosedListenerRefusesAndDropsAndKeepsItsPortForLater) {
  RunningFarm farm({});
  RawClient before(farm.port());
  before.send();
  ASSERT_TRUE(before.read_answer().starts_with("HTTP/1.1 200"));
  ASSERT_TRUE(farm.admin("POST", "/admin/fault?dsp=alpha", R"({"kind":"closed_listener"})")
                  .starts_with("200"));
  EXPECT_EQ(before.read(), "") << "its connections end";
  EXPECT_EQ(RawClient(farm.port()).error(), ECONNREFUSED);
  ASSERT_TRUE(farm.admin("POST", "/admin/clear?dsp=alpha").starts_with("200"));
  EXPECT_TRUE(call(farm).first.starts_with("HTTP/1.1 200"));
}

TEST(Farm, AFaultByAdminCallTakesEffectAtOnceAndCanBeCleared) {
  RunningFarm farm({});
  ASSERT_TRUE(
      farm.admin("POST", "/admin/fault?dsp=*", R"({"kind":"5xx","for":"1h"})").starts_with("200"));
  EXPECT_TRUE(call(farm).first.starts_with("HTTP/1.1 503"));
  EXPECT_NE(farm.admin("GET", "/admin/dsps").find(R"("faults":["5xx"])"), std::string::npos);
  ASSERT_TRUE(farm.admin("POST", "/admin/clear?dsp=*").starts_with("200"));
  EXPECT_TRUE(call(farm).first.starts_with("HTTP/1.1 200"));
}

TEST(Farm, AnAdminCallThatIsWrongSaysWhy) {
  RunningFarm farm({});
  EXPECT_TRUE(
      farm.admin("POST", "/admin/fault?dsp=nobody", R"({"kind":"hang"})").starts_with("404"));
  EXPECT_TRUE(farm.admin("POST", "/admin/fault?dsp=alpha", R"({"kind":"sad"})").starts_with("400"));
  EXPECT_TRUE(farm.admin("POST", "/admin/fault?dsp=alpha", "{").starts_with("400"));
  EXPECT_TRUE(farm.admin("GET", "/admin/fault?dsp=alpha").starts_with("405"));
  EXPECT_TRUE(farm.admin("GET", "/nowhere").starts_with("404"));
  EXPECT_TRUE(farm.admin("GET", "/healthz").starts_with("200"));
}

TEST(Farm, ACallerWhoGoesIsCountedAsAbandoned) {
  RunningFarm farm({{.kind = FaultKind::kHang}});
  {
    RawClient client(farm.port());
    client.send();
    while (farm.account().hung.value() == 0) {
      std::this_thread::yield();
    }
  }
  while (farm.account().abandoned.value() == 0) {
    std::this_thread::yield();
  }
  EXPECT_EQ(farm.account().calls.value(), 1);
  EXPECT_EQ(farm.account().answered.value(), 0);
}

constexpr uint32_t kSecondHost = INADDR_LOOPBACK + 1;  // 127.0.0.2

TEST(Farm, ADspOfSeveralAddressesCanHaveOneBadOne) {
  auto config = RunningFarm::config({}, 0ms);
  config.dsps[0].hosts = {"127.0.0.2"};
  RunningFarm farm(config);
  const auto status = [&](uint32_t host) {
    RawClient client(farm.port(), host);
    client.send();
    return client.read_answer().substr(0, 12);
  };
  EXPECT_EQ(status(kSecondHost), "HTTP/1.1 200");
  ASSERT_TRUE(farm.admin("POST", "/admin/fault?dsp=alpha", R"({"kind":"5xx","host":"127.0.0.2"})")
                  .starts_with("200"));
  EXPECT_EQ(status(kSecondHost), "HTTP/1.1 503");
  EXPECT_EQ(status(INADDR_LOOPBACK), "HTTP/1.1 200");
  ASSERT_TRUE(farm.admin("POST", "/admin/fault?dsp=alpha",
                         R"({"kind":"closed_listener","host":"127.0.0.2"})")
                  .starts_with("200"));
  EXPECT_EQ(RawClient(farm.port(), kSecondHost).error(), ECONNREFUSED);
  EXPECT_EQ(status(INADDR_LOOPBACK), "HTTP/1.1 200");
  const std::string state = farm.admin("GET", "/admin/dsps");
  EXPECT_NE(state.find(R"({"host":"127.0.0.2","listening":false,"connections":0,"calls":2})"),
            std::string::npos)
      << state;
  EXPECT_TRUE(farm.admin("POST", "/admin/fault?dsp=alpha", R"({"kind":"hang","host":"127.0.0.9"})")
                  .starts_with("400"));
}

TEST(Farm, WhatCameInBeforeAListenerShutIsInTheAccount) {
  RunningFarm farm({});
  RawClient client(farm.port());
  client.send();
  ASSERT_TRUE(client.read_answer().starts_with("HTTP/1.1 200"));
  // On the farm's own thread: the request is in the socket, and nobody has read it.
  farm.on_thread([&] {
    client.send();
    farm.inject({.kind = FaultKind::kClosedListener});
  });
  EXPECT_EQ(client.read(), "");
  EXPECT_EQ(client.error(), ECONNRESET);
  EXPECT_EQ(farm.account().calls.value(), 2U);
}

/// Name, type and labels of each family, as "name type label label".
std::set<std::string> families_of(const std::string& page) {
  std::set<std::string> families;
  const std::regex type(R"(# TYPE (\S+) (\S+)\n\S+?(\{.*\})? )");
  const std::regex label(R"(([a-z_]+)=")");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), type); it != std::sregex_iterator();
       ++it) {
    std::string family = (*it)[1].str() + " " + (*it)[2].str();
    const std::string labels = (*it)[3];
    for (auto at = std::sregex_iterator(labels.begin(), labels.end(), label);
         at != std::sregex_iterator(); ++at) {
      family += " " + (*at)[1].str();
    }
    families.insert(family);
  }
  return families;
}

TEST(Farm, ItsMetricsAreDocumentedNameByNameWithTypeAndLabels) {
  std::ifstream file(SPILLWAY_SOURCE_DIR "/docs/metrics.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> documented;
  const std::regex row(R"(\n\| `(spillway_farm_[a-z_]+)` \| ([a-z]+) \| ([a-z_, ]+) \|)");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), row); it != std::sregex_iterator();
       ++it) {
    documented.insert((*it)[1].str() + " " + (*it)[2].str() + " " +
                      std::regex_replace((*it)[3].str(), std::regex(","), ""));
  }
  RunningFarm farm({});
  std::string metrics = farm.admin("GET", "/metrics");
  EXPECT_EQ(families_of(metrics), documented);
}

}  // namespace
}  // namespace spillway::app
