// Start, reload and stop, under load and without what one would rather have.
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "e2e/exchange_process.h"
#include "e2e/fake_dsp.h"
#include "e2e/load_report.h"
#include "e2e/sockets.h"

namespace spillway::e2e {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRequest =
    R"({"id":"req-1","tmax":500,"imp":[{"id":"1","bidfloor":0.5,"banner":{"w":300,"h":250}}],)"
    R"("site":{"id":"s"}})";
constexpr std::string_view kHouse =
    "accounts: [{ fallback: { no_bid: house } }]\n"
    "house_ads: [{ type: banner, w: 300, h: 250, adm: \"<b>house</b>\" }]\n";

std::string one_dsp(uint16_t port) {
  return fmt::format("dsps:\n  - {{ name: d, endpoint: \"http://127.0.0.1:{}/\" }}\n", port);
}

FakeDsp bidder() {
  return FakeDsp([](const Message&) { return FakeDsp::Answer{.bytes = ok(bid_body("1"))}; });
}

double event(std::map<std::string, double> metrics, std::string_view name) {
  return metrics[fmt::format("spillway_exchange_server_events_total{{event=\"{}\"}}", name)];
}

double client_event(std::map<std::string, double> metrics, std::string_view name) {
  return metrics[fmt::format(
      "spillway_exchange_client_events_total{{dsp=\"d\",region=\"default\",path=\"display\","
      "event=\"{}\"}}",
      name)];
}

/// A number of a log line.
long field(const std::string& line, std::string_view name) {
  const auto at = line.find(fmt::format(" {}=", name));
  return at == std::string::npos ? -1 : std::atol(line.c_str() + at + name.size() + 2);
}

/// `spillway load` on a thread of its own.
class Load {
 public:
  Load(const ExchangeProcess& exchange, const char* rate, const char* duration)
      : thread_(
            [this, command = std::vector<std::string>{
                       SPILLWAY_BINARY_DIR "/libexec/spillway-load", "--target",
                       fmt::format("http://127.0.0.1:{}/openrtb2/auction", exchange.auction().port),
                       "--rate", rate, "--duration", duration, "--connections", "1000", "--timeout",
                       "2s", "--json"}] { report_ = run_program(command).out; }) {}

  ~Load() { (void)report(); }

  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Waits for the end.
  const std::string& report() {
    if (thread_.joinable()) {
      thread_.join();
    }
    return report_;
  }

 private:
  std::string report_;
  std::thread thread_;
};

bool wait_for_requests(const ExchangeProcess& exchange, double count) {
  const auto deadline = Clock::now() + 10s;
  while (event(exchange.metrics(), "request") < count) {
    if (Clock::now() > deadline) {
      return false;
    }
  }
  return true;
}

TEST(Stop, UnderLoadLosesNoRequestAndBothSidesCountTheSame) {
  FakeDsp dsp = bidder();
  ExchangeProcess exchange(one_dsp(dsp.port()));
  ASSERT_TRUE(exchange.started());
  Load load(exchange, "400", "2s");
  ASSERT_TRUE(wait_for_requests(exchange, 200));
  exchange.signal(SIGTERM);
  const auto stopped = exchange.wait_for_event({"event=stopped"}, 20s);
  const auto& report = load.report();
  EXPECT_NE(stopped.find("clean=true"), std::string::npos) << stopped;
  EXPECT_EQ(field(stopped, "cut_connections"), 0);
  EXPECT_EQ(field(stopped, "requests"), field(stopped, "answers"));
  EXPECT_EQ(field(stopped, "answers"), answered_of(report)) << stopped << "\n" << report;
  EXPECT_GE(answered_of(report), 200);
  // Whoever came later was refused before a byte of a request was sent.
  EXPECT_EQ(ended_by(report, "refused"), number(report, "none")) << report;
  EXPECT_GT(ended_by(report, "refused"), 0) << "the load had ended before the stop";
}

TEST(Stop, SaysThatItIsNotReadyBeforeItRefusesAnybody) {
  ExchangeProcess exchange(kHouse, ", drain_announce: 5m");
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(exchange.admin().call("GET", "/readyz").status(), 200);
  const Fd kept = connect_to(exchange.auction().port, 10s);
  exchange.signal(SIGTERM);
  ASSERT_NE(exchange.wait_for_event({"event=stopping", "drain_announce_ms=300000"}, 5s), "");
  EXPECT_EQ(exchange.admin().call("GET", "/readyz").status(), 503);
  EXPECT_EQ(exchange.admin().call("GET", "/healthz").status(), 200);
  const auto late = exchange.bid_request(kRequest);
  EXPECT_EQ(late.status(), 200);
  EXPECT_EQ(late.header("connection"), "close");
  send_all(kept.value(),
           fmt::format("POST /openrtb2/auction HTTP/1.1\r\nHost: h\r\n"
                       "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                       kRequest.size(), kRequest));
  std::string buffer;
  Message answer;
  EXPECT_TRUE(read_message(kept.value(), buffer, answer));
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_EQ(exchange.stop(), 0) << "the second signal ends it at once";
}

TEST(Stop, CutsOffAndCountsWhatTakesTooLong) {
  FakeDsp hangs([](const Message&) { return FakeDsp::Answer{.bytes = "", .hang = true}; });
  ExchangeProcess exchange("timing: { tmax_max: 30s }\n" + one_dsp(hangs.port()),
                           ", stop_timeout: 200ms");
  ASSERT_TRUE(exchange.started());
  std::thread caller([&] {
    std::string patient(kRequest);
    EXPECT_EQ(exchange.bid_request(patient.replace(patient.find("500"), 3, "20000")).status(), 0);
  });
  const auto deadline = Clock::now() + 10s;
  while (hangs.calls() == 0 && Clock::now() < deadline) {
    (void)exchange.metrics();
  }
  EXPECT_EQ(exchange.stop(), 1);
  caller.join();
  const auto stopped = exchange.wait_for_event({"event=stopped", "clean=false"}, 5s);
  EXPECT_EQ(field(stopped, "cut_auctions"), 1) << stopped;
  EXPECT_EQ(field(stopped, "cut_calls"), 1);
  EXPECT_EQ(field(stopped, "cut_connections"), 1);
  EXPECT_EQ(field(stopped, "requests") - field(stopped, "answers"), 1);
}

TEST(Reload, UnderLoadLosesNoRequestAndBothSidesCountTheSame) {
  FakeDsp dsp = bidder();
  const std::string config = one_dsp(dsp.port());
  ExchangeProcess exchange(config);
  ASSERT_TRUE(exchange.started());
  Load load(exchange, "300", "2s");
  ASSERT_TRUE(wait_for_requests(exchange, 50));
  for (int i = 0; i < 10; ++i) {
    exchange.rewrite(config + fmt::format("timing: {{ tmax_default: {}ms }}\n", 100 + i));
    exchange.signal(SIGHUP);
    EXPECT_NE(exchange.wait_for_event({"event=reloaded"}, 10s), "");
  }
  const auto& report = load.report();
  const auto metrics = exchange.metrics();
  EXPECT_EQ(number(report, "none"), 0) << report;
  EXPECT_EQ(answered_of(report), number(report, "offered") - number(report, "dropped"));
  EXPECT_EQ(event(metrics, "request"), static_cast<double>(answered_of(report)));
  EXPECT_EQ(event(metrics, "answer"), static_cast<double>(answered_of(report)));
}

TEST(Reload, ChangesTheHouseAds) {
  ExchangeProcess exchange(kHouse);
  ASSERT_TRUE(exchange.started());
  EXPECT_NE(exchange.bid_request(kRequest).body.find("<b>house</b>"), std::string::npos);
  std::string next(kHouse);
  exchange.rewrite(next.replace(next.find("<b>house</b>"), 12, "<i>new</i>"));
  EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 200);
  const auto changed = exchange.bid_request(kRequest).body;
  EXPECT_NE(changed.find("<i>new</i>"), std::string::npos) << changed;
  exchange.rewrite("house_ads: [{ type: banner, w: 300, h: 250 }]\n");
  EXPECT_EQ(exchange.admin().post("/admin/reload", "").status(), 422);
  EXPECT_NE(exchange.bid_request(kRequest).body.find("<i>new</i>"), std::string::npos);
}

TEST(Start, WithEveryDspDownServesHouseAds) {
  uint16_t closed = 0;
  {
    FakeDsp gone = bidder();
    closed = gone.port();
  }
  ExchangeProcess exchange(
      one_dsp(closed) +
      "  - { name: nowhere, endpoint: \"http://nowhere.invalid/\", insecure: true }\n"
      "  - { name: secret, endpoint: \"https://nobody.invalid/\" }\n" +
      std::string(kHouse));
  ASSERT_TRUE(exchange.started());
  EXPECT_EQ(exchange.admin().call("GET", "/readyz").status(), 200);
  for (int i = 0; i < 5; ++i) {
    const auto answer = exchange.bid_request(kRequest);
    EXPECT_EQ(answer.status(), 200);
    EXPECT_NE(answer.body.find("<b>house</b>"), std::string::npos) << answer.body;
  }
  const auto metrics = exchange.metrics();
  EXPECT_EQ(metrics.at("spillway_exchange_deadline_misses_total"), 0);
  for (const char* dsp : {"d", "nowhere", "secret"}) {
    EXPECT_GT(metrics.at(fmt::format("spillway_exchange_dsp_outcomes_total{{dsp=\"{}\",region=\""
                                     "default\",path=\"display\",outcome=\"refused\"}}",
                                     dsp)),
              0)
        << dsp;
  }
  EXPECT_EQ(exchange.stop(), 0);
}

/// Descriptors that an exchange has open.
std::set<int> files_of(const ExchangeProcess& exchange) {
  std::set<int> files;
  for (const auto& file :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", exchange.pid()))) {
    files.insert(std::atoi(file.path().filename().c_str()));
  }
  return files;
}

/// Callers that say nothing, as many as there are free numbers below the highest one in use.
std::vector<Fd> fill_holes(const ExchangeProcess& exchange) {
  std::vector<Fd> silent;
  const auto deadline = Clock::now() + 10s;
  for (auto files = files_of(exchange); Clock::now() < deadline; files = files_of(exchange)) {
    const size_t holes = static_cast<size_t>(*files.rbegin()) + 1 - files.size();
    if (holes == 0) {
      break;
    }
    silent.push_back(connect_to(exchange.auction().port, 10s));
    while (files_of(exchange).size() == files.size() && Clock::now() < deadline) {
    }
  }
  return silent;
}

/// Whether the peer ends the connection, within its patience.
bool is_closed_by_peer(const Fd& connection) {
  char byte = 0;
  return TEMP_FAILURE_RETRY(::recv(connection.value(), &byte, 1, 0)) == 0;
}

/// Sets how many files a running exchange may have open.
void limit_files(const ExchangeProcess& exchange, rlim_t most) {
  rlimit files{};
  ASSERT_EQ(::prlimit(exchange.pid(), RLIMIT_NOFILE, nullptr, &files), 0);
  files.rlim_cur = most;
  ASSERT_EQ(::prlimit(exchange.pid(), RLIMIT_NOFILE, &files, nullptr), 0);
}

TEST(OpenFiles, WhenThereIsNoneLeftCallersAreClosedAndTheDspIsNotBlamed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the undefined-behaviour sanitizer looks at memory through pipes: without a free "
                  "descriptor it takes every object for a broken one";
#endif
  FakeDsp dsp = bidder();
  ExchangeProcess exchange(one_dsp(dsp.port()) + std::string(kHouse));
  ASSERT_TRUE(exchange.started());
  const Fd kept = connect_to(exchange.auction().port, 10s);
  send_all(kept.value(), "OPTIONS /openrtb2/auction HTTP/1.1\r\nHost: h\r\n\r\n");
  std::string buffer;
  Message answer;
  ASSERT_TRUE(read_message(kept.value(), buffer, answer));
  const auto silent = fill_holes(exchange);
  limit_files(exchange, static_cast<rlim_t>(*files_of(exchange).rbegin()) + 1);

  // A caller that is there already gets a house ad: no connection to the DSP can be made.
  for (int i = 0; i < 30; ++i) {
    send_all(kept.value(),
             fmt::format("POST /openrtb2/auction HTTP/1.1\r\nHost: h\r\nContent-Type: "
                         "application/json\r\nContent-Length: {}\r\n\r\n{}",
                         kRequest.size(), kRequest));
    ASSERT_TRUE(read_message(kept.value(), buffer, answer)) << i;
    EXPECT_EQ(answer.status(), 200);
    EXPECT_NE(answer.body.find("<b>house</b>"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(dsp.calls(), 0U);
  // New ones are closed at once.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(is_closed_by_peer(connect_to(exchange.auction().port, 10s)));
  }

  limit_files(exchange, 1000);
  EXPECT_NE(exchange.bid_request(kRequest).body.find("\"seat\":\"s1\""), std::string::npos);
  const auto deadline = Clock::now() + 5s;
  while (client_event(exchange.metrics(), "no_descriptor") < 30 && Clock::now() < deadline) {
  }
  auto metrics = exchange.metrics();
  EXPECT_EQ(client_event(metrics, "no_descriptor"), 30);
  EXPECT_GE(event(metrics, "accept_error"), 3);
  EXPECT_LT(event(metrics, "accept_error"), 1000) << "it span";
  EXPECT_EQ(metrics["spillway_exchange_circuit_state{dsp=\"d\",region=\"default\",path=\"display\","
                    "state=\"closed\"}"],
            1);
  EXPECT_EQ(metrics["spillway_exchange_dsp_outcomes_total{dsp=\"d\",region=\"default\",path="
                    "\"display\",outcome=\"not_sent\"}"],
            30);
  EXPECT_EQ(exchange.stop(), 0);
}

/// The socket of a supervisor, as systemd makes one.
class Systemd {
 public:
  explicit Systemd(std::string_view name)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    address.sun_path[0] = '\0';
    EXPECT_EQ(::bind(socket_.value(), reinterpret_cast<const sockaddr*>(&address),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
  }

  /// Whether a datagram beginning so comes within 10 s; others are passed over.
  [[nodiscard]] bool hears(std::string_view begin) const {
    const auto deadline = Clock::now() + 10s;
    pollfd ready{.fd = socket_.value(), .events = POLLIN, .revents = 0};
    while (Clock::now() < deadline && TEMP_FAILURE_RETRY(::poll(&ready, 1, 10'000)) > 0) {
      std::array<char, 512> bytes{};
      const auto size = TEMP_FAILURE_RETRY(::recv(socket_.value(), bytes.data(), bytes.size(), 0));
      if (std::string_view(bytes.data(), static_cast<size_t>(size)).starts_with(begin)) {
        return true;
      }
    }
    return false;
  }

 private:
  Fd socket_;
};

TEST(Supervisor, HearsOfStartReloadLifeAndStop) {
  const auto name = fmt::format("@spillway-e2e-{}", ::getpid());
  const Systemd systemd(name);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "400000", 1);
  ExchangeProcess exchange(kHouse);
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
  ASSERT_TRUE(exchange.started());
  EXPECT_TRUE(systemd.hears("READY=1"));
  EXPECT_TRUE(systemd.hears("WATCHDOG=1"));
  EXPECT_TRUE(systemd.hears("WATCHDOG=1"));
  exchange.signal(SIGHUP);
  EXPECT_TRUE(systemd.hears("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_TRUE(systemd.hears("READY=1"));
  exchange.signal(SIGTERM);
  EXPECT_TRUE(systemd.hears("STOPPING=1"));
}

}  // namespace
}  // namespace spillway::e2e
